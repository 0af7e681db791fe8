// An hour of the virtual clock in one process: people act, the configuration is loaded anew every minute, and every five minutes all is compared with
// the model. In: a seed. Out: what was wrong, and how memory, timers and connections grew; what the rig itself remembers is thrown away each time.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Board } from '../oracles/board.ts';
import { loadModel, ModelOracle } from '../oracles/model-oracle.ts';
import { rigSides } from '../stage/rig-cluster.ts';
import type { Act } from '../traffic/acts.ts';
import { Draw } from '../traffic/draw.ts';
import { configurationsOf, drawFeatures } from '../traffic/features.ts';
import { Chance } from './random.ts';
import { World } from './world.ts';

const everyMinutes = 5;
const actsInMinute = 5;
/** The first rounds fill caches and let V8 compile. */
const warmRounds = 4;
/** Without a leak the process, with both API servers and the rig, grows by 50 to 90 kB a minute in its first hour: half a kilobyte for each request. */
const mostBytesInMinute = 150_000;
const mostNewHandles = 6;
/** Long enough for a contested object, a withheld delete and a proof of the windows to end. */
const calmMs = 75_000;

export interface SoakRound {
  minute: number;
  /** By the clock on the wall. */
  seconds: number;
  heapBytes: number;
  /** Sockets, timers and the like that Node holds for this process. */
  handles: number;
  timers: number;
  connections: number;
  watches: number;
}

export interface Soaked {
  faults: readonly string[];
  rounds: readonly SoakRound[];
  bytesInMinute: number;
}

export interface SoakOptions {
  seed: number;
  minutes: number;
  /** Ends after so many seconds on the wall, whatever the virtual minutes say. */
  seconds?: number | undefined;
  tell?: (round: SoakRound) => void;
}

export async function soak({ seed, minutes, seconds, tell = () => {} }: SoakOptions): Promise<Soaked> {
  const startedMs = performance.now();
  const elapsed = (): number => Math.round((performance.now() - startedMs) / 1000);
  const chance = new Chance(seed, 'soak');
  const features = featuresOf(chance);
  const configurations = configurationsOf(features);
  const draw = new Draw(chance, features);
  const before = Array.from({ length: 5 }, () => draw.founding()).flat();
  const world = new World({ ...features, configurations, before, acts: [] }, seed);
  const board = new Board(() => world.clock.now());
  const expectationOf = await loadModel();
  const model = expectationOf && new ModelOracle(world, board, { model: expectationOf, hasSeenAll: () => true });
  const rounds: SoakRound[] = [];
  try {
    await world.prepare();
    model?.begin();
    await world.begin();
    for (let minute = 1; minute <= minutes && elapsed() < (seconds ?? Number.POSITIVE_INFINITY); minute++) {
      await playMinute(world, draw, chance.whole(configurations.length));
      if (minute % everyMinutes !== 0) continue;
      await world.advance(calmMs);
      model?.check();
      await forget(world);
      model?.begin();
      rounds.push(measured(world, { minute, seconds: elapsed() }));
      tell(rounds.at(-1) as SoakRound);
    }
  } finally {
    await world.stop();
  }
  const said = board.violations.map(({ oracle, what, atMs }) => `${oracle} at ${atMs / 1000} s: ${what}`);
  const { faults, bytesInMinute } = grown(rounds, minutes);
  return { faults: [...said, ...faults], rounds, bytesInMinute };
}

/** What grows in the rounds, and what is too few of them. */
export function grown(rounds: readonly SoakRound[], minutes: number): Pick<Soaked, 'faults' | 'bytesInMinute'> {
  const faults: string[] = [];
  const settled = rounds.slice(warmRounds);
  const bytesInMinute = slopeOf(settled.map(({ minute, heapBytes }) => [minute, heapBytes]));
  if (settled.length < 3)
    faults.push(`${minutes} minutes are too short to tell a slope; wanted ${(warmRounds + 3) * everyMinutes}`);
  if (bytesInMinute > mostBytesInMinute) faults.push(`the heap grows by ${Math.round(bytesInMinute)} bytes a minute`);
  for (const kind of ['handles', 'timers', 'connections', 'watches'] as const) {
    // Configurations differ in what they need, so a single round may have few.
    const first = Math.max(0, ...settled.slice(0, Math.ceil(settled.length / 2)).map((round) => round[kind]));
    const last = settled.at(-1)?.[kind] ?? 0;
    if (last > first + mostNewHandles) faults.push(`${kind}: ${first} in the first rounds, ${last} at the end`);
  }
  return { faults, bytesInMinute };
}

/** All that can be had at once: both kinds, references, and two configurations to change between. */
function featuresOf(chance: Chance): ReturnType<typeof drawFeatures> {
  for (;;) {
    const features = drawFeatures(chance);
    if (features.kinds.length > 1 && features.hasReferences && features.reloads > 0 && features.daemons === 1)
      return features;
  }
}

async function playMinute(world: World, draw: Draw, configuration: number): Promise<void> {
  const untilMs = world.clock.now() + 60_000;
  await world.act({ do: 'reload', configuration });
  for (let nth = 0; nth < actsInMinute; nth++) {
    for (const act of draw.act()) if (!ofTheRig.has(act.do)) await world.act(act);
    await world.advance(5_000);
  }
  await world.advance(Math.max(0, untilMs - world.clock.now()));
}

/** A new process would have a heap of its own. */
const ofTheRig: ReadonlySet<Act['do']> = new Set(['restart', 'kill', 'down', 'calm', 'reload']);

async function forget(world: World): Promise<void> {
  for (const side of rigSides) await world.clusters[side].store.forget();
  for (const { log } of world.everyDaemon) log.length = 0;
  world.configurations.splice(0, world.configurations.length - 1);
}

function measured(world: World, time: Pick<SoakRound, 'minute' | 'seconds'>): SoakRound {
  collect();
  return {
    ...time,
    handles: process.getActiveResourcesInfo().length,
    heapBytes: process.memoryUsage().heapUsed,
    timers: world.clock.pendingTimers,
    connections: rigSides.reduce((sum, side) => sum + world.proxies[side].openWires, 0),
    watches: rigSides.reduce((sum, side) => sum + world.proxies[side].watches.size, 0),
  };
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  // The sandbox of expressions refuses a realm in which they could call it.
  setFlagsFromString('--no-expose-gc');
  for (let nth = 0; nth < 3; nth++) gc();
}

/** Theil and Sen: the median of the slopes of all pairs, which single jumps do not move. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const slopes = points.flatMap(([x, y], at) => points.slice(at + 1).map(([x2, y2]) => (y2 - y) / (x2 - x)));
  return slopes.sort((one, other) => one - other)[Math.floor(slopes.length / 2)] ?? 0;
}
