// Writes docs/journal/bench-figures.md from the newest result of each benchmark in bench/results. Figures of benchmarks that have no
// result there stay as they are in bench/figures.json. `node bench/write-figures.ts`
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Figure, isReached } from './report.ts';

export interface Result {
  question: string;
  date: string;
  commit: string;
  figures: readonly Figure[];
  details?: object;
}

/** Their series are drawn on the page of the benchmarks; what others measured beside their figures is for one day. */
const drawn: ReadonlySet<string> = new Set(['growth', 'leak']);

const begin = '<!-- figures: written by bench/write-figures.ts -->';
const end = '<!-- end of figures -->';

/** Of each question the newest result, in the order of their names. */
export function newestOf(results: readonly Result[]): Result[] {
  const newest = new Map<string, Result>();
  for (const result of results) {
    const known = newest.get(result.question);
    if (known === undefined || known.date < result.date) newest.set(result.question, result);
  }
  return [...newest.values()].sort((a, b) => a.question.localeCompare(b.question));
}

/** The page with its figures replaced; everything outside of the two marks stays. */
export function withFigures(page: string, results: readonly Result[]): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/journal/bench-figures.md lacks "${begin}" or "${end}"`);
  return `${before}${begin}\n\n${results.map(sectionOf).join('\n\n')}\n\n${end}${after}`;
}

function sectionOf({ question, date, commit, figures }: Result): string {
  const rows = figures.map(({ name, value, unit, wanted, note = '' }) => {
    const goal = wanted === undefined ? '' : 'atMost' in wanted ? `≤ ${wanted.atMost}` : `≥ ${wanted.atLeast}`;
    const isMissed = !isReached({ name, value, unit, ...(wanted && { wanted }) });
    const seen = isMissed ? `**${value}**` : String(value);
    return `| ${name} | ${goal} | ${seen} | ${unit} | ${note} |`;
  });
  const lines = [`### ${question}.bench.ts, ${date.slice(0, 10)}, commit ${commit}`, ''];
  return [...lines, '| figure | wanted | seen | unit | |', '|---|---|---|---|---|', ...rows].join('\n');
}

function main(): void {
  const at = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const kept = existsSync(at('figures.json')) ? (JSON.parse(readFileSync(at('figures.json'), 'utf8')) as Result[]) : [];
  const files = existsSync(at('results')) ? readdirSync(at('results')).filter((file) => file.endsWith('.json')) : [];
  // The black box writes results of another form, which the page of bench/page shows.
  const seen = files
    .map((file) => JSON.parse(readFileSync(at(`results/${file}`), 'utf8')) as Result)
    .filter(({ figures }) => figures !== undefined);
  const results = newestOf([...kept, ...seen]).map(({ question, date, commit, figures, details }) => ({
    ...{ question, date, commit, figures },
    ...(drawn.has(question) && details !== undefined && { details }),
  }));
  writeFileSync(at('figures.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  const page = at('../docs/journal/bench-figures.md');
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), results));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
