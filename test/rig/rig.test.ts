// The rig itself: it repeats itself, its schedules go through all cells, planted mistakes have their places, and boundaries of writes converge.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { PlacedFault } from './faults/placed.ts';
import { mutants, planted } from './mutants/mutants.ts';
import { boundariesOf } from './play/boundaries.ts';
import { Chance } from './play/random.ts';
import { play } from './play/run.ts';
import { cells, learnedSchedule, pairName, pairs, placedSchedule, scenarioOf } from './play/schedule.ts';
import { playSeed } from './play/worker.ts';
import type { Act, At } from './traffic/acts.ts';
import { drawScenario } from './traffic/draw.ts';
import { storyOf } from './traffic/stories.ts';

/** On a machine that does much else, a run takes many times its half a second. */
const timeout = 300_000;

/** Somebody edits one label of a copy twice on the host, one edit soon after the other. */
function editedTwice() {
  const at = { namespace: 't1', name: 'web' };
  const edit = (value: string): Act => ({
    ...{ do: 'edit', side: 'host', resource: 'endpoints', at, field: 'labels', key: 'tier', value },
  });
  const acts: Act[] = [
    { do: 'calm', isShort: true },
    edit('t-one'),
    { do: 'wait', ms: 200 },
    edit('t-two'),
    { do: 'calm' },
  ];
  return { ...storyOf('objects stood there before the daemon'), acts };
}

