// A chart as SVG text: lines over two axes, each axis even or by powers of ten. Lines differ by dashes and marks as well as by colour, so that print and eyes
// that see no colours lose nothing.
import { escaped } from './text.ts';

export interface Line {
  name: string;
  points: readonly { x: number; y: number }[];
}

export interface Chart {
  id: string;
  title: string;
  xLabel: string;
  yLabel: string;
  isLog: boolean;
  lines: readonly Line[];
}

const size = { width: 720, height: 380, left: 100, right: 40, top: 14, bottom: 52 };
const styles = 6;

interface Scale {
  at(value: number): number;
  ticks: number[];
}

export function chartSvg({ id, title, xLabel, yLabel, isLog, lines }: Chart): string {
  const points = lines.flatMap((line) => line.points);
  const inner = { from: size.left, to: size.width - size.right };
  const x = scaleOf(
    points.map((point) => point.x),
    { isLog, ...inner },
  );
  const y = scaleOf(
    points.map((point) => point.y),
    { isLog, from: size.height - size.bottom, to: size.top },
  );
  const grid = [
    ...x.ticks.map((tick) => {
      const at = fixed(x.at(tick));
      return `<line class="grid" x1="${at}" x2="${at}" y1="${size.top}" y2="${size.height - size.bottom}"/><text class="tick" x="${at}" y="${size.height - size.bottom + 18}" text-anchor="middle">${told(tick)}</text>`;
    }),
    ...y.ticks.map((tick) => {
      const at = fixed(y.at(tick));
      return `<line class="grid" x1="${size.left}" x2="${size.width - size.right}" y1="${at}" y2="${at}"/><text class="tick" x="${size.left - 8}" y="${fixed(y.at(tick) + 4)}" text-anchor="end">${told(tick)}</text>`;
    }),
  ];
  const drawn = lines.map(({ points: own }, nth) => {
    const places = own.map((point) => `${fixed(x.at(point.x))},${fixed(y.at(point.y))}`);
    const marks = own.length > 40 ? '' : places.map((place) => markAt(nth, place)).join('');
    return `<g class="line line-${nth % styles}"><polyline points="${places.join(' ')}"/>${marks}</g>`;
  });
  return `<svg role="img" aria-labelledby="${id}-title ${id}-axes" viewBox="0 0 ${size.width} ${size.height}">
<title id="${id}-title">${escaped(title)}</title><desc id="${id}-axes">${escaped(`${yLabel}, against ${xLabel}${isLog ? ', both by powers of ten' : ''}`)}</desc>
${grid.join('\n')}
<text class="label" x="${(size.left + size.width) / 2}" y="${size.height - 10}" text-anchor="middle">${escaped(xLabel)}</text>
<text class="label" transform="translate(16 ${size.height / 2 - 20}) rotate(-90)" text-anchor="middle">${escaped(yLabel)}</text>
${drawn.join('\n')}
</svg>`;
}

/** The line and the mark of a name, for the list of names under a chart. */
export function keySvg(nth: number): string {
  return `<svg class="key" aria-hidden="true" viewBox="0 0 36 12"><g class="line line-${nth % styles}"><polyline points="1,6 35,6"/>${markAt(nth, '18,6')}</g></svg>`;
}

function markAt(nth: number, place: string): string {
  const [x = '0', y = '0'] = place.split(',');
  if (nth % 3 === 0) return `<circle cx="${x}" cy="${y}" r="3.5"/>`;
  if (nth % 3 === 1) return `<rect x="${Number(x) - 3.5}" y="${Number(y) - 3.5}" width="7" height="7"/>`;
  return `<path d="M${x} ${Number(y) - 4.5}l4.5 8h-9z"/>`;
}

function scaleOf(values: readonly number[], to: { isLog: boolean; from: number; to: number }): Scale {
  const good = values.filter((value) => Number.isFinite(value) && (!to.isLog || value > 0));
  const [least, most] = [Math.min(...good), Math.max(...good)];
  if (to.isLog) {
    const first = Math.floor(Math.log10(least));
    const last = Math.max(first + 1, Math.ceil(Math.log10(most)));
    const at = (value: number) =>
      to.from + ((Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)) * (to.to - to.from);
    return { at, ticks: Array.from({ length: last - first + 1 }, (_, nth) => 10 ** (first + nth)) };
  }
  const step = stepOf(most);
  const top = Math.max(step, Math.ceil(most / step) * step);
  const at = (value: number) => to.from + (value / top) * (to.to - to.from);
  return { at, ticks: Array.from({ length: Math.round(top / step) + 1 }, (_, nth) => nth * step) };
}

/** One, two or five of a power of ten, so that some five lines are in the chart. */
function stepOf(most: number): number {
  const rough = Math.max(most, Number.MIN_VALUE) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}

function fixed(value: number): string {
  return value.toFixed(1);
}

export function told(value: number): string {
  if (value >= 1000) return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(3)));
}
