// Each gate of the rig trips: a bound that is not kept, a fault that does not strike, a crash that costs more than one write, a fault at some request that breaks a rule, memory that grows, and a violation
// is cut down to what it needs.
import { describe, expect, it } from 'vitest';
import type { PlacedFault } from '../faults/placed.ts';
import type { RigDaemon } from '../stage/rig-daemon.ts';
import type { Act } from '../traffic/acts.ts';
import { storyOf } from '../traffic/stories.ts';
import { faultsOf } from './boundaries.ts';
import { type Bound, bounds, measuredBounds } from './bounds.ts';
import { minimised } from './minimise.ts';
import { pointsOf } from './points.ts';
import type { Played, Schedule } from './run.ts';
import { grown, type SoakRound } from './soak.ts';

const timeout = 300_000;

describe('measuredBounds()', { timeout }, () => {
  it('says that a bound is not kept, and that its fault did not strike', async () => {
    const swallowed = bounds.find(({ what }) => what === 'a swallowed event') as Bound;
    const never = swallowed.faults.map((one): PlacedFault => ({ ...one, nth: 9_999 }));
    const given = [swallowed, { ...swallowed, limitMs: 1_000 }, { ...swallowed, faults: never }];
    const told = await Array.fromAsync(measuredBounds(given));
    const late = expect.stringMatching(/^[\d.]+ ms, wanted 1000$/);
    expect(told.map(({ faults }) => faults)).toEqual([[], [late], ['a fault did not strike']]);
  });
});

describe('faultsOf() of a crash at a boundary', () => {
  const run = (of: Partial<Played> = {}): Played =>
    ({
      violations: [],
      struck: [{}],
      contents: new Map([['host web', 'a']]),
      writes: new Map([['host web', 2]]),
      ...of,
    }) as unknown as Played;
  it.each<[string, Partial<Played>, string[]]>([
    ['nothing else', {}, []],
    ['one write more', { writes: new Map([['host web', 3]]) }, []],
    [
      'two writes more',
      {
        writes: new Map([
          ['host web', 2],
          ['host api', 2],
        ]),
      },
      ['4 writes, 2 without the crash'],
    ],
    ['another end', { contents: new Map() }, ['host web: wanted a, found nothing']],
    ['no crash', { struck: [] }, ['the crash did not happen']],
    ['a violation', { violations: [{ oracle: 'S6', kind: 'x', what: 'y', atMs: 0 }] }, ['S6: y']],
  ])('says what a run with %s has otherwise', (_, of, faults) => {
    expect(faultsOf(run(), run(of))).toEqual(faults);
  });
});

describe('pointsOf()', { timeout }, () => {
  const story = 'objects stood there before the daemon';
  it('places the faults of a class at each request that they can strike, and breaks no rule with a daemon that keeps them', async () => {
    const { placed, struck, broken } = await pointsOf(story, 'F31');
    expect(placed).toBeGreaterThan(3);
    expect(struck).toBeGreaterThan(0);
    expect(broken).toEqual([]);
  });

  it('says which faults break a rule, and what the oracles said', async () => {
    const windows = [{ window: 'host endpoints', provenSecondsAgo: 500 }];
    const corrupt = (daemon: RigDaemon) => {
      const of = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(daemon), 'status');
      Object.defineProperty(daemon, 'status', { get: () => ({ ...of?.get?.call(daemon), windows }) });
    };
    // A daemon that is killed is followed by an honest one.
    const { placed, broken } = await pointsOf(story, 'F31', { corrupt });
    expect(broken).toHaveLength(placed);
    expect(broken[0]).toMatchObject({ fault: { recipe: 'giant line', nth: 1 } });
    expect(broken[0]?.said.join()).toContain('proven');
  });
});

describe('grown()', () => {
  const rounds = (of: (nth: number) => Partial<SoakRound>): SoakRound[] =>
    Array.from({ length: 12 }, (_, nth) => ({
      ...{
        minute: 5 * (nth + 1),
        seconds: 1,
        heapBytes: 30e6 + nth * 350_000,
        handles: 5,
        timers: 9,
        connections: 4,
        watches: 8,
      },
      ...of(nth),
    }));
  it('has nothing to say of a process that grows as the rig itself does', () => {
    expect(
      grown(
        rounds(() => ({})),
        60,
      ),
    ).toEqual({ faults: [], bytesInMinute: 70_000 });
  });
  it.each<[string, (nth: number) => Partial<SoakRound>, RegExp]>([
    ['a heap', (nth) => ({ heapBytes: 30e6 + nth * 1e6 }), /^the heap grows by 200000 bytes a minute$/],
    ['handles', (nth) => ({ handles: 5 + 2 * nth }), /^handles: 19 in the first rounds, 27 at the end$/],
    ['timers', (nth) => ({ timers: 9 + 2 * nth }), /^timers: /],
    ['connections', (nth) => ({ connections: 4 + 2 * nth }), /^connections: /],
    ['watches', (nth) => ({ watches: 8 + 2 * nth }), /^watches: /],
  ])('sees a leak of %s', (_, of, sentence) => {
    expect(grown(rounds(of), 60).faults).toEqual([expect.stringMatching(sentence)]);
  });
  it('says that a short run tells no slope', () => {
    expect(grown(rounds(() => ({})).slice(0, 5), 25).faults).toEqual([
      '25 minutes are too short to tell a slope; wanted 35',
    ]);
  });
});

describe('minimised()', () => {
  const wait = (ms: number): Act => ({ do: 'wait', ms });
  const fault = (recipe: string): PlacedFault => ({
    class: 'F1',
    recipe,
    side: 'host',
    verb: 'update',
    nth: 1,
    times: 1,
    ms: 0,
    size: 1,
  });
  const scenario = {
    ...storyOf('objects are made'),
    before: [wait(1), wait(2), wait(3)],
    acts: [4, 5, 6, 7, 8, 9].map(wait),
  };
  const schedule: Schedule = { seed: 1, scenario, faults: ['one', 'two', 'three'].map(fault) };
  const violation = { oracle: 'S2', kind: 'back' };

  it('leaves the acts and faults that a violation needs, and no other', async () => {
    const needs = ['"ms":2}', '"ms":5}', '"ms":9}', '"two"'];
    const told: Schedule[] = [];
    const { schedule: short, runs } = await minimised(schedule, violation, async (candidate) => {
      told.push(candidate);
      const text = JSON.stringify(candidate);
      const isThere = needs.every((one) => text.includes(one));
      // A candidate that lacks one of the needed steps shows another violation.
      return { violations: [{ ...violation, ...(!isThere && { kind: 'of nobody' }), what: '', atMs: 0 }] };
    });
    expect(short.scenario.before).toEqual([wait(2)]);
    expect(short.scenario.acts).toEqual([wait(5), wait(9)]);
    expect(short.faults).toEqual([fault('two')]);
    expect([runs, told.length]).toEqual([told.length, runs]);
  });

  it('keeps all where every part is needed, and where a run breaks off', async () => {
    const { schedule: whole } = await minimised(schedule, violation, () => Promise.reject(new Error('it breaks')));
    expect(whole).toEqual(schedule);
  });
});
