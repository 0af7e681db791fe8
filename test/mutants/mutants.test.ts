import assert from 'node:assert';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import { describe, expect, it } from 'vitest';
import { chosen } from './chosen.ts';
import { firstFailure } from './copy.ts';
import { drawn, faultsByRule } from './drawn.ts';
import { rooms } from './mutant.ts';
import { codeAround, playedOn, testIn } from './played-code.ts';
import { changedSince, metOf, readRecord, recordOf } from './record.ts';
import { faultsOf } from './rules.ts';
import { SuiteFinder } from './suites.ts';
import { survivors } from './survivors.ts';
import { verdictOf } from './verdict.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const byRule = faultsByRule(root);
const all = drawn(byRule, { seed: 1, each: 11 });

describe('the faults', () => {
  it('are at least 120, each with a name of its own, in every room, half of them by rule', () => {
    expect(all.length).toBeGreaterThanOrEqual(120);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    expect(new Set(all.map(({ room }) => room))).toEqual(new Set(rooms));
    expect(all.length - chosen.length).toBe(11 * rooms.length);
    expect(chosen.length).toBeLessThanOrEqual(all.length / 2);
    expect(all.map(({ name }) => name).filter((name) => name.includes('\n'))).toEqual([]);
  });

  it('by rule change their file, and leave a program', () => {
    for (const { name, file, plant } of all.slice(chosen.length)) {
      const text = textOf(file);
      const bad = plant(text);
      expect([name, bad === text]).toEqual([name, false]);
      parse(stripTypeScriptTypes(bad, { mode: 'strip' }), { ecmaVersion: 'latest', sourceType: 'module' });
    }
  });

  it('chosen by hand find their lines, but for a few whose code has changed: the next run names those', () => {
    const lost = chosen.filter(({ file, plant }) => {
      try {
        stripTypeScriptTypes(plant(textOf(file)), { mode: 'strip' });
        return false;
      } catch {
        return true;
      }
    });
    expect(lost.length, lost.map(({ name }) => name).join('; ')).toBeLessThanOrEqual(chosen.length / 10);
  });

  it('are the same for the same seed, and others for another', () => {
    const names = (seed: number) => drawn(byRule, { seed, each: 5 }).map(({ name }) => name);
    expect(names(1)).toEqual(names(1));
    expect(names(2)).not.toEqual(names(1));
  });

  it('make a short list whose suites are there', () => {
    const short = chosen.flatMap(({ noticedBy }) => noticedBy ?? []);
    expect(short.length).toBeGreaterThanOrEqual(12);
    const missing = short.filter((suite) => !existsSync(join(root, suite)));
    expect(missing.length, missing.join('; ')).toBeLessThanOrEqual(2);
  });

  it('that live have a reason, and are among those that can be planted: a change elsewhere may draw others', () => {
    const names = new Set([...chosen, ...byRule.flat()].map(({ name }) => name));
    for (const { name, reason } of survivors)
      expect([name, names.has(name), reason.length > 20]).toEqual([name, true, true]);
  });
});

describe('faultsOf()', () => {
  const text = [
    'const maxThings = 4 * 8;',
    'export function pick(all: readonly number[], at: number | undefined): number {',
    "  if (at === undefined || at < 0) throw new Error('none');",
    '  if (!all.includes(at)) return 0;',
    '  return at > maxThings ? (all[0] as number) : at;',
    '}',
    'export const write = (revision: number) => ({ expect: revision, value: 1 });',
  ].join('\n');
  const faults = faultsOf('src/store/pick.ts', text, 'store');

  it('turns comparisons, early returns, throws, limits, choices and preconditions', () => {
    const planted = faults.map(({ plant }) =>
      plant(text)
        .split('\n')
        .filter((line, nth) => line !== text.split('\n')[nth]),
    );
    expect(planted).toEqual([
      ['const maxThings = 1000 * (4 * 8);'],
      ['  ;'],
      ["  if (at !== undefined || at < 0) throw new Error('none');"],
      ["  if (at === undefined && at < 0) throw new Error('none');"],
      ["  if (at === undefined || at <= 0) throw new Error('none');"],
      ['  ;'],
      ['  if (all.includes(at)) return 0;'],
      ['  return at > maxThings ? at : all[0];'],
      ['  return at >= maxThings ? (all[0] as number) : at;'],
      ['export const write = (revision: number) => ({ expect: undefined, value: 1 });'],
    ]);
  });

  it('names each by its line, so that lines added elsewhere change no name', () => {
    const later = faultsOf('src/store/pick.ts', `// A.\n\n${text}`, 'store');
    expect(later.map(({ name }) => name)).toEqual(faults.map(({ name }) => name));
  });
});

