// docs/limits.md is made from the constants of the sources, so that it cannot say another value than the program has.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Constants } from './constants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const constants = new Constants(join(root, 'src'));

interface LimitRow {
  limit: string;
  value: string;
  why: string;
}

const chapters: readonly { title: string; rows: readonly LimitRow[] }[] = parse(
  readFileSync(join(root, 'test/documents/limits.yaml'), 'utf8'),
);

const unitsMs = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

function duration(ms: number): string {
  const [unit, size] = unitsMs.find(([, size]) => ms >= size && Number.isInteger((ms / size) * 10)) ?? ['ms', 1];
  const count = Number((ms / size).toFixed(1));
  return unit === 'day' ? `${count === 1 ? 'a day' : `${count} days`}` : `${count} ${unit}`;
}

function bytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  const [unit, size] = count >= 1024 * 1024 ? (['MiB', 1024 * 1024] as const) : (['KiB', 1024] as const);
  return `${count / size} ${unit}`;
}

function shown(placeholder: string): string {
  const [path = '', given] = placeholder.split('|');
  const unit = given ?? /(Ms|Seconds|Bytes|Mb)$/.exec(path)?.[1];
  const value = constants.valueOf(path);
  if (unit === 'Ms') return duration(value);
  if (unit === 'Seconds' || unit === 'seconds') return duration(value * 1000);
  if (unit === 'Bytes' || unit === 'bytes') return bytes(value);
  if (unit === 'Mb') return `${value} MB`;
  if (unit === 'percent') return `${value * 100} %`;
  if (unit !== undefined) throw new Error(`there is no unit "${unit}"`);
  return value.toLocaleString('en-US');
}

const placeholders = ({ value, why }: LimitRow) =>
  [...`${value} ${why}`.matchAll(/\{([^}]+)\}/g)].map(([, one]) => one as string);
const filled = (text: string) => text.replace(/\{([^}]+)\}/g, (_, one: string) => shown(one));

function page(): string {
  const lines = [
    '# Limits, and why',
    '',
    '<!-- Made from the constants in src/; `UPDATE_GOLDEN=1 npm test` writes it again. -->',
    '',
    'Every loop, queue, body and retry has a limit: a named constant in the sources, with its reason beside it.',
  ];
  for (const { title, rows } of chapters) {
    lines.push('', `## ${title}`, '', '| limit | value | why | constant |', '|---|---|---|---|');
    for (const one of rows) {
      const names = placeholders(one).map((path) => `\`${path.replace(/^.*:/, '').replace(/\|.*/, '')}\``);
      lines.push(`| ${one.limit} | ${filled(one.value)} | ${filled(one.why)} | ${[...new Set(names)].join(', ')} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

describe('docs/limits.md', () => {
  it('says the values of the constants', () => {
    const file = join(root, 'docs/limits.md');
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, page());
    expect(readFileSync(file, 'utf8')).toBe(page());
  });

  it('names a constant in every row', () => {
    const without = chapters.flatMap(({ rows }) => rows).filter((one) => placeholders(one).length === 0);
    expect(without).toEqual([]);
  });
});

describe('a constant', () => {
  it.each([
    ['believedDeletes', 50],
    ['chain-file:maxFileBytes', 64 * 1024 * 1024],
    ['managementLimits.counts.labels', 64],
  ])('%s is read from the sources', (path, value) => {
    expect(constants.valueOf(path)).toBe(value);
  });

  it('that nobody has, or that several files have, is named', () => {
    expect(() => constants.valueOf('noSuchLimit')).toThrow('src/ has no constant "noSuchLimit"');
    expect(() => constants.valueOf('maxFileBytes')).toThrow('write FILE:maxFileBytes');
  });
});
