// What was played last, kept in the repository: how many faults were planted and noticed, which live and why, and which suite noticed each other one.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutant.ts';
import type { Met } from './verdict.ts';

export interface PlayedRecord {
  /** The sources that were played, or the last of them when it was done in pieces. */
  commit: string;
  planted: number;
  played: number;
  noticed: number;
  survivors: { name: string; reason: string }[];
  /** A suite for each fault that one noticed. */
  noticedBy: Record<string, string>;
  /** What each fault was played on. A line whose sources have changed since says nothing of the present ones. */
  sources: Record<string, string>;
}

const nothing: PlayedRecord = {
  ...{ commit: '', planted: 0, played: 0, noticed: 0 },
  ...{ survivors: [], noticedBy: {}, sources: {} },
};

export function readRecord(path: string): PlayedRecord {
  return existsSync(path) ? { ...nothing, ...(JSON.parse(readFileSync(path, 'utf8')) as PlayedRecord) } : nothing;
}

/** What a fault is played on: its file without the fault, and the suite that notices it. */
export function sourcesOf(root: string, file: string, suite: string | undefined): string {
  const hash = createHash('sha256');
  for (const path of [file, ...(suite === undefined ? [] : [suite])])
    hash.update(`${path}\n`).update(existsSync(join(root, path)) ? readFileSync(join(root, path)) : 'gone');
  return hash.digest('hex').slice(0, 16);
}

/** The faults that were never played, or on other sources than these. */
export function changedSince(record: PlayedRecord, all: readonly Mutant[], root: string): Mutant[] {
  return all.filter(({ name, file }) => record.sources[name] !== sourcesOf(root, file, record.noticedBy[name]));
}

export function suiteIn(by: string | undefined): string | undefined {
  return /^(test\/[^:]+\.test\.ts): /.exec(by ?? '')?.[1];
}

/** What a report and an earlier record say of the present sources together. */
export function metOf(
  record: PlayedRecord,
  all: readonly Mutant[],
  done: ReadonlyMap<string, Met>,
  root: string,
): Met[] {
  const changed = new Set(changedSince(record, all, root));
  return all.flatMap((mutant): Met[] => {
    const { name, room, file } = mutant;
    const line = done.get(name);
    if (line?.played !== undefined && line.played === sourcesOf(root, file, suiteIn(line.by))) return [line];
    const suite = record.noticedBy[name];
    const isKnown = suite !== undefined || record.survivors.some((one) => one.name === name);
    if (changed.has(mutant) || !isKnown) return [];
    const by = suite === undefined ? undefined : `${suite}: noticed it before`;
    return [{ name, room, by, played: record.sources[name] as string, seconds: 0 }];
  });
}

/** The text of the file. Faults that are not planted any more are left out. */
export function recordOf(
  all: readonly Mutant[],
  met: readonly Met[],
  { commit, survivors }: { commit: string; survivors: readonly { name: string; reason: string }[] },
): string {
  const noticed = met.filter(({ by }) => by !== undefined);
  const reasons = new Map(survivors.map(({ name, reason }) => [name, reason]));
  const record: PlayedRecord = {
    commit,
    planted: all.length,
    played: met.length,
    noticed: noticed.length,
    survivors: met
      .filter(({ by }) => by === undefined)
      .map(({ name }) => ({ name, reason: reasons.get(name) ?? 'nobody has looked at it' })),
    noticedBy: Object.fromEntries(
      noticed.flatMap(({ name, by }) => [[name, suiteIn(by)]].filter(([, suite]) => suite)),
    ),
    sources: Object.fromEntries(met.flatMap(({ name, played }) => (played === undefined ? [] : [[name, played]]))),
  };
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