describe('a run', { timeout }, () => {
  it('repeats itself byte by byte for the same seed (at length)', async () => {
    const trace = async (): Promise<string[]> => {
      const schedule = learnedSchedule(8);
      const learned = await play(schedule);
      const told: string[] = [];
      await play(placedSchedule(9, schedule, learned), { faultless: learned, tell: (line) => void told.push(line) });
      return told;
    };
    const first = await trace();
    expect(first.length).toBeGreaterThan(20);
    expect(await trace()).toEqual(first);
  });

  // The gate runs 500 seeds; one shows here that a seed runs to its end.
  it.each([9])('seed %i finds nothing', async (seed) => {
    const { violations, requests } = await playSeed(seed);
    expect(violations).toEqual([]);
    expect(requests).toBeGreaterThan(50);
  });

  it.each([
    ['F25', 'connection refused'],
    ['F23', 'rights go for a while'],
    ['F21', '422'],
  ])(
    'two kinds that fail behind one shared name do not wake each other without a pause: %s %s',
    async (name, recipe) => {
      const foundings = [
        { namespace: 't1', name: 'a-x-b' },
        { namespace: 'b-x-t1', name: 'a' },
      ].flatMap((at, nth): Act[] => [
        { do: 'service', at, hasSelector: false, isCopied: true },
        { do: 'endpoints', at, version: 1 + nth, labels: {}, annotations: {} },
        { do: 'slice', at, service: at.name, version: 3 + nth, labels: {}, type: 'IPv4' },
      ]);
      for (const nth of [1, 2]) {
        const { violations, struck } = await play({
          seed: 1,
          scenario: { ...storyOf('objects are made'), before: foundings, acts: [{ do: 'calm' }] },
          faults: [{ class: name, recipe, side: 'host', verb: 'create', nth, times: 3, ms: 10_000, size: 1 }],
        });
        expect(struck).toHaveLength(1);
        expect(violations).toEqual([]);
      }
    },
  );

  it('a daemon survives an answer about its lease that is no Lease', async () => {
    const story = storyOf('objects are made');
    const configuration = structuredClone(story.configurations[0]) as { hostward: { leaderElection: string } };
    configuration.hostward.leaderElection = 'always';
    const place = { class: 'F32', recipe: 'garbage answer', side: 'host', verb: 'lease', times: 1, ms: 0 } as const;
    for (const nth of [1, 2, 3]) {
      const faults = [{ ...place, nth, size: 3 }];
      const { violations, struck } = await play({
        seed: 1,
        scenario: { ...story, configurations: [configuration] },
        faults,
      });
      expect([struck.length, violations]).toEqual([1, []]);
    }
  });

  it('a copy that says it is of an object elsewhere is refused and told, not waited for', async () => {
    const at = { namespace: 't1', name: 'web' };
    const mark = 'vcluster.loft.sh/object-name';
    const acts: Act[] = [{ do: 'damage', resource: 'endpoints', at, mark, value: 'wrong' }, { do: 'calm' }];
    const scenario = { ...storyOf('objects stood there before the daemon'), acts: [{ do: 'calm' } as Act, ...acts] };
    expect((await play({ seed: 1, scenario, faults: [] })).violations).toEqual([]);
  });

  it('model and daemon give a shared name to one of two Services, for both kinds together', async () => {
    const [one, other] = [
      { namespace: 't1', name: 'a-x-b' },
      { namespace: 'b-x-t1', name: 'a' },
    ];
    const service = (at: typeof one): Act => ({ do: 'service', at, hasSelector: false, isCopied: true });
    const endpoints: Act = { do: 'endpoints', at: other, version: 2, labels: {}, annotations: {} };
    const slice: Act = { do: 'slice', at: one, service: one.name, version: 1, labels: {}, type: 'IPv4' };
    const acts: Act[] = [service(one), slice, { do: 'wait', ms: 2_000 }, service(other), endpoints, { do: 'calm' }];
    const scenario = { ...storyOf('objects are made'), before: [], acts };
    expect((await play({ seed: 1, scenario, faults: [] })).violations).toEqual([]);
  });

  it('a host edit flows back although the write behind the edit before it has failed again and again', async () => {
    const place = {
      class: 'F19',
      recipe: '500 behind a back-flow',
      side: 'host',
      verb: 'update',
      nth: 1,
      ms: 0,
    } as const;
    const faults = [{ ...place, times: 18, size: 6 }];
    const { violations, struck } = await play({ seed: 1, scenario: editedTwice(), faults });
    expect([struck.length, violations]).toEqual([1, []]);
  });

  it.each([
    ['crash after the answer', 'F3'],
    ['reset before the head', 'F26'],
  ])(
    'a second host edit may lose when nobody knows of the first, which was half on its way back: %s',
    async (recipe, of) => {
      const place = { class: of, recipe, side: 'virtual', verb: 'update', nth: 1, times: 1, ms: 0, size: 1 } as const;
      const { violations, struck } = await play({ seed: 1, scenario: editedTwice(), faults: [place] });
      expect([struck.length, violations]).toEqual([1, []]);
    },
  );

  it('a copy whose making the watch has lost is not made again, although the watch was further than the late answer', async () => {
    const [slow, unseen]: PlacedFault[] = [
      { class: 'F29', recipe: 'slow answer', side: 'host', verb: 'create', nth: 1, times: 1, ms: 1_000, size: 1 },
      { class: 'F10', recipe: 'unseen new objects', side: 'host', verb: 'watch', nth: 1, times: 1, ms: 0, size: 1 },
    ];
    const made = (name: string): Act[] => {
      const at = { namespace: 't1', name };
      return [
        { do: 'service', at, hasSelector: false, isCopied: true },
        { do: 'endpoints', at, version: 1, labels: {}, annotations: {} },
        { do: 'wait', ms: 100 },
      ];
    };
    const acts: Act[] = [{ do: 'calm', isShort: true }, ...made('one'), ...made('two'), { do: 'calm' }];
    const scenario = { ...storyOf('objects are made'), acts };
    const faults = [slow as PlacedFault, unseen as PlacedFault];
    const { violations, struck } = await play({ seed: 1, scenario, faults });
    expect(struck).toHaveLength(2);
    expect(violations).toEqual([]);
  });

  it('two Services never share a host name, also while the first write behind it is under way', async () => {
    const [young, old] = [
      { namespace: 't1', name: 'a-x-b' },
      { namespace: 'b-x-t1', name: 'a' },
    ] as const;
    const service = (at: At): Act => ({ do: 'service', at, hasSelector: false, isCopied: false });
    const acts: Act[] = [
      { do: 'slice', at: old, service: old.name, version: 2, labels: {}, type: 'IPv4' },
      { do: 'wait', ms: 1_500 },
      service(young),
      { do: 'endpoints', at: young, version: 1, labels: {}, annotations: {} },
      { do: 'wait', ms: 1_000 },
      // The older object may have the name from now on.
      service(old),
      { do: 'wait', ms: 8_000 },
      { do: 'calm' },
    ];
    const slow = {
      class: 'F29',
      recipe: 'slow request',
      side: 'host',
      verb: 'create',
      nth: 1,
      times: 1,
      ms: 5_000,
      size: 1,
    };
    const scenario = { ...storyOf('objects are made'), before: [], acts };
    const schedule = { seed: 1, scenario, faults: [slow as PlacedFault] };
    const { violations, struck } = await play(schedule);
    expect([struck.length, violations]).toEqual([1, []]);
  });

  it('no watch goes on from a revision that the server has lost', async () => {
    const at = { namespace: 't1', name: 'web' };
    const made = (version: number): Act => ({ do: 'endpoints', at, version, labels: {}, annotations: {} });
    const changes = [2, 3, 4].flatMap((version): Act[] => [made(version), { do: 'wait', ms: 3_000 }]);
    const back = {
      class: 'F36',
      recipe: 'revisions go back',
      side: 'host',
      verb: 'update',
      nth: 2,
      times: 1,
      ms: 0,
      size: 1,
    };
    const before: Act[] = [{ do: 'service', at, hasSelector: false, isCopied: true }, made(1)];
    const acts: Act[] = [{ do: 'wait', ms: 20_000 }, ...changes, { do: 'calm' }];
    const scenario = { ...storyOf('objects are made'), before, acts };
    const schedule = { seed: 1, scenario, faults: [back as PlacedFault] };
    const { violations, struck } = await play(schedule);
    expect([struck.length, violations]).toEqual([1, []]);
  });

  it('news that comes while a pass waits for an expression is not lost', async () => {
    const story = storyOf('objects are made');
    const [configuration] = story.configurations as [{ sync: { toHost: object } }];
    const patch = { path: 'metadata.annotations["note"]', expression: 'value === "boom" ? null.member : value' };
    const { sync } = configuration;
    const toHost = { ...sync.toHost, endpoints: { enabled: false, patches: [patch] } };
    const at = { namespace: 't1', name: 'web' };
    const made = (version: number, note: string): Act => ({
      ...{ do: 'endpoints', at, version, labels: {}, annotations: { note } },
    });
    const acts: Act[] = [made(1, 'boom'), { do: 'wait', ms: 100 }, made(2, 'fine'), { do: 'calm' }];
    const before: Act[] = [{ do: 'service', at, hasSelector: false, isCopied: true }, made(3, 'x')];
    const scenario = {
      ...story,
      configurations: [{ ...configuration, sync: { toHost } }],
      before,
      acts,
      sandboxMs: 300,
    };
    expect((await play({ seed: 1, scenario, faults: [] })).violations).toEqual([]);
  });

  it('a fault that has not struck has a last chance', async () => {
    const at = { namespace: 't1', name: 'web' };
    const late: Act = { do: 'endpoints', at, version: 9, labels: {}, annotations: {} };
    const place = { class: 'F19', recipe: '500 once', side: 'host', verb: 'update', times: 1, ms: 0, size: 1 } as const;
    const strikes = async (acts: readonly Act[]): Promise<number> => {
      const scenario = { ...storyOf('objects stood there before the daemon'), acts };
      return (await play({ seed: 1, scenario, faults: [{ ...place, nth: 99 }] })).struck.length;
    };
    expect(await strikes([late, { do: 'calm' }])).toBe(0);
    expect(await strikes([{ do: 'lastChance' }, late, { do: 'calm' }])).toBe(1);
  });

  it('a daemon refuses a server of another CA until its kubeconfig names that one', async () => {
    const story = storyOf('objects are made');
    const fault = {
      class: 'F24',
      recipe: 'rotated CA',
      side: 'host',
      verb: 'watch',
      nth: 1,
      times: 1,
      ms: 20_000,
    } as const;
    const { violations, struck } = await play({
      seed: 1,
      scenario: { ...story, isTls: true },
      faults: [{ ...fault, size: 1 }],
    });
    expect([struck.length, violations]).toEqual([1, []]);
  });

  it('draws another scenario for another seed', () => {
    const drawn = [1, 2, 3, 4].map((seed) => JSON.stringify(drawScenario(new Chance(seed, 'scenario'))));
    expect(new Set(drawn).size).toBe(4);
  });
});

