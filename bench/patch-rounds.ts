// Measures the cost of patches end to end: the same changes run without patches, with one patch and with ten patches, in turns
// (A B C C B A). Each round is compared with the round without patches of the same turn.
import type { DaemonRound } from './drain-rounds.ts';
import type { Report } from './report.ts';
import { median } from './statistics.ts';

export interface PatchEntry {
  path: string;
  expression: string;
  onMissing?: 'create';
}

/** Common patches for Endpoints. Every object of the load has every path, so that every patch runs. */
const entries: readonly PatchEntry[] = [
  {
    path: 'subsets[*].addresses[*].ip',
    expression: 'value.startsWith("172.16.") ? "100.64." + value.slice(7) : value',
  },
  { path: 'metadata.annotations["example.com/owner"]', expression: 'value.toUpperCase()' },
  { path: 'metadata.labels["tier"]', expression: '"t-" + value' },
  { path: 'metadata.labels["app"]', expression: 'value + "-" + context.vcluster.name' },
  { path: 'subsets[*].ports[*].name', expression: 'value === "http" ? "web" : value' },
  { path: 'subsets[*].ports[*].port', expression: 'value === 8080 ? 80 : value' },
  { path: 'subsets[*].ports[*].protocol', expression: 'value || "TCP"' },
  { path: 'metadata.annotations["example.com/url"]', expression: '"http://" + (value ?? "none")', onMissing: 'create' },
  { path: 'metadata.labels["made-of"]', expression: 'context.virtualObject.metadata.name', onMissing: 'create' },
  { path: 'metadata.labels["stage"]', expression: 'value ?? "production"', onMissing: 'create' },
];

const patchCounts = [1, entries.length];

export function patchEntries(count: number): readonly PatchEntry[] {
  return entries.slice(0, count);
}

export interface PatchRounds {
  plain: DaemonRound[];
  patched: Map<number, DaemonRound[]>;
}

export interface PatchRun {
  /** The first drain under a new configuration, which also records the new patches on every object once. */
  moved: DaemonRound;
  took: DaemonRound;
}

export async function patchRounds(options: {
  rounds: number;
  changeVirtual(variant: number): Promise<void>;
  /** `change` changes every virtual object. */
  run(patches: number, change: () => Promise<void>): Promise<PatchRun>;
}): Promise<PatchRounds> {
  const rounds: PatchRounds = { plain: [], patched: new Map(patchCounts.map((count) => [count, []])) };
  let variant = 100;
  const change = (): Promise<void> => {
    variant += 2;
    return options.changeVirtual(variant);
  };
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? [0, ...patchCounts] : [...patchCounts.toReversed(), 0];
    for (const count of order) {
      const { moved, took } = await options.run(count, change);
      (rounds.patched.get(count) ?? rounds.plain).push(took);
      process.stdout.write(`  round ${round + 1}, ${count} patches: ${shown(took)}; at first ${shown(moved)}\n`);
    }
  }
  return rounds;
}

function shown({ perSecond, cpuMs }: DaemonRound): string {
  return `${perSecond.toFixed(0)}/s, ${cpuMs.toFixed(0)} ms of the daemon`;
}

/** The median ratio to the rate without patches of the same turn. */
function shareOfPlain({ plain, patched }: PatchRounds, count: number): number {
  return median(
    (patched.get(count) ?? []).map(({ perSecond }, at) => perSecond / (plain[at]?.perSecond ?? Number.NaN)),
  );
}

export function reportShares(report: Report, what: string, rounds: PatchRounds): void {
  report.details['patches'] = { plain: rounds.plain, patched: [...rounds.patched] };
  for (const count of patchCounts) {
    const name = `${what} with ${count === 1 ? 'one patch' : `${count} patches`} / without`;
    report.add({ name, value: shareOfPlain(rounds, count), unit: '', wanted: { atLeast: 0.9 } });
  }
}