describe('firstFailure()', () => {
  const report = (...messages: string[]) => ({
    testResults: [
      { name: '/copy/test/a.test.ts', status: 'passed', assertionResults: [] },
      {
        ...{ name: '/copy/test/b.test.ts', status: 'failed' },
        assertionResults: [{ status: 'failed', fullName: 'it holds', failureMessages: messages }],
      },
    ],
  });
  it('names the test that noticed', () => {
    expect(firstFailure(report('AssertionError: expected 1 to be 2'))).toEqual({
      ...{ kind: 'failed', suite: 'test/b.test.ts', by: 'test/b.test.ts: it holds' },
    });
    expect(firstFailure(undefined)).toBe(undefined);
  });
  it.each(['Error: Test timed out in 20000ms.\nIf this is', 'Error: Hook timed out in 20000 ms'])(
    'takes "%s" for no assertion',
    (message) => {
      expect(firstFailure(report(message))?.kind).toBe('late');
      expect(firstFailure(report(message, 'AssertionError: expected 1 to be 2'))?.kind).toBe('failed');
    },
  );
});

describe('SuiteFinder', () => {
  it('asks the suites that know a file before those that reach it by the way', () => {
    const { near, room, wide } = new SuiteFinder(root).of('src/store/timeline.ts');
    expect(near[0]).toMatch(/^test\/store\//);
    expect(new Set([...near, ...room, ...wide]).size).toBe(near.length + room.length + wide.length);
    expect(wide.some((suite) => suite.startsWith('test/apiserver/'))).toBe(true);
  });
});

describe('verdictOf()', () => {
  const met = (living: number, count = 100) =>
    Array.from({ length: count }, (_, nth) => ({
      ...{ name: `fault ${nth}`, room: 'store' as const, seconds: 1 },
      by: nth < living ? undefined : 'a suite',
    }));
  const reasons = (count: number) =>
    Array.from({ length: count }, (_, nth) => ({ name: `fault ${nth}`, reason: 'no one can see it' }));
  it('wants 95 of a hundred noticed, and a reason for each other one', () => {
    expect(verdictOf(met(0), { survivors: [], unplayed: 0 }).isGood).toBe(true);
    expect(verdictOf(met(5), { survivors: reasons(5), unplayed: 0 }).isGood).toBe(true);
    expect(verdictOf(met(6), { survivors: reasons(6), unplayed: 0 }).isGood).toBe(false);
    const bad = verdictOf(met(1), { survivors: [], unplayed: 3 });
    expect(bad.isGood).toBe(false);
    expect(bad.sentences[0]).toBe('lives: fault 0: nobody has looked at it');
    expect(bad.sentences.at(-1)).toBe('100 of 103 faults played, 99 noticed, 99.0 %; 3 were not tried yet');
  });
  it('counts what a time limit alone has ended as living', () => {
    const [late, ...others] = met(1, 20).map((one) => ({
      ...one,
      ...(one.by === undefined && { late: 'test/a.test.ts: x' }),
    }));
    const bad = verdictOf([late as NonNullable<typeof late>, ...others], { survivors: [], unplayed: 0 });
    expect(bad.isGood).toBe(false);
    expect(bad.sentences[0]).toBe(
      'lives: fault 0: only a time limit ended it (test/a.test.ts: x), nobody has looked at it',
    );
  });
  it('calls nothing good when nothing was tried', () => {
    expect(verdictOf([], { survivors: [], unplayed: 0 }).isGood).toBe(false);
  });
});

describe('what a fault is played on', () => {
  const text = `
import { a } from './a.ts'; // Why.
const most = 4;
export class Queue {
  #size = 0;
  add(one: string): boolean {
    // It is full.
    if (this.#size >= most) return false;
    return true;
  }
  take(): number {
    return most;
  }
}
`;
  const plant = (present: string) => present.replace('>= most', '> most');
  const code = (changed: string) => codeAround(changed, plant);
  it('is the code that it stands in, whatever its comments, its blanks, its types and its neighbours are', () => {
    for (const [from, to] of [
      ['    // It is full.\n', ''],
      ['if (this.#size', 'if (\n      this.#size'],
      ['one: string', 'one: unknown'],
      ['return most;', 'return most + 1;'],
      ['most = 4', 'most = 5'],
    ] as const) {
      expect(text).toContain(from);
      expect([from, code(text.replace(from, to))]).toEqual([from, code(text)]);
    }
    expect(code(text.replace('return true', 'return !true'))).not.toBe(code(text));
    const ofLimit = (changed: string) => codeAround(changed, (present) => present.replace('most = ', 'most = 9 * '));
    expect(ofLimit(text.replace('return most;', 'return 2;'))).toBe(ofLimit(text));
    expect(ofLimit(text.replace('most = 4', 'most = 5'))).not.toBe(ofLimit(text));
    expect(codeAround(text, () => assert.fail())).toBe('its place is gone');
  });

  const suite = `
describe('Queue', () => {
  it('is full', () => { expect(1).toBe(1); });
  it.each([[1]])('takes %d of $name', (n) => { expect(n).toBe(1); });
  it('is full again', () => { expect(2).toBe(2); });
});
`;
  it.each([
    ['test/q.test.ts: Queue is full', 'toBe(1); });\n  it.each', 'toBe(3); });\n  it.each'],
    ['test/q.test.ts: Queue is full again', 'toBe(2)', 'toBe(3)'],
    ['test/q.test.ts: Queue takes 1 of a thing', 'expect(n).toBe(1)', 'expect(n).toBe(2)'],
  ])('is the test "%s" and no other', (by, from, to) => {
    const all = ['Queue is full', 'Queue is full again', 'Queue takes 1 of a thing'].map(
      (one) => `test/q.test.ts: ${one}`,
    );
    const changed = suite.replace(from, to);
    expect(changed).not.toBe(suite);
    expect(all.filter((one) => testIn(changed, one) !== testIn(suite, one))).toEqual([by]);
    // A name that is not there may be of a contract: then the suite counts.
    expect(testIn(changed, 'test/q.test.ts: Store keeps')).not.toBe(testIn(suite, 'test/q.test.ts: Store keeps'));
  });
});

describe('the record of what was played', () => {
  const record = readRecord(join(root, 'test/mutants/played.json'));

  it('has at least 95 of a hundred noticed if every unplayed one lives, and a reason for each fault that lives', () => {
    expect(record.played).toBeLessThanOrEqual(record.planted);
    expect(record.noticed + record.survivors.length).toBe(record.played);
    expect(record.noticed / record.planted).toBeGreaterThanOrEqual(0.95);
    expect(Object.keys(record.sources)).toHaveLength(record.played);
    const reasons = new Map(survivors.map(({ name, reason }) => [name, reason]));
    for (const { name, reason } of record.survivors) expect([name, reason]).toEqual([name, reasons.get(name)]);
  });

  const mutant = (name: string) => ({ name, room: 'store' as const, file: `src/${name}.ts`, plant: () => '' });
  const all = ['a', 'b', 'c', 'unplayed'].map(mutant);
  const played = (name: string, by?: string) => playedOn('/nowhere', mutant(name), by);
  const holds = 'test/a.test.ts: it holds';
  const met = (name: string, by?: string, sources = played(name, by)) =>
    [name, { name, room: 'store' as const, seconds: 1, by, played: sources }] as const;
  const empty = { commit: '', planted: 0, played: 0, noticed: 0, survivors: [], noticedBy: {}, sources: {} };

  it('is made of the report, without faults that are not planted any more', () => {
    const done = new Map([met('a', holds), met('b', 'it ended', played('b')), met('c'), met('gone')]);
    const text = recordOf(all, metOf(empty, all, done, '/nowhere'), {
      commit: 'abc',
      survivors: [{ name: 'c', reason: 'equal' }],
    });
    expect(JSON.parse(text)).toEqual({
      ...{ commit: 'abc', planted: 4, played: 3, noticed: 2 },
      survivors: [{ name: 'c', reason: 'equal' }],
      noticedBy: { a: holds },
      sources: { a: played('a', holds), b: played('b'), c: played('c') },
    });
  });

  it('keeps a line as long as its code and its test stay as they were', () => {
    const before = {
      ...empty,
      survivors: [{ name: 'c', reason: 'equal' }],
      noticedBy: { a: holds, b: holds },
      sources: { a: played('a', holds), b: 'other sources', c: played('c') },
    };
    expect(changedSince(before, all, '/nowhere').map(({ name }) => name)).toEqual(['b', 'unplayed']);
    expect(metOf(before, all, new Map(), '/nowhere').map(({ name, by }) => [name, by !== undefined])).toEqual([
      ['a', true],
      ['c', false],
    ]);
    const again = new Map([met('b', undefined, 'a report of other sources')]);
    expect(metOf(before, all, again, '/nowhere').map(({ name }) => name)).toEqual(['a', 'c']);
  });
});