it('the first faults of the seeds go through all cells', () => {
  const seen = new Map(cells.map(({ side, verb }) => [`${side} ${verb}`, 1]));
  const learned = learnedSchedule(0);
  // A cell that the scenario of its seed cannot have comes in a later round.
  const rounds = Array.from({ length: 12 * cells.length }, (_, seed) => seed);
  const first = rounds.map((seed) => placedSchedule(seed, learned, { seen }).faults[0]);
  expect(new Set(first.map((one) => `${one?.recipe} ${one?.side} ${one?.verb}`)).size).toBe(cells.length);
});

it.each([0, 5_000_000])('the seeds of a landing place every pair of classes: from %i on', (from) => {
  const placed = new Set<string>();
  for (let seed = from; seed < from + 500; seed++) {
    const { scenario } = learnedSchedule(seed);
    const { hostward } = scenario.configurations[0] as { hostward: { leaderElection: string } };
    const isAsked = ({ verb }: (typeof cells)[number]): boolean =>
      verb !== 'lease' || hostward.leaderElection === 'always';
    const seen = new Map(cells.filter(isAsked).map(({ side, verb }) => [`${side} ${verb}`, 1]));
    const { faults } = placedSchedule(seed, { seed: scenarioOf(seed), scenario, faults: [] }, { seen });
    for (const [at, one] of faults.entries())
      for (const other of faults.slice(at + 1)) placed.add(pairName(one.class, other.class));
  }
  expect(pairs.filter(([one, other]) => !placed.has(pairName(one, other)))).toEqual([]);
});

describe('a planted mistake', () => {
  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))('has its place: %s', (_name, mutant) => {
    const text = readFileSync(new URL(`../../${mutant.file}`, import.meta.url), 'utf8');
    expect(planted(text, mutant)).not.toBe(text);
  });
});

describe('the boundaries of writes', { timeout }, () => {
  it('of a story all converge (at length)', async () => {
    const found = [];
    for await (const one of boundariesOf('a slice changes its address type')) found.push(one);
    expect(found.filter(({ faults }) => faults.length > 0)).toEqual([]);
    // Three moments of each write: the creates of two copies, then a delete and a create.
    expect(found.length).toBeGreaterThanOrEqual(12);
  });
});
