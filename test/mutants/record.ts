// What was played last, kept in the repository: how many faults were planted and noticed, which live and why, and which suite noticed each other one.
import { existsSync, readFileSync } from 'node:fs';
import type { Mutant } from './mutant.ts';
import { playedOn, suiteIn } from './played-code.ts';
import type { Met } from './verdict.ts';

export interface PlayedRecord {
  /** The sources that were played, or the last of them when it was done in pieces. */
  commit: string;
  planted: number;
  played: number;
  noticed: number;
  survivors: { name: string; reason: string }[];
  /** For each fault that one noticed the suite and, behind a colon, its test. */
  noticedBy: Record<string, string>;
  /** What each fault was played on: `playedOn()`. A line whose code or test has changed since says nothing of the present ones. */
  sources: Record<string, string>;
}

const nothing: PlayedRecord = {
  ...{ commit: '', planted: 0, played: 0, noticed: 0 },
  ...{ survivors: [], noticedBy: {}, sources: {} },
};

export function readRecord(path: string): PlayedRecord {
  return existsSync(path) ? { ...nothing, ...(JSON.parse(readFileSync(path, 'utf8')) as PlayedRecord) } : nothing;
}

/** The faults that were never played, or on other sources than these. */
export function changedSince(record: PlayedRecord, all: readonly Mutant[], root: string): Mutant[] {
  return all.filter((mutant) => {
    const { [mutant.name]: by } = record.noticedBy;
    return record.sources[mutant.name] !== playedOn(root, mutant, by);
  });
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
    const { name, room } = mutant;
    const line = done.get(name);
    if (line?.played !== undefined && line.played === playedOn(root, mutant, line.by)) return [line];
    const by = record.noticedBy[name];
    const isKnown = by !== undefined || record.survivors.some((one) => one.name === name);
    if (changed.has(mutant) || !isKnown) return [];
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
      noticed.flatMap(({ name, by }) => (suiteIn(by) === undefined ? [] : [[name, by as string]])),
    ),
    sources: Object.fromEntries(met.flatMap(({ name, played }) => (played === undefined ? [] : [[name, played]]))),
  };
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
