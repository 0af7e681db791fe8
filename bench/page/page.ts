// The page as one text: charts, the numbers behind them, and the figures of every other benchmark with their goals. It loads nothing.
import type { Result } from '../blackbox/result.ts';
import { type Figure, isReached } from '../report.ts';
import { chartSvg, keySvg, told } from './chart.ts';
import { charts, type Recorded, type Series } from './lines.ts';
import { escaped } from './text.ts';

export interface Answer extends Series {
  commit: string;
  figures: readonly Figure[];
}

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --page: #ffffff; --edge: #d0d7de;
  --c0: #0b5fbd; --c1: #b3261e; --c2: #5b3fa8; --c3: #1a7f37; --c4: #9a5b00; --c5: #00707a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #a3adb8; --page: #0f1419; --edge: #3a434d;
  --c0: #6cb0ff; --c1: #ff8f85; --c2: #c0a6ff; --c3: #6fdd8b; --c4: #f2b660; --c5: #5fd6e0; } }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem; background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p.quiet, td.note { color: var(--quiet); }
svg { display: block; width: 100%; min-width: 30rem; height: auto; } svg.key { display: inline-block; width: 2.25rem; min-width: 0; height: .75rem; vertical-align: middle; margin-right: .5rem; }
.grid { stroke: var(--edge); stroke-width: 1; } .tick, .label { fill: var(--quiet); font-size: 12px; }
.line polyline { fill: none; stroke-width: 2; }
${[0, 1, 2, 3, 4, 5].map((nth) => `.line-${nth} { fill: var(--c${nth}); stroke: var(--c${nth}); }`).join('\n')}
.line-1 polyline { stroke-dasharray: 8 4; } .line-2 polyline { stroke-dasharray: 2 4; } .line-3 polyline { stroke-dasharray: 10 3 2 3; }
.line-4 polyline { stroke-dasharray: 5 5; } .line-5 polyline { stroke-dasharray: 1 3; }
ul.keys { list-style: none; padding: 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid var(--edge); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } th { vertical-align: bottom; }
td:first-child { min-width: 9rem; }
.wide { overflow-x: auto; }
@media print { :root { color-scheme: light; --ink: #000; --quiet: #333; --page: #fff; --edge: #999;
  --c0: #003f8a; --c1: #8a1a14; --c2: #43307e; --c3: #0f5a25; --c4: #6b3f00; --c5: #00525a; }
  section { break-inside: avoid; } body { max-width: none; padding: 0; } .wide { overflow-x: visible; } svg { min-width: 0; } }
`;

export function pageOf(given: {
  runs: readonly Result[];
  recorded: readonly Recorded[];
  answers: readonly Answer[];
  made: string;
}): string {
  const { runs, recorded, answers, made } = given;
  const sections = charts(runs, recorded, answers).map((chart) => {
    const names = chart.lines.map(({ name }, nth) => `<li>${keySvg(nth)}${escaped(name)}</li>`);
    const rows = chart.lines.flatMap(({ name, points }) =>
      points.length > 40 ? [] : points.map(({ x, y }) => [name, told(x), told(y)]),
    );
    const numbers = rows.length === 0 ? '' : table(['line', chart.xLabel, chart.yLabel], rows);
    return `<section><h2>${escaped(chart.title)}</h2>\n<div class="wide" tabindex="0" role="group" aria-label="chart">${chartSvg(chart)}</div>\n<ul class="keys">${names.join('')}</ul></section>\n${numbers}`;
  });
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Benchmarks of Hostward</title><style>${style}</style></head>
<body><main>
<h1>Benchmarks of Hostward</h1>
<p class="quiet">Made on ${escaped(made.slice(0, 10))}. Figures of different machines or days are not comparable; those of one run are.</p>
${sections.join('\n')}
${runsTable(runs)}
${recordedText(recorded)}
${answers.map(answerTable).join('\n')}
</main></body></html>
`;
}

function runsTable(runs: readonly Result[]): string {
  if (runs.length === 0)
    return '<section><h2>Runs of the black box</h2><p>None yet: npm run bench:blackbox makes one.</p></section>';
  const head = [
    'run',
    'commit',
    'machine, load',
    'objects',
    'changes a second',
    'p50',
    'p90',
    'p99',
    'p99.9',
    'max ms',
    'missing',
    'wrong',
    'writes a change',
  ];
  const rows = runs
    .toSorted((one, other) => (one.date < other.date ? 1 : -1))
    .flatMap((run) =>
      run.points.map((point) => [
        run.date.slice(0, 16).replace('T', ' '),
        run.commit,
        `${run.machine.cores} cores, ${run.load.atStart}–${run.load.atEnd}${run.conditions === undefined ? '' : `; ${run.conditions}`}`,
        `${run.wanted.objects} ${run.wanted.kind}`,
        point.rate === undefined ? 'all at once' : told(point.rate),
        ...[point.p50, point.p90, point.p99, point.p999, point.max, run.missing, run.wrong, point.writesPerChange].map(
          told,
        ),
      ]),
    );
  return `<section><h2>Runs of the black box</h2>${table(head, rows)}</section>`;
}

function recordedText(recorded: readonly Recorded[]): string {
  const lines = recorded.map(({ who, date, conditions }) => `<li>${escaped(`${who}, ${date}: ${conditions}`)}</li>`);
  return lines.length === 0 ? '' : `<section><h2>Recorded figures of others</h2><ul>${lines.join('')}</ul></section>`;
}

function answerTable({ question, date, commit, figures }: Answer): string {
  const rows = figures.map((figure) => {
    const { name, value, unit, wanted, note = '' } = figure;
    const goal = wanted === undefined ? '' : 'atMost' in wanted ? `≤ ${wanted.atMost}` : `≥ ${wanted.atLeast}`;
    const verdict = wanted === undefined ? '' : isReached(figure) ? 'reached' : 'missed';
    return [name, goal, told(value), unit, verdict, note];
  });
  const title = `${question}, ${date.slice(0, 10)}, commit ${commit}`;
  return `<section><h2>${escaped(title)}</h2>${table(['figure', 'wanted', 'seen', 'unit', '', 'note'], rows)}</section>`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // Above numbers, as they are.
  const isNumeric = (nth: number) => rows.length > 0 && rows.every((cells) => isNumber(cells[nth] ?? ''));
  const cells = head.map((name, nth) =>
    name === '' ? '<td></td>' : `<th scope="col"${isNumeric(nth) ? ' class="number"' : ''}>${escaped(name)}</th>`,
  );
  return `<div class="wide" tabindex="0" role="group" aria-label="table"><table><thead><tr>${cells.join('')}</tr></thead><tbody>${rows.map(rowHtml).join('')}</tbody></table></div>`;
}

function rowHtml(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td${isNumber(cell) ? ' class="number"' : ''}>${escaped(cell)}</td>`).join('')}</tr>`;
}

function isNumber(cell: string): boolean {
  return /^[\d.,]+$/.test(cell);
}
