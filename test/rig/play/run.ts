// Plays one schedule, a scenario with its faults, under all oracles. In: data. Out: what was violated, what was reached, and what the proxies
// saw, which the next schedule is placed by.
import { liveFault } from '../faults/effects.ts';
import type { LiveFault } from '../faults/live-fault.ts';
import type { FaultVerb, PlacedFault } from '../faults/placed.ts';
import { recipes } from '../faults/recipes/recipes.ts';
import { Board, type Violation } from '../oracles/board.ts';
import { EndOracle } from '../oracles/ends.ts';
import { FailOver } from '../oracles/fail-over.ts';
import { loadModel, ModelOracle } from '../oracles/model-oracle.ts';
import { Repairs } from '../oracles/repairs.ts';
import { RequestOracle } from '../oracles/requests.ts';
import { RetryAfter } from '../oracles/retry-after.ts';
import { AfterOutage } from '../oracles/rules/after-outage.ts';
import { Futures } from '../oracles/rules/futures.ts';
import { liars, MissedChanges } from '../oracles/rules/missed-changes.ts';
import { NoList } from '../oracles/rules/no-list.ts';
import { OneName } from '../oracles/rules/one-name.ts';
import { OwnWrites } from '../oracles/rules/own-writes.ts';
import { Policy } from '../oracles/rules/policy.ts';
import { TriedAgain } from '../oracles/rules/tried-again.ts';
import { WatchedOn } from '../oracles/rules/watched-on.ts';
import { ProvenTruth } from '../oracles/truth/proven-truth.ts';
import { Truth } from '../oracles/truth/truth.ts';
import { WatchBack } from '../oracles/watch-back.ts';
import { isWrite, type Passing } from '../proxy/passing.ts';
import { type RigSide, rigSides } from '../stage/rig-cluster.ts';
import type { RigDaemon } from '../stage/rig-daemon.ts';
import type { Scenario } from '../traffic/acts.ts';
import { sightsOf } from '../traffic/sights.ts';
import { World } from './world.ts';

/** What they show is doubted. */
const emptied: ReadonlySet<string> = new Set(['emptyList', 'emptyRelist']);

export interface Schedule {
  seed: number;
  scenario: Scenario;
  faults: readonly PlacedFault[];
}

export interface Played {
  violations: readonly Violation[];
  /** The faults that struck. */
  struck: readonly PlacedFault[];
  /** Requests by side and verb, between the start of the daemons and the last calm. */
  seen: ReadonlyMap<string, number>;
  /** Successful writes of daemons by object. */
  writes: ReadonlyMap<string, number>;
  /** Every write that a daemon began, in order: the nth of its side and verb. */
  trail: readonly { side: RigSide; verb: FaultVerb; nth: number }[];
  /** What both sides held at the last calm, in words that are the same in every run of the scenario. */
  contents: ReadonlyMap<string, string>;
  /** Features that it has met. */
  sights: readonly string[];
  requests: number;
  virtualMs: number;
  /** From the end of all acts and faults to the last write of a daemon. */
  settledMs: number;
  /** How long watches were away that the only fault of the run took. */
  watchesBackMs: readonly number[];
}

export interface PlayOptions {
  /** The same scenario without faults. */
  faultless?: Played | undefined;
  /** Hears one line for each step. */
  tell?: ((line: string) => void) | undefined;
  /** Makes the first daemons lie, in tests of the oracles. */
  corrupt?: (daemon: RigDaemon) => void;
}

