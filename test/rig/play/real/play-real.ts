// Plays the scenario of a seed with daemons as processes, real signals and TCP. What strikes follows from the seed, when exactly does not: time is
// real, so a seed gives the same acts and faults again, and not the same run. In: a seed. Out: what was wrong, and what has struck.
import { pause } from '../../../../src/clock.ts';
import { Board, type Violation } from '../../oracles/board.ts';
import { loadModel, ModelOracle } from '../../oracles/model-oracle.ts';
import { differenceOf, versionsOf } from '../../oracles/snapshot.ts';
import { isSyncWrite } from '../../stage/replayed-store.ts';
import { type RigSide, rigSides } from '../../stage/rig-cluster.ts';
import type { Act } from '../../traffic/acts.ts';
import { Chance } from '../random.ts';
import { learnedSchedule } from '../schedule.ts';
import type { Door } from './door.ts';
import { leaseFaults } from './lease-faults.ts';
import { RealWorld } from './real-world.ts';

export interface RealPlay {
  violations: readonly Violation[];
  struck: readonly string[];
  calms: number;
  /** Writes of daemons. */
  writes: number;
}

export interface RealOptions {
  /** Ends behind so many calm moments. */
  mostCalms?: number;
  tell?: (line: string) => void;
  /** Called before the last look, in tests of the judges. */
  meddle?: (world: RealWorld) => Promise<void>;
}

const faultShare = 0.3;
/** People wait for minutes of virtual time; nothing of that is needed for a signal or a cut. */
const longestWaitMs = 3_000;
/** Nothing is written for so long, and then it is compared. The daemon waits for ten seconds before it believes a second list. */
const quietMs = 11_000;
/** As long as the bound of the slowest mend: a proof of the caches behind a lost connection. */
const settlesWithinMs = 100_000;
const readyWithinMs = 45_000;
const restartSilenceMs = 8_000;

export async function playReal(seed: number, { mostCalms = 99, tell, meddle }: RealOptions = {}): Promise<RealPlay> {
  const { scenario } = learnedSchedule(seed);
  const world = await RealWorld.open(scenario, seed);
  const board = new Board(() => world.clock.now());
  const expectationOf = await loadModel();
  if (expectationOf === undefined) throw new Error('play with real processes: wanted the model, found none');
  const model = new ModelOracle(world, board, { model: expectationOf, hasSeenAll: () => false });
  const faults = new RealFaults(world, new Chance(seed, 'real faults'), tell);
  let calms = 0;
  try {
    for (const act of scenario.before) await actIn(world, act);
    model.begin();
    for (let position = 0; position < scenario.daemons; position++) world.startDaemon(position);
    await becomeReady(world, board);
    for (const act of scenario.acts) {
      tell?.(JSON.stringify(act));
      if (act.do !== 'calm') {
        await faults.mayStrike();
        await actIn(world, act);
        continue;
      }
      await faults.end();
      await settle(world, board, model);
      if (++calms >= mostCalms || board.violations.length > 0) break;
    }
    if (board.violations.length === 0) await lookOnce(world, board, { model, meddle });
    for (const what of [...leaseFaults(world), ...world.misdeeds, ...secretsIn(world)])
      board.say('process', 'wrong', what);
    const writes = rigSides.reduce((sum, side) => sum + daemonsWrites(world, side).length, 0);
    return { violations: board.violations, struck: faults.struck, calms, writes };
  } finally {
    await faults.end();
    await world.stop();
  }
}

async function actIn(world: RealWorld, act: Act): Promise<void> {
  switch (act.do) {
    case 'wait':
      return pause(world.clock, Math.min(act.ms, longestWaitMs));
    case 'calm':
    case 'lastChance':
      return;
    case 'reload':
      return world.reload(act.configuration);
    case 'restart':
      return world.terminate(act.daemon % world.daemons.length);
    case 'kill':
    case 'down':
      return world.daemons[act.daemon % world.daemons.length]?.send('SIGKILL');
    default:
      return world.people.play(act);
  }
}

/** What strikes before an act. Each lasts for a while beside the acts. */
class RealFaults {
  readonly struck: string[] = [];
  readonly #world: RealWorld;
  readonly #chance: Chance;
  readonly #tell: ((line: string) => void) | undefined;
  readonly #lasting = new Set<Promise<void>>();

  constructor(world: RealWorld, chance: Chance, tell?: (line: string) => void) {
    this.#world = world;
    this.#chance = chance;
    this.#tell = tell;
  }

