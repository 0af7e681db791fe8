import { describe, expect, it } from 'vitest';
import { beginning, keyedDigest } from '../../../../src/management/audit/chain/chain.ts';
import {
  type JournalChange,
  type JournalEntry,
  journalLine,
  replayJournal,
} from '../../../../src/management/audit/journal/journal.ts';
import {
  coveredFrom,
  type JournalFile,
  journalsIn,
  mergedText,
} from '../../../../src/management/audit/journal/several-journals.ts';
import { faultIn } from '../../../../src/management/audit/recovery/known-revocations.ts';

const digest = keyedDigest(new Uint8Array(32));

/** `at`: the number of lines in each file. */
function journal(name: string, changes: readonly [number, JournalChange][], at = changes.length): JournalFile[] {
  let state = beginning;
  const files: JournalFile[] = [];
  changes.forEach(([revision, change], index) => {
    const about =
      change.kind === 'limits' || change.kind === 'deleted' ? { uid: 'u', name: 'k' } : { uid: '', name: '' };
    const entry: JournalEntry = { revision, time: '2026-11-27T00:00:00Z', ...about, change };
    const made = journalLine(state, entry, digest);
    state = made.state;
    const file = files[Math.floor(index / at)];
    if (file === undefined) files.push({ name: `${name}-${files.length}`, text: `${made.line}\n` });
    else file.text += `${made.line}\n`;
  });
  return files;
}
const begins: JournalChange = { kind: 'begins' };
const covered: JournalChange = { kind: 'covered' };
const limits = (disabled: boolean): JournalChange => ({ kind: 'limits', limits: { disabled } });
const namesOf = (files: readonly JournalFile[]) => files.map(({ name }) => name);
const merged = (journals: readonly (readonly JournalFile[])[]) =>
  replayJournal([mergedText(journals, { digest, isWhole: true })], digest);

describe('journals of several replicas', () => {
  it('are told apart, in files of any mix', () => {
    const [a, b] = [
      journal(
        'a',
        [
          [1, begins],
          [2, covered],
          [3, covered],
        ],
        1,
      ),
      journal(
        'b',
        [
          [2, begins],
          [4, covered],
        ],
        1,
      ),
    ];
    const mixed = [b[0], a[0], a[1], b[1], a[2]] as JournalFile[];
    expect(journalsIn(mixed, digest).map(namesOf)).toEqual([
      ['b-0', 'b-1'],
      ['a-0', 'a-1', 'a-2'],
    ]);
  });

  it.each([0, 1])('let the last change of a key decide, whoever wrote it and whatever was named first', (first) => {
    const both = [
      journal('a', [
        [2, begins],
        [9, limits(true)],
      ]),
      journal('b', [
        [1, begins],
        [5, limits(false)],
      ]),
    ];
    const journals = first === 0 ? both : both.toReversed();
    expect([coveredFrom(journals, digest), merged(journals).highestRevision]).toEqual([1, 9]);
    expect(merged(journals).revocations.get('u')?.limits).toEqual({ disabled: true });
  });

  it('cover the start of one replica while another one wrote on, and no gap of both', () => {
    const restarted = journal('a', [
      [1, begins],
      [10, covered],
      [20, begins],
      [40, covered],
    ]);
    const wroteOn = journal('b', [
      [5, begins],
      [25, covered],
    ]);
    const stopped = journal('b', [
      [5, begins],
      [15, covered],
    ]);
    expect(coveredFrom([restarted, wroteOn], digest)).toBe(1);
    expect(coveredFrom([restarted, stopped], digest)).toBe(20);
    const text = mergedText([restarted, stopped], { digest, isWhole: true });
    expect(coveredFrom([[{ name: 'both', text }]], digest)).toBe(20);
  });

  it('cover a gap of all when those who had written before it are here, as far as they had written', () => {
    const again = (others: Record<string, number>): JournalChange => ({ kind: 'begins', replica: 'a', others });
    const a = (others: Record<string, number>) =>
      journal('a', [
        [1, { ...begins, replica: 'a', others: {} }],
        [10, covered],
        [20, again(others)],
        [40, covered],
      ]);
    const b = journal('b', [
      [5, { ...begins, replica: 'b', others: { a: 1 } }],
      [15, covered],
    ]);
    expect(coveredFrom([a({ b: 2 }), b], digest)).toBe(1);
    expect(coveredFrom([a({}), b], digest)).toBe(1);
    // Its end is missing, or all of it.
    expect(coveredFrom([a({ b: 3 }), b], digest)).toBe(20);
    expect(coveredFrom([a({ b: 2, c: 1 }), b], digest)).toBe(20);
    expect(coveredFrom([a({ b: 2 })], digest)).toBe(20);
    // One alone, which nobody wrote beside.
    expect(coveredFrom([a({})], digest)).toBe(1);
  });

  it('are not whole with one that is empty, or with a file missing in the middle', async () => {
    const one = journal(
      'a',
      [
        [1, begins],
        [2, covered],
        [3, covered],
      ],
      1,
    ) as [JournalFile, JournalFile, JournalFile];
    const empty = { name: 'b', text: '' };
    expect(journalsIn([...one, empty], digest).map(namesOf)).toEqual([['a-0', 'a-1', 'a-2'], ['b']]);
    expect(await faultIn([empty], digest)).toEqual({ kind: 'absent', file: 'b' });
    expect(journalsIn([one[0], one[2]], digest).map(namesOf)).toEqual([['a-0', 'a-2']]);
    expect(await faultIn([one[0], one[2]], digest)).toMatchObject({ kind: 'broken', file: 'a-2', line: 1 });
    const text = mergedText([one], { digest, isWhole: false });
    expect(coveredFrom([[{ name: 'merged', text }]], digest)).toBeUndefined();
  });
});
