// The table of docs/sizing.md is made from measured figures: those of bench/figures.json by name, those of the journal as quoted there.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './processes.ts';

interface Question {
  question: string;
  date: string;
  commit: string;
  figures: readonly { name: string; value: number; unit: string; note?: string }[];
}

const questions: readonly Question[] = JSON.parse(readFileSync(join(root, 'bench/figures.json'), 'utf8'));
const journalFile = 'docs/journal/2026-11-bench.md';
const journal = readFileSync(join(root, journalFile), 'utf8').replaceAll(/\s+/g, ' ');

interface Row {
  what: string;
  seen: string;
  measured: string;
}

function figure(
  what: string,
  question: string,
  name: string,
  show: (value: number, unit: string) => string = plain,
): Row {
  const asked = questions.find((one) => one.question === question);
  const found = asked?.figures.find((one) => one.name === name);
  if (asked === undefined || found === undefined)
    throw new Error(`bench/figures.json has no figure "${name}" of "${question}"`);
  return {
    what,
    seen: show(found.value, found.unit),
    measured: `\`bench/${question.replace(/-\d+$/, '')}.bench.ts\`, ${asked.date.slice(0, 10)}`,
  };
}

const plain = (value: number, unit: string) =>
  `${value >= 100 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(2))} ${unit === '1/s' ? 'a second' : unit}`;
const seconds = (value: number) => `${Number((value / 1000).toPrecision(2))} s`;

/** The journal has the heading and, somewhere behind it, the words. */
function noted(what: string, heading: string, words: string): Row {
  const [, behind = ''] = journal.split(`**${heading}**`);
  if (!(behind.split('**')[0] as string).includes(words))
    throw new Error(`${journalFile} does not say "${words}" below "${heading}"`);
  return { what, seen: words, measured: `[journal](journal/2026-11-bench.md), ${heading}` };
}

const chapters: readonly { title: string; rows: () => Row[] }[] = [
  {
    title: 'Sync',
    rows: () => [
      noted('memory with 10,000 Endpoints in sync', 'real API servers, RSS in sync, quiet', '122 MiB'),
      figure(
        'memory with 10,000 Endpoints and 10,000 EndpointSlices, beside Endpoints alone (130 MiB)',
        'second-kind',
        'memory with 10000 of each kind / Endpoints alone',
        (value) => `${Number(value.toPrecision(3))} times`,
      ),
      figure(
        'memory with 100,000 Endpoints, a minute after the first sync',
        'first-lists',
        'first sync: RSS 60 s later',
      ),
      figure('the same, most during a restart', 'first-lists', 'restart in sync: RSS, most'),
      figure(
        '1,000 Endpoints with 10 changes a second beside 5,000 at rest, two patches, under the limit of 384 MiB: memory with the sandbox, most',
        'shipped-limits',
        'memory at the peak',
      ),
      figure('the same: processor time', 'shipped-limits', 'processor time'),
      figure('the same: from event to host write, p50', 'shipped-limits', 'event to host write, p50'),
      figure('the same: from event to host write, p99', 'shipped-limits', 'event to host write, p99'),
      figure(
        'the same: what the virtual API server took to answer, p99',
        'shipped-limits',
        'answer of the virtual server, p99',
      ),
      figure('the same: failed probes of 136', 'shipped-limits', 'failed probes'),
      figure(
        "from exec of the image's tree to the first write, best of 5",
        'shipped-limits',
        'exec to first write, best of 5',
      ),
      figure(
        'the same without the time in which others had the processors',
        'shipped-limits',
        'the same without waiting for a processor',
      ),
      noted('the sandbox process, with patches, on top', 'sandbox process', '55 to 66 MB'),
      noted('first sync of 10,000 Endpoints', 'real API servers, first sync', '8.0 to 8.6 s'),
      noted('first write after the start', 'real API servers, first write after', '0.84 s'),
      noted('restart with 10,000 Endpoints in sync', 'embedded, restart in sync', '0 writes, 0.7 to 0.8 s'),
      noted('10,000 changes while it runs', 'real API servers, 10,000 live changes on the host', '18.5 to 21.0 s'),
      noted(
        'from event to host write at 200 changes a second, p50 / p99',
        'real API servers, 200 changes a second, p50 / p99',
        '6 to 8 / 30 to 88 ms',
      ),
      noted('processor time of a change', 'real API servers, processor time per change', '0.43 to 0.48 ms'),
      figure(
        'processor time of a change with ten patches, sandbox included',
        'versions',
        'CPU a change of a backlog, this',
      ),
    ],
  },
  {
    title: 'Management API',
    rows: () => [
      figure('memory with 100,000 keys, most while all are listed', 'large-store-100000', 'most memory'),
      figure('memory with 1,000,000 keys, most while all are listed', 'large-store', 'most memory'),
      figure('start with 100,000 keys', 'large-store-100000', 'restart after a kill', seconds),
      figure('start with 1,000,000 keys, on a busy machine', 'large-store', 'start to serving', seconds),
      figure('reads', 'management', 'authenticated reads'),
      figure('reads, p99', 'management', 'authenticated reads, p99'),
      figure('new keys, 16 writers', 'management', 'creates of 16 writers'),
      figure('what the proxy adds to a request, p50', 'proxy', 'added by the proxy, p50'),
      figure('requests through the proxy, 16 connections', 'proxy', 'requests of 16 connections'),
      figure('memory with 1,000 idle watches through the proxy', 'proxy', 'memory with idle watches'),
    ],
  },
];

function table(): string {
  return chapters
    .flatMap(({ title, rows }) => [
      ...[`## ${title}`, '', '| what | seen | measured by |', '|---|---|---|'],
      ...rows().map(({ what, seen, measured }) => `| ${what} | ${seen} | ${measured} |`),
      '',
    ])
    .join('\n');
}

describe('docs/sizing.md', () => {
  it('has the measured figures', () => {
    const file = join(root, 'docs/sizing.md');
    const [head, rest] = readFileSync(file, 'utf8').split(/<!-- figures.*-->\n[\s\S]*<!-- end of figures -->\n/);
    const page = `${head}<!-- figures: made from bench/ and the journal; \`UPDATE_GOLDEN=1 npm test\` writes them again -->\n\n${table()}\n<!-- end of figures -->\n${rest}`;
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, page);
    expect(readFileSync(file, 'utf8')).toBe(page);
  });
});
