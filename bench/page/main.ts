// `npm run bench:page [FILE]`: writes the page from bench/results, bench/history and bench/figures.json, by default to bench/results/index.html.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { whyNoFile } from '../blackbox/output-place.ts';
import type { Result } from '../blackbox/result.ts';
import type { Recorded } from './lines.ts';
import { type Answer, pageOf } from './page.ts';

const [file, ...more] = process.argv.slice(2);
if (more.length > 0 || file?.startsWith('-') === true) {
  // A typing error must not become the name of a file.
  const isAsked = more.length === 0 && (file === '--help' || file === '-h');
  const usage = 'npm run bench:page [-- FILE]   writes the page there, by default to bench/results/index.html\n';
  (isAsked ? process.stdout : process.stderr).write(usage);
  process.exit(isAsked ? 0 : 2);
}

const at = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
if (file === undefined) mkdirSync(at('results'), { recursive: true });
const path = resolve(file ?? at('results/index.html'));
const why = whyNoFile(path);
if (why !== undefined) {
  process.stderr.write(`bench:page: "${path}"${why}\n`);
  process.exit(2);
}

function read<T>(folder: string): T[] {
  if (!existsSync(at(folder))) return [];
  const files = readdirSync(at(folder)).filter((file) => file.endsWith('.json'));
  return files.map((file) => JSON.parse(readFileSync(at(`${folder}/${file}`), 'utf8')) as T);
}

const results = read<Result | Answer>('results');
// Runs that are worth keeping lie beside the recorded figures of others, so that a fresh checkout has something to show.
const kept = read<Recorded[] | Result | Answer>('history');
const isRun = (one: Result | Answer | Recorded[]): one is Result => 'question' in one && one.question === 'blackbox';
const isAnswer = (one: Result | Answer | Recorded[]): one is Answer => 'figures' in one;
const runs = [...kept, ...results].filter(isRun);
const newest = new Map<string, Answer>();
const figures = JSON.parse(readFileSync(at('figures.json'), 'utf8')) as Answer[];
for (const answer of [...figures, ...kept.filter(isAnswer), ...results.filter(isAnswer)]) {
  const known = newest.get(answer.question);
  if (known === undefined || known.date <= answer.date) newest.set(answer.question, answer);
}
const page = pageOf({
  runs,
  recorded: kept.flatMap((one) => (Array.isArray(one) ? one : [])),
  answers: [...newest.values()],
  made: new Date().toISOString(),
});
writeFileSync(path, page);
process.stdout.write(`${path}: ${runs.length} runs of the black box, ${newest.size} other benchmarks\n`);
