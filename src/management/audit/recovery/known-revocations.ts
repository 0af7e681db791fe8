// Reads the journal of revocations in a folder for a backup of a certain revision: the revocations since then, and whether the
// list is complete. A journal that is broken, or that begins later than the backup, is used as far as it goes.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { revocationsName } from '../../keys/folder/data-folder.ts';
import type { Digest } from '../chain/chain.ts';
import { chainFiles } from '../chain/chain-file.ts';
import { verifyFiles } from '../chain/verify.ts';
import { mergedRevocation, type Replayed, type Revocation, replayJournal } from '../journal/journal.ts';
import { coveredFrom, type JournalFiles } from '../journal/several-journals.ts';

export type JournalState =
  /** Nothing is missing since the backup. */
  | { kind: 'whole' }
  /** `file`: the one of several that is empty. */
  | { kind: 'absent'; file?: string }
  /** The journal begins after the backup, so revocations between the two are unknown. */
  | { kind: 'late'; from: number }
  | { kind: 'broken'; file: string; line: number; reason: string };

export interface Known extends Pick<Replayed, 'revocations' | 'names' | 'highestRevision'> {
  journal: JournalState;
  /** When the last line was written. */
  until?: string | undefined;
}

export async function knownSince(revision: number, dataDir: string, digest: Digest): Promise<Known> {
  return knownIn(await journalFiles(dataDir), revision, digest);
}

export async function journalFiles(dataDir: string): Promise<JournalFiles> {
  const names = await chainFiles(dataDir, revocationsName);
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(dataDir, name), 'utf8') })));
}

export async function knownIn(files: JournalFiles, revision: number, digest: Digest): Promise<Known> {
  const broken = await brokenIn(files, digest);
  // Each file continues the one before, so all files are one journal.
  const whole = replayJournal(
    files.map(({ text }) => text),
    digest,
    revision,
  );
  return { ...whole, journal: broken ?? stateOf(files, revision, digest) };
}

/** Why one journal of several says too little; undefined while nothing in it is wrong. */
export async function faultIn(files: JournalFiles, digest: Digest): Promise<JournalState | undefined> {
  const broken = await brokenIn(files, digest);
  if (broken !== undefined) return broken;
  const isEmpty = files.every(({ text }) => !text.includes('\n'));
  return isEmpty ? { kind: 'absent', ...(files[0] !== undefined && { file: files[0].name }) } : undefined;
}

/** What several replicas know together. Their journals are about the same revisions. */
export function knownTogether(all: readonly [Known, ...Known[]]): Known {
  const inTime = all.toSorted((a, b) => a.highestRevision - b.highestRevision);
  const revocations = new Map<string, Revocation>();
  for (const known of inTime)
    for (const [uid, one] of known.revocations) {
      const other = revocations.get(uid);
      revocations.set(uid, other === undefined ? one : mergedRevocation(other, one));
    }
  const { journal } = all.find((known) => known.journal.kind !== 'whole') ?? all[0];
  const { highestRevision, until } = inTime.at(-1) as Known;
  return { revocations, names: new Map(inTime.flatMap(({ names }) => [...names])), highestRevision, until, journal };
}

function stateOf(files: JournalFiles, revision: number, digest: Digest): JournalState {
  const from = files.length === 0 ? undefined : coveredFrom([files], digest);
  if (from === undefined) return { kind: 'absent' };
  return from <= revision ? { kind: 'whole' } : { kind: 'late', from };
}

type Broken = Extract<JournalState, { kind: 'broken' }>;

async function brokenIn(files: JournalFiles, digest: Digest): Promise<Broken | undefined> {
  const found = await verifyFiles(
    files.map(({ name, text }) => ({ name, read: async () => text })),
    { digest },
  );
  for (const { name, result } of found)
    if (result.kind === 'broken') return { kind: 'broken', file: name, line: result.line, reason: result.reason };
  return undefined;
}
