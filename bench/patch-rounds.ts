// What patches cost end to end: the same drain without a patch, with one and with ten, in turns (A B C C B A), each round
// held against the plain one of its own turn. What counts is the second drain under a configuration: the first one writes
// down for every object that its patches are others now, which happens once and not with every change.
import type { DaemonRound } from './drain-rounds.ts';
import type { Report } from './report.ts';
import { median } from './statistics.ts';

export interface PatchEntry {
  path: string;
  expression: string;
  onMissing?: 'create';
}

/** What people do to Endpoints; every path is there in every object of the load, so that every patch runs. */
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

export async function patchRounds(options: {
  rounds: number;
  changeVirtual(variant: number): Promise<void>;
  drain(patches: number): Promise<DaemonRound>;
}): Promise<PatchRounds> {
  const rounds: PatchRounds = { plain: [], patched: new Map(patchCounts.map((count) => [count, []])) };
  let variant = 100;
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? [0, ...patchCounts] : [...patchCounts.toReversed(), 0];
    for (const count of order) {
      const drain = async (): Promise<DaemonRound> => {
        variant += 2;
        await options.changeVirtual(variant);
        return options.drain(count);
      };
      const moved = await drain();
      const took = await drain();
      (rounds.patched.get(count) ?? rounds.plain).push(took);
      process.stdout.write(
        `  round ${round + 1}, ${count} patches: ${took.perSecond.toFixed(0)}/s, ${took.cpuMs.toFixed(0)} ms of the daemon (${moved.perSecond.toFixed(0)}/s right after the change of configuration)\n`,
      );
    }
  }
  return rounds;
}

/** The median of what is left of the plain rate of the same turn. */
function shareOfPlain({ plain, patched }: PatchRounds, count: number): number {
  return median(
    (patched.get(count) ?? []).map(({ perSecond }, at) => perSecond / (plain[at]?.perSecond ?? Number.NaN)),
  );
}

export function reportShares(report: Report, rounds: PatchRounds): void {
  report.details['patches'] = { plain: rounds.plain, patched: [...rounds.patched] };
  for (const count of patchCounts) {
    const name = `drain with ${count === 1 ? 'one patch' : `${count} patches`} / without`;
    report.add({ name, value: shareOfPlain(rounds, count), unit: '', wanted: { atLeast: 0.9 } });
  }
}
