import { describe, expect, it } from 'vitest';
import { beginning, keyedDigest } from '../../../../src/management/audit/chain/chain.ts';
import {
  type JournalChange,
  type JournalEntry,
  journalLine,
  replayJournal,
} from '../../../../src/management/audit/journal/journal.ts';
import { type JournalFile, journalsIn, mergedText } from '../../../../src/management/audit/journal/several-journals.ts';
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
    expect(merged(journals)).toMatchObject({ coveredFrom: 1, highestRevision: 9 });
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
    expect(merged([restarted, wroteOn]).coveredFrom).toBe(1);
    expect(merged([restarted, stopped]).coveredFrom).toBe(20);
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
    expect(replayJournal([mergedText([one], { digest, isWhole: false })], digest).coveredFrom).toBeUndefined();
  });
});
