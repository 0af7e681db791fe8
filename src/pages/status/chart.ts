// Draws the last hour as inline SVG: lines over time, with a scale and words for who does not see the picture. In: points. Out: HTML.
// Pure.
import { type Html, html } from '../frame/html.ts';

export interface ChartLine {
  name: string;
  /** A class of the stylesheet, which gives the line its colour and its dashes. */
  style: 'first' | 'second';
  points: readonly { at: Date; value: number }[];
  /** Goes on between its points, however far apart they are. */
  isWhole?: boolean;
}

export interface ChartOptions {
  title: string;
  unit: string;
  until: Date;
  lines: readonly ChartLine[];
  /** What the numbers are. */
  note?: string;
}

const [width, height] = [600, 160];
const edge = { left: 52, right: 8, top: 10, bottom: 22 };
const spanMs = 3_600_000;
/** Two points further apart than this have nothing in between. */
const gapMs = 25_000;

export function chartHtml({ title, unit, until, lines, note }: ChartOptions): Html {
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
  if (values.length === 0) return html`<p class="quiet">${title}: nothing in the last hour</p>\n`;
  const top = roundUp(Math.max(...values));
  const x = (at: Date) =>
    edge.left + (1 - (until.getTime() - at.getTime()) / spanMs) * (width - edge.left - edge.right);
  const y = (value: number) => edge.top + (1 - value / top) * (height - edge.top - edge.bottom);
  const summary = lines
    .map(({ name, points }) => `${name} now ${number(points.at(-1)?.value ?? 0)} ${unit}`)
    .join(', ');
  const marks = [60, 45, 30, 15, 0].map((minutes) => new Date(until.getTime() - minutes * 60_000));
  return html`<figure>
<figcaption>${title}, ${unit}: ${lines.map(({ name, style }) => html`<span class="key ${style}">${name}</span> `)}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${`${title}: ${summary}, at most ${number(Math.max(...values))} ${unit}`}">
${[0, top / 2, top].map(
  (value) =>
    html`<line class="grid" x1="${edge.left}" x2="${width - edge.right}" y1="${y(value)}" y2="${y(value)}"></line><text x="${edge.left - 6}" y="${y(value) + 4}" text-anchor="end">${number(value)}</text>\n`,
)}${marks.map(
  (at) => html`<text x="${x(at)}" y="${height - 5}" text-anchor="${anchorAt(x(at))}">${clockTime(at)}</text>\n`,
)}${lines.map(({ style, ...line }) => html`<path class="${style}" d="${pathOf(line, x, y)}"></path>\n`)}${lines.map(
  ({ style, ...line }) =>
    lonePoints(line).map(
      ({ at, value }) =>
        html`<circle class="${style}" cx="${x(at).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3"></circle>\n`,
    ),
)}</svg>
${note !== undefined && html`<p class="quiet">${note}</p>\n`}</figure>
`;
}

function anchorAt(x: number): string {
  return x > width - 40 ? 'end' : x < edge.left + 20 ? 'start' : 'middle';
}

type Drawn = Pick<ChartLine, 'points' | 'isWhole'>;

function areApart(one: ChartLine['points'][0] | undefined, other: ChartLine['points'][0] | undefined): boolean {
  return one === undefined || other === undefined || other.at.getTime() - one.at.getTime() > gapMs;
}

function pathOf({ points, isWhole = false }: Drawn, x: (at: Date) => number, y: (value: number) => number): string {
  return points
    .map((point, at) => {
      const isNew = at === 0 || (!isWhole && areApart(points[at - 1], point));
      return `${isNew ? 'M' : 'L'}${x(point.at).toFixed(1)} ${y(point.value).toFixed(1)}`;
    })
    .join('');
}

/** A line of one point would not be seen. */
function lonePoints({ points, isWhole = false }: Drawn): ChartLine['points'] {
  if (isWhole && points.length > 1) return [];
  return points.filter((point, at) => areApart(points[at - 1], point) && areApart(point, points[at + 1]));
}

/** 1, 2 or 5 with zeros, so that the scale has short numbers. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) as number);
}

function number(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function clockTime(at: Date): string {
  return at.toISOString().slice(11, 16);
}
