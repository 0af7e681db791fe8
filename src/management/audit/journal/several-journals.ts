// The journals of several replicas of one store as one. Each replica writes down what it revokes, and what it sees of the others while it
// runs. Pure. In: files of any mix of journals. Out: the files of each journal, and one journal that says what all of them say.
import { beginning, type ChainHead, type ChainState, type Digest, readLine } from '../chain/chain.ts';
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
  const from = isWhole ? coveredFrom(journals, digest) : undefined;
  const entries = inOrder(journals.map((files) => [...entriesOf(textsOf(files), digest)])).filter(
    ({ change }) => change.kind !== 'begins',
  );
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

/**
 * From where on the journals miss nothing together. A replica that starts begins again. It misses nothing while another one writes on, nor
 * when all that had written before it are here: each writes down what it revokes before it acknowledges it. Undefined if one never began.
 */
export function coveredFrom(journals: readonly JournalFiles[], digest: Digest): number | undefined {
  const read = journals.map((files) => spansOf([...entriesOf(textsOf(files), digest)], headOf(files, digest).line));
  if (read.some(({ spans }) => spans.length === 0)) return undefined;
  const lines = new Map(read.map(({ replica, line }) => [replica, line]));
  const areHere = ({ others }: Span) =>
    others !== undefined && Object.entries(others).every(([replica, line]) => (lines.get(replica) ?? -1) >= line);
  const latest = read.flatMap(({ spans }) => spans).sort((one, other) => other.to - one.to);
  let first = latest.shift();
  for (const span of latest) {
    if (first === undefined || (span.to < first.from && !areHere(first))) break;
    if (span.from < first.from) first = span;
  }
  return first?.from;
}

interface Span {
  from: number;
  to: number;
  /** Undefined of a version that did not tell it. */
  others: Readonly<Record<string, number>> | undefined;
}

function spansOf(
  entries: readonly JournalEntry[],
  line: number,
): { spans: Span[]; replica: string | undefined; line: number } {
  const spans: Span[] = [];
  let replica: string | undefined;
  for (const { revision, change } of entries) {
    if (change.kind === 'begins') {
      spans.push({ from: revision, to: revision, others: change.others });
      replica = change.replica ?? replica;
    }
    const span = spans.at(-1);
    if (span !== undefined) span.to = Math.max(span.to, revision);
  }
  return { spans, replica, line };
}

function textsOf(files: JournalFiles): string[] {
  return files.map(({ text }) => text);
}

/** Line 0 of a journal without a line that can be read. */
export function headOf(files: JournalFiles, digest: Digest): ChainHead {
  const last = files.findLast(({ text }) => text.includes('\n'));
  const line = readLine(last?.text.split('\n').at(-2) ?? '', digest);
  return line === undefined ? { line: 0, digest: beginning.previous } : { line: line.seq, digest: line.digest };
}
