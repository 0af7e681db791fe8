// What is said of histories that were played, and how one of them is kept.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { History, Violation } from './history.ts';

/** Said in full; of the others the seed is enough. */
const mostTold = 5;

export interface Told {
  store: string;
  histories: number;
  operations: number;
  seen: Record<string, number>;
  violations: readonly (Violation & { seed: number })[];
  unjudged: readonly { seed: number; what: string }[];
  /** What was never seen although this store can show it. */
  missed: readonly string[];
  /** Files with histories that were found wrong. */
  kept: readonly string[];
}

export function asText(tally: Told, wanted: number, from: number): string {
  const { store, histories, operations, seen, violations, unjudged, missed, kept } = tally;
  const lines = [
    `${store}: ${histories} histories, ${operations} operations and watches, ${violations.length} violations`,
  ];
  lines.push(
    `  ${Object.entries(seen)
      .map(([sight, count]) => `${sight} ${count}`)
      .join(', ')}`,
  );
  for (const one of violations.slice(0, mostTold)) lines.push(`  seed ${one.seed}, ${sentence(one)}`);
  const seeds = [...new Set(violations.map(({ seed }) => seed))].slice(0, mostTold);
  for (const seed of seeds) lines.push(`  npm run rig:store -- --replay ${seed} --store ${store}`);
  for (const path of kept.slice(0, mostTold)) lines.push(`  npm run rig:store -- --judge ${path}`);
  for (const { seed, what } of unjudged)
    lines.push(
      `  seed ${seed}, could not judge: ${what}, and the machine gave the store or its reader too little time: play it again`,
    );
  for (const sentence of missed) lines.push(`  the histories never had ${sentence}: play more of them`);
  if (histories < wanted)
    lines.push(`  stopped early: go on with --from ${from + histories} --histories ${wanted - histories}`);
  return lines.join('\n');
}

export function sentence({ judge: name, what }: Violation): string {
  return `${name}: ${what}`;
}

/** No history is played twice alike, so one that was found wrong is kept. */
export function keep(history: History): string {
  const path = join(mkdtempSync(join(tmpdir(), 'hostward-history-')), `${history.store}-${history.seed}.json`);
  writeFileSync(path, toText(history));
  return path;
}

export function toText(history: History): string {
  return JSON.stringify(history, replaced, 1);
}

export function fromText(text: string): History {
  return JSON.parse(text, revived);
}

/** JSON has no infinity, which is the end of a watch that was never answered. */
function replaced(_key: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? 'never' : value;
}

function revived(_key: string, value: unknown): unknown {
  return value === 'never' ? Number.POSITIVE_INFINITY : value;
}
