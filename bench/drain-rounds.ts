// Compares the daemon with the bare writer. The rounds are interleaved A B B A, so that drift of the machine cancels. The result
// is the median of the ratios of the pairs.
import type { Reach } from './api-client.ts';
import type { BareProcess } from './harness.ts';
import { median, medianInterval } from './statistics.ts';
import type { Key } from './workload.ts';

export interface Round {
  perSecond: number;
  cpuMs: number;
}

export interface DaemonRound extends Round {
  requestsPerChange: number;
}

export interface Rounds {
  concurrency: number;
  pairs: { bare: Round; daemon: DaemonRound }[];
}

export interface DrainOptions {
  pairs: number;
  keys: readonly Key[];
  reach: Reach;
  bare(): BareProcess;
  /** Changes every virtual object while no daemon runs. */
  changeVirtual(variant: number): Promise<void>;
  /** Runs a daemon until every change is on the host. */
  drain(): Promise<DaemonRound>;
}

/** Candidates for the best concurrency on two cores; the bare writer tries all and keeps the best. */
const concurrencies = [8, 16, 32];

export async function drainRounds(options: DrainOptions): Promise<Rounds> {
  const { pairs, keys, changeVirtual } = options;
  // The virtual side uses even variants and the bare writer odd variants, so that each round changes every host object.
  let variant = 0;
  const concurrency = await bestConcurrency(options);
  const bareRound = async (): Promise<Round> => {
    variant += 2;
    const bare = options.bare();
    await bare.prepare({ reach: options.reach, count: keys.length, variant: (variant + 1) % 200 });
    const { writes, seconds, cpuMs } = await bare.go({ concurrency });
    await bare.close();
    return { perSecond: writes / seconds, cpuMs };
  };
  const daemonRound = async (): Promise<DaemonRound> => {
    variant += 2;
    await changeVirtual(variant % 200);
    return options.drain();
  };
  const rounds: Rounds = { concurrency, pairs: [] };
  for (let pair = 0; pair < pairs; pair++) {
    if (pair % 2 === 0) {
      const bare = await bareRound();
      rounds.pairs.push({ bare, daemon: await daemonRound() });
    } else {
      const daemon = await daemonRound();
      rounds.pairs.push({ bare: await bareRound(), daemon });
    }
    const { bare, daemon } = rounds.pairs.at(-1) as Rounds['pairs'][number];
    const [one, other] = [bare.perSecond, daemon.perSecond].map((each) => each.toFixed(0));
    process.stdout.write(`  pair ${pair + 1}: bare ${one}/s, drain ${other}/s\n`);
  }
  return rounds;
}

async function bestConcurrency({ bare, keys, reach }: DrainOptions): Promise<number> {
  const part = Math.floor(keys.length / (concurrencies.length + 1));
  const writer = bare();
  await writer.prepare({ reach, count: keys.length, variant: 199 });
  // Warms up both sides.
  await writer.go({ concurrency: 16, from: 0, to: part });
  const rates = new Map<number, number>();
  for (const [index, concurrency] of concurrencies.entries()) {
    const { writes, seconds } = await writer.go({ concurrency, from: part * (index + 1), to: part * (index + 2) });
    rates.set(concurrency, writes / seconds);
  }
  await writer.close();
  const [best] = [...rates].sort(([, a], [, b]) => b - a);
  return best?.[0] ?? 16;
}

export interface DrainSummary {
  ratio: number;
  low: number;
  high: number;
  bare: number;
  daemon: number;
  requestsPerChange: number;
  bareCpuMs: number;
  daemonCpuMs: number;
}

export function summary({ pairs }: Rounds): DrainSummary {
  const ratios = pairs.map(({ bare, daemon }) => daemon.perSecond / bare.perSecond);
  return {
    ratio: median(ratios),
    ...medianInterval(ratios),
    bare: median(pairs.map(({ bare }) => bare.perSecond)),
    daemon: median(pairs.map(({ daemon }) => daemon.perSecond)),
    requestsPerChange: Math.max(...pairs.map(({ daemon }) => daemon.requestsPerChange)),
    bareCpuMs: median(pairs.map(({ bare }) => bare.cpuMs)),
    daemonCpuMs: median(pairs.map(({ daemon }) => daemon.cpuMs)),
  };
}
