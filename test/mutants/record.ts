// What was played last, kept in the repository: how many faults were planted and noticed, which live and why, and which suite noticed each other one.
import { existsSync, readFileSync } from 'node:fs';
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
}

const nothing: PlayedRecord = { commit: '', planted: 0, played: 0, noticed: 0, survivors: [], noticedBy: {} };

export function readRecord(path: string): PlayedRecord {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as PlayedRecord) : nothing;
}

/** The text of the file. Faults that are not planted any more are left out. */
export function recordOf(
  all: readonly Mutant[],
  done: ReadonlyMap<string, Met>,
  { commit, survivors }: { commit: string; survivors: readonly { name: string; reason: string }[] },
): string {
  const played = all.flatMap(({ name }) => done.get(name) ?? []);
  const noticed = played.filter(({ by }) => by !== undefined);
  const reasons = new Map(survivors.map(({ name, reason }) => [name, reason]));
  const record: PlayedRecord = {
    commit,
    planted: all.length,
    played: played.length,
    noticed: noticed.length,
    survivors: played
      .filter(({ by }) => by === undefined)
      .map(({ name }) => ({ name, reason: reasons.get(name) ?? 'nobody has looked at it' })),
    noticedBy: Object.fromEntries(
      noticed.flatMap(({ name, by = '' }) => {
        const suite = /^(test\/[^:]+\.test\.ts): /.exec(by)?.[1];
        return suite === undefined ? [] : [[name, suite]];
      }),
    ),
  };
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
