// The bounds of the daemon, each measured in a story of its own with the one fault that it is about: a change is made that only a daemon which has
// recovered can carry across, and the time until it has crossed counts. `npm run rig -- --bounds` prints each beside its limit.
import type { PlacedFault } from '../faults/placed.ts';
import { recipes } from '../faults/recipes/recipes.ts';
import { rigSides } from '../stage/rig-cluster.ts';
import type { Act, Scenario } from '../traffic/acts.ts';
import { demoLeaseSeconds } from '../traffic/features.ts';
import { storyOf } from '../traffic/stories.ts';
import { play } from './run.ts';

export interface Bound {
  what: string;
  limitMs: number;
  faults: readonly PlacedFault[];
  /** Behind the fault; the last one is what must cross. */
  acts: readonly Act[];
  daemons?: number;
  /** What counts is the time until the watch is back, and not the last write. */
  isOfWatch?: true;
}

export interface Measured {
  what: string;
  limitMs: number;
  tookMs: number;
  faults: readonly string[];
}

const web = { namespace: 't1', name: 'web' };
const made = (version: number): Act => ({ do: 'endpoints', at: web, version, labels: {}, annotations: {} });
const wait = (ms: number): Act => ({ do: 'wait', ms });
const label: Act = {
  ...{ do: 'edit', side: 'host', resource: 'endpoints', at: web },
  ...{ field: 'labels', key: 'team', value: 'host' },
};

type Place = Partial<PlacedFault> & { recipe: string };

function fault(place: Place): PlacedFault {
  const name = recipes.find((one) => one.name === place.recipe)?.class ?? '';
  return { class: name, side: 'virtual', verb: 'watch', nth: 1, times: 1, ms: 0, size: 1, ...place };
}

/** The first line of a watch cuts it, and what the daemon then asks for meets another fault. The change is in that line. */
const cut = (recipe: string, second?: Place): Pick<Bound, 'faults' | 'acts'> => ({
  faults: [fault({ recipe }), ...(second === undefined ? [] : [fault(second)])],
  acts: [wait(20_000), made(2)],
});

/** The fourth watch of the virtual side is the one that comes back. */
const again = { nth: 4 };

export const bounds: readonly Bound[] = [
  { what: 'a watch after its end', limitMs: 1_200, ...cut('end of a watch') },
  { what: 'a watch after a reset', limitMs: 1_200, ...cut('reset in a line') },
  { what: 'a watch after a 410 in the stream', limitMs: 1_200, ...cut('410 in the stream') },
  { what: 'a watch after a 500 in the stream', limitMs: 1_200, ...cut('500 in the stream') },
  {
    what: 'a watch after a 410 at connect',
    limitMs: 1_200,
    ...cut('reset in a line', { recipe: '410 at connect', ...again }),
  },
  { what: 'a watch after one 500', limitMs: 1_200, ...cut('reset in a line', { recipe: '500 once', ...again }) },
  {
    what: 'a watch after a refused connection',
    limitMs: 1_200,
    ...cut('end of a watch', { recipe: 'connection refused', ...again, ms: 100 }),
  },
  {
    what: 'a watch after a 429 that asks for three seconds',
    limitMs: 3_000 + 1_200,
    ...cut('reset in a line', { recipe: '429 with Retry-After', ...again }),
  },
  ...rigSides.map((side) => ({
    what: `a watch of the ${side} side that falls silent behind a bookmark, noticed fifteen seconds after the bookmark interval`,
    limitMs: 75_000 + 1_200,
    faults: [fault({ recipe: 'silent watch', side })],
    acts: [wait(70_000), side === 'virtual' ? made(2) : label],
    isOfWatch: true as const,
  })),
  {
    what: 'a change on connections that are all half open',
    limitMs: 75_000 + 1_200,
    faults: [fault({ recipe: 'DNS change', verb: 'update' })],
    acts: [wait(70_000), label, wait(10), made(2)],
  },
  {
    what: 'a swallowed event',
    limitMs: 65_000,
    faults: [fault({ recipe: 'dropped event' })],
    acts: [wait(20_000), made(2)],
  },
  {
    what: 'revisions that go back',
    limitMs: 60_000,
    faults: [fault({ recipe: 'revisions go back', side: 'host', verb: 'update', nth: 2, size: 1 })],
    acts: [wait(20_000), made(2), wait(2_000), made(3)],
  },
  {
    what: 'another replica after a crash, with the lease of the demo',
    limitMs: 6_000,
    daemons: 2,
    faults: [fault({ recipe: 'crash before a write', side: 'host', verb: 'update' })],
    acts: [wait(20_000), made(2)],
  },
  {
    what: 'another replica after SIGTERM',
    limitMs: 500,
    daemons: 2,
    faults: [fault({ recipe: 'SIGTERM', side: 'host', verb: 'update' })],
    acts: [wait(20_000), made(2), made(3)],
  },
  ...[
    fault({ recipe: 'process stopped for a while', side: 'host', verb: 'update', ms: 60_000 }),
    fault({ recipe: 'wall clock jumps', side: 'host', verb: 'update', size: 86_400 }),
    fault({ recipe: 'wall clock jumps', side: 'host', verb: 'update', size: -86_400 }),
  ].map((one) => ({
    what: `no write outside a lease: ${one.recipe}${one.ms > 0 ? ` of ${one.ms / 1000} s` : ` by ${one.size} s`}`,
    limitMs: 6_000,
    daemons: 2,
    faults: [one],
    acts: [wait(20_000), made(2), wait(1_000), made(3)],
  })),
];

export async function* measuredBounds(given: readonly Bound[] = bounds): AsyncGenerator<Measured> {
  for (const { what, limitMs, faults, acts, daemons = 1, isOfWatch = false } of given) {
    const played = await play({ seed: 1, scenario: scenarioOf(acts, daemons), faults });
    const found = played.violations.map(({ oracle, what }) => `${oracle}: ${what}`);
    if (played.struck.length < faults.length) found.push('a fault did not strike');
    const tookMs = isOfWatch ? Math.max(...played.watchesBackMs) : played.settledMs;
    if (tookMs < 0) found.push('no watch came back');
    if (tookMs > limitMs) found.push(`${tookMs} ms, wanted ${limitMs}`);
    yield { what, limitMs, tookMs: Math.ceil(tookMs), faults: found };
  }
}

function scenarioOf(acts: readonly Act[], daemons: number): Scenario {
  const story = storyOf('objects are made');
  const configuration = structuredClone(story.configurations[0]) as { hostward: object };
  const election = { leaderElection: 'always', leaseDurationSeconds: demoLeaseSeconds };
  if (daemons > 1) configuration.hostward = { ...configuration.hostward, ...election };
  const before: Act[] = [{ do: 'service', at: web, hasSelector: false, isCopied: true }, made(1)];
  return { ...story, configurations: [configuration], daemons, before, acts: [...acts, { do: 'calm' }] };
}