export async function play(schedule: Schedule, { faultless, tell, corrupt }: PlayOptions = {}): Promise<Played> {
  const world = new World(schedule.scenario, schedule.seed);
  const board = new Board(() => world.clock.now());
  const faults = schedule.faults.map((placed) => {
    const recipe = recipes.find(({ name }) => name === placed.recipe);
    if (recipe === undefined) throw new Error(`place a fault: wanted a known recipe, found "${placed.recipe}"`);
    return liveFault(placed, recipe, world);
  });
  const seen = new Map<string, number>();
  const trail: Played['trail'][number][] = [];
  let requests = 0;
  const requestOracle = new RequestOracle(world, board);
  const expectationOf = await loadModel();
  const hasSeenAll = (): boolean => !faults.some(({ hasStruck }) => hasStruck);
  const model = expectationOf && new ModelOracle(world, board, { model: expectationOf, hasSeenAll });
  const ends = new EndOracle({ world, board, faults, faultless, model });
  world.ears.push({
    acted: (act) => {
      if (act.do === 'lastChance') for (const fault of faults) fault.hasten();
    },
    passed: (passing) => {
      requests++;
      if (isWrite(passing)) {
        const { side, verb } = passing;
        const nth = (seen.get(`${side} ${verb}`) ?? 0) + 1;
        trail.push({ side, verb: verb as FaultVerb, nth });
      }
      if (!passing.isProof)
        seen.set(`${passing.side} ${passing.verb}`, (seen.get(`${passing.side} ${passing.verb}`) ?? 0) + 1);
      // An empty list is doubted, and nothing goes because of it.
      const struck = faults.filter(({ hasStruck, recipe }) => hasStruck && !emptied.has(recipe.effect));
      const isLiar = ({ recipe }: LiveFault): boolean => liars.has(recipe.class);
      requestOracle.hasTurnedBack ||= struck.some(({ recipe }) => recipe.class === 'F36');
      requestOracle.wasLiedTo ||= struck.some(isLiar);
      const standing = struck.filter(({ isMended }) => !isMended);
      requestOracle.isDisturbed = standing.length > 0;
      requestOracle.isSilenced = standing.some(({ recipe }) => recipe.class === 'F28');
      requestOracle.isLiedTo = standing.some(isLiar);
    },
  });
  const watchBack = new WatchBack(world, board, faults);
  // Behind the ear that says what has struck.
  world.ears.push(
    requestOracle,
    ends,
    watchBack,
    new RetryAfter(world, board),
    new FailOver(world, board, faults),
    new Truth(world, board, faults),
    new ProvenTruth(world, board),
    new MissedChanges(world, board, faults),
    new NoList(board),
    new Futures(world, board),
    new OneName(world, board),
    new OwnWrites(world, board, faults),
    new Policy(world, board, faults),
    new AfterOutage(world, board, faults),
    new TriedAgain(world, board, faults),
    new WatchedOn(world, board, faults),
    new Repairs(world, board),
  );
  if (tell !== undefined) world.ears.push(teller(world, tell));
  try {
    await world.prepare();
    model?.begin();
    for (const side of rigSides) world.proxies[side].meddlers = faults;
    await world.begin();
    for (const daemon of world.daemons) corrupt?.(daemon);
    for (const act of schedule.scenario.acts) await world.act(act);
    await ends.finish();
    return {
      violations: board.violations,
      struck: faults.filter(({ hasStruck }) => hasStruck).map(({ placed }) => placed),
      seen,
      writes: ends.writes(),
      trail,
      contents: ends.contents,
      sights: sightsOf(world),
      requests,
      virtualMs: world.clock.now(),
      settledMs: ends.settledMs,
      watchesBackMs: watchBack.tookMs,
    };
  } finally {
    await world.stop();
  }
}

function teller(world: World, tell: (line: string) => void) {
  const at = (): string => `${(world.clock.now() / 1000).toFixed(3).padStart(9)} s`;
  return {
    acted: (act: object) => tell(`${at()}  people   ${JSON.stringify(act)}`),
    answered: (passing: Passing, status: number) => {
      if (passing.verb !== 'other' && (passing.method !== 'GET' || passing.fate !== undefined))
        tell(
          `${at()}  ${passing.daemon} → ${passing.side}  ${passing.method} ${passing.path.split('?')[0]} ${status} ${passing.fate ?? ''} ${passing.body.slice(0, 600)}`,
        );
    },
    madeUp: ({ daemon, side, method, path, fate = '', body }: Passing, status: number) =>
      tell(
        `${at()}  ${daemon} → ${side}  ${method} ${path.split('?')[0]} ${status || 'no answer'} ${fate} ${body.slice(0, 200)}`,
      ),
    passed: (passing: Passing) => {
      if (passing.verb === 'watch')
        tell(`${at()}  ${passing.daemon} → ${passing.side}  WATCH ${passing.path.split('?')[0]}`);
    },
    event: (_watch: unknown, line: { type: string; resource: string; key: string; revision: string }) => {
      if (line.type !== 'BOOKMARK')
        tell(`${at()}  event    ${line.type} ${line.resource} ${line.key} @${line.revision}`);
    },
  };
}