  async mayStrike(): Promise<void> {
    if (!this.#chance.isHit(faultShare)) return;
    const name = this.#chance.pick(faultNames);
    const side: RigSide = this.#chance.pick(rigSides);
    const position = this.#chance.whole(this.#world.daemons.length);
    const ms = this.#chance.pick([100, 700, 3_000, 7_000]);
    this.struck.push(name);
    this.#tell?.(`fault: ${name} ${side} ${position} ${ms} ms`);
    const lasts = (strikes[name] as Strike)(this.#world, { side, position, ms }).finally(() =>
      this.#lasting.delete(lasts),
    );
    this.#lasting.add(lasts);
    // Some acts find it begun, others come in the same moment.
    await pause(this.#world.clock, this.#chance.pick([0, 5, 60]));
  }

  async end(): Promise<void> {
    await Promise.all(this.#lasting);
  }
}

type Strike = (world: RealWorld, at: { side: RigSide; position: number; ms: number }) => Promise<void>;

const strikes: Readonly<Record<string, Strike>> = {
  cut: async ({ doors }, { side }) => doors[side].cut(),
  shut: (world, at) => atDoor(world, at, (door) => door.shut()),
  frozen: (world, at) => atDoor(world, at, (door) => door.freeze(world.clock.now())),
  'cut in an answer': (world, at) => atDoor(world, { ...at, ms: 1_000 }, (door) => door.cutAnswerAfter(at.ms)),
  'kill -9': async ({ daemons }, { position }) => daemons[position]?.send('SIGKILL'),
  SIGTERM: (world, { position }) => world.terminate(position),
  'SIGTERM twice': (world, { position }) => {
    world.daemons[position]?.send('SIGTERM');
    return world.terminate(position);
  },
  'SIGHUP for nothing': async ({ daemons }, { position }) => daemons[position]?.send('SIGHUP'),
  SIGSTOP: async ({ clock, daemons }, { position, ms }) => {
    const daemon = daemons[position];
    daemon?.hold();
    await pause(clock, ms);
    daemon?.resume();
  },
  'SIGSTOP, and SIGTERM in it': async (world, { position, ms }) => {
    const daemon = world.daemons[position];
    daemon?.hold();
    daemon?.send('SIGTERM');
    await pause(world.clock, ms);
    daemon?.resume();
    await world.terminate(position);
  },
};

export const faultNames: readonly string[] = Object.keys(strikes);

async function atDoor(
  { doors, clock }: RealWorld,
  { side, ms }: { side: RigSide; ms: number },
  strike: (door: Door) => void,
): Promise<void> {
  strike(doors[side]);
  await pause(clock, ms);
  doors[side].mend(clock.now());
}

async function becomeReady(world: RealWorld, board: Board): Promise<void> {
  const areReady = async () =>
    (await Promise.all(world.daemons.map((one) => one.isAlive && one.isReady()))).every(Boolean);
  if (await world.until(areReady, readyWithinMs)) return;
  const logs = world.daemons.map(({ name, log }) => `${name}: ${log.slice(-600)}`);
  board.say('process', 'not ready', `not ready within ${readyWithinMs} ms: ${logs.join('\n')}`);
}

/** Until nothing is written and both sides are as the model wants them. */
async function settle(world: RealWorld, board: Board, model: ModelOracle): Promise<void> {
  await becomeReady(world, board);
  const fromMs = world.clock.now();
  const isRight = () => {
    const lastMs = Math.max(fromMs, ...rigSides.map((side) => daemonsWrites(world, side).at(-1)?.atMs ?? 0));
    return world.clock.now() - lastMs >= quietMs && model.differences().length === 0;
  };
  await world.until(isRight, settlesWithinMs);
  model.check();
}

/** After a restart in calm nobody writes, and the model still agrees. */
async function lookOnce(
  world: RealWorld,
  board: Board,
  { model, meddle }: { model: ModelOracle; meddle: RealOptions['meddle'] },
): Promise<void> {
  const before = versionsOf(world);
  for (let position = 0; position < world.daemons.length; position++) await world.terminate(position);
  await world.until(() => world.daemons.every(({ isAlive }) => isAlive), readyWithinMs);
  await becomeReady(world, board);
  await pause(world.clock, restartSilenceMs);
  const changed = differenceOf(before, versionsOf(world));
  if (changed.length > 0)
    board.say('silence', 'writes', `a restart in calm changed: ${changed.slice(0, 5).join('; ')}`);
  await meddle?.(world);
  model.check();
}

function daemonsWrites(world: RealWorld, side: RigSide) {
  return world.clusters[side].store.written.filter(isSyncWrite);
}

function secretsIn({ everyDaemon }: RealWorld): string[] {
  return everyDaemon.flatMap(({ name, log }) => {
    const told = /.*(?:rig-token-of|content-\d|\n\s+at ).*/.exec(log)?.[0];
    return told === undefined ? [] : [`${name} has a secret, or a stack, in its log: ${told.slice(0, 300)}`];
  });
}
