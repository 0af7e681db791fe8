// The journals of several replicas of one store as one. Each replica writes down what it revokes, and what it sees of the others while it
// runs. Pure. In: files of any mix of journals. Out: the files of each journal, and one journal that says what all of them say.
import { beginning, type ChainState, type Digest, readLine } from '../chain/chain.ts';
import { entriesOf, type JournalEntry, journalLine } from './journal.ts';

export interface JournalFile {
  name: string;
  text: string;
}

/** Oldest first. */
export type JournalFiles = readonly JournalFile[];

/** A file that begins with line 1 begins a journal. One that follows none is left with the one before it, which is then not whole. */
export function journalsIn(files: readonly JournalFile[], digest: Digest): JournalFiles[] {
  const journals: { files: JournalFile[]; end: ChainState | undefined }[] = [];
  for (const file of files) {
    const lines = file.text.split('\n').slice(0, -1);
    const first = readLine(lines[0] ?? '', digest);
    const last = readLine(lines.at(-1) ?? '', digest);
    const end = last && { next: last.seq + 1, previous: last.digest };
    // An empty file is the journal of somebody whose revocations are lost.
    const isNew = first?.seq === 1 || lines.length === 0 || journals.length === 0;
    const follows = journals.find((one) => one.end?.next === first?.seq && one.end?.previous === first?.previous);
    const journal = isNew ? undefined : (follows ?? journals.at(-1));
    if (journal === undefined) journals.push({ files: [file], end });
    else {
      journal.files.push(file);
      journal.end = end;
    }
  }
  return journals.map((journal) => journal.files);
}

/** `isWhole`: none of them is broken or empty; else it does not say from where on it is complete. */
export function mergedText(
  journals: readonly JournalFiles[],
  { digest, isWhole }: { digest: Digest; isWhole: boolean },
): string {
  const each = journals.map((files) => [
    ...entriesOf(
      files.map(({ text }) => text),
      digest,
    ),
  ]);
  const from = isWhole ? coveredFrom(each) : undefined;
  const entries = inOrder(each).filter(({ change }) => change.kind !== 'begins');
  if (from !== undefined)
    entries.unshift({ revision: from, time: entries[0]?.time ?? '', uid: '', name: '', change: { kind: 'begins' } });
  let state = beginning;
  let text = '';
  for (const entry of entries) {
    const made = journalLine(state, entry, digest);
    state = made.state;
    text += `${made.line}\n`;
  }
  return text;
}

/** By revision, because the last entry about a key decides, whoever wrote it. */
function inOrder(each: readonly (readonly JournalEntry[])[]): JournalEntry[] {
  return each.flat().sort((one, other) => one.revision - other.revision);
}

/** A replica that starts begins again, and misses nothing while another one writes on. Undefined if one of the journals never began. */
function coveredFrom(each: readonly (readonly JournalEntry[])[]): number | undefined {
  const spans = each.map(spansOf);
  if (spans.some(({ length }) => length === 0)) return undefined;
  const latest = spans.flat().sort((one, other) => other.to - one.to);
  let from = latest[0]?.from;
  for (const span of latest) if (from !== undefined && span.to >= from) from = Math.min(from, span.from);
  return from;
}

interface Span {
  from: number;
  to: number;
}

function spansOf(entries: readonly JournalEntry[]): Span[] {
  const spans: Span[] = [];
  for (const { revision, change } of entries) {
    if (change.kind === 'begins') spans.push({ from: revision, to: revision });
    const span = spans.at(-1);
    if (span !== undefined) span.to = Math.max(span.to, revision);
  }
  return spans;
}
