import { describe, expect, it } from 'vitest';
import { judgeHttp } from './http/judge-http.ts';
import { playHttp } from './http/play-http.ts';
import { HttpTally } from './http/tally-http.ts';
import { judge } from './judges/judge.ts';
import { type Blow, planOf } from './play/plan.ts';
import { play } from './play/play.ts';
import { type Plant, plants } from './subjects/planted.ts';
import { plantedReplicas } from './subjects/planted-replica.ts';
import { subjects } from './subjects/subjects.ts';
import { Tally } from './tally.ts';

async function tallyOf(store: string, seeds: readonly number[], plant?: Plant): Promise<Tally> {
  const subject = subjects[store]?.(plant);
  if (subject === undefined) throw new Error(`no store ${store}`);
  const tally = new Tally(store, subject.promises);
  try {
    for (const seed of seeds) {
      const { history } = await play(subject, seed);
      tally.add(history, judge(history));
    }
  } finally {
    await subject.stop();
  }
  return tally;
}
const seeds = (count: number) => Array.from({ length: count }, (_, seed) => seed);

describe('the checker of stores', () => {
  it('finds nothing in 60 histories of the memory store, and has seen all that such a store can show', async () => {
    const { violations, missed } = await tallyOf('memory', seeds(60));
    expect({ violations, missed }).toEqual({ violations: [], missed: [] });
  });

  it('plays the same history for the same seed', async () => {
    const subject = subjects['memory']?.();
    if (subject === undefined) throw new Error('no memory store');
    const [one, other] = [await play(subject, 7), await play(subject, 7)];
    expect(one.history).toEqual(other.history);
    expect(one.history.operations.length).toBeGreaterThan(20);
  });

  const elsewhere = ['early acknowledgement', 'state in steps', ...Object.keys(plantedReplicas)];
  const inMemory = Object.entries(plants).filter(([plant]) => !elsewhere.includes(plant));
  it.each(inMemory)('finds the planted bug "%s" by its judge "%s"', async (plant, name) => {
    const spoke = new Set<string>();
    for (let seed = 0; seed < 20 && !spoke.has(name); seed++)
      for (const { judge: one } of (await tallyOf('memory', [seed], plant as Plant)).violations) spoke.add(one);
    expect([...spoke]).toContain(name);
  });

  // Two processes and an API server: in `.ci/proof replicas`.
  it.skipIf(process.env['HOSTWARD_REPLICA_PROOFS'] !== '1').each(Object.keys(plantedReplicas) as Plant[])(
    'finds the planted bug "%s" of a replica within thirty histories',
    async (plant) => {
      const subject = subjects['kubernetes']?.(plant);
      if (subject === undefined) throw new Error('no store kubernetes');
      const spoke = new Set<string>();
      for (let seed = 0; seed < 30 && !spoke.has(plants[plant]); seed++)
        for (const { judge: name } of judge((await play(subject, seed)).history)) spoke.add(name);
      await subject.stop();
      expect([...spoke]).toContain(plants[plant]);
    },
    300_000,
  );

  it('finds a store that acknowledges before it has written, by killing it (at length)', async () => {
    const promises = { areReadsFresh: true, hasGaps: false, canBeKilled: true, canBeFull: false, canBeCut: false };
    // Right behind an acknowledgement, before a late write can catch up.
    const isSoon = ({ does, at, laterMs, moment }: Blow) =>
      does === 'kill' && at === 'return' && laterMs === 0 && moment === undefined;
    const killed = seeds(80).filter((seed) => planOf(seed, promises).blows.some(isSoon));
    const { violations, seen } = await tallyOf('sqlite', killed.slice(0, 2), 'early acknowledgement');
    expect(seen.kills).toBeGreaterThan(0);
    expect(violations.map(({ judge: spoke }) => spoke)).toContain(plants['early acknowledgement']);
  });

  // Two processes and an API server: in `.ci/proof replicas`.
  it.skipIf(process.env['HOSTWARD_REPLICA_PROOFS'] !== '1')(
    'meets a change that the host has and its replica has not heard of wherever that one strikes itself',
    async () => {
      const isLurking = ({ does, moment, whom }: Blow) =>
        does === 'kill' && moment === 'after a host write' && whom === undefined;
      const promises = subjects['kubernetes']?.().promises;
      if (promises === undefined) throw new Error('no store kubernetes');
      const struck = seeds(1_000).filter((seed) => planOf(seed, promises).blows.some(isLurking));
      const { violations, seen } = await tallyOf('kubernetes', struck.slice(0, 5));
      expect([violations, seen.lost > 0]).toEqual([[], true]);
    },
    300_000,
  );

  // A hundred histories with kills at any moment met none of them once in a while, and the run failed.
  it('meets a write without an answer that happened wherever it kills for one', async () => {
    const promises = { areReadsFresh: true, hasGaps: false, canBeKilled: true, canBeFull: true, canBeCut: false };
    const killed = seeds(80).filter((seed) => planOf(seed, promises).blows.some(({ moment }) => moment !== undefined));
    // Three, because one of them may meet a delete, or nobody who still writes.
    const { violations, seen } = await tallyOf('sqlite', killed.slice(0, 3));
    expect([violations, seen.lost > 0]).toEqual([[], true]);
  });

  it('strikes replicas at every moment that a blow at any time seldom meets', () => {
    const promises = { areReadsFresh: false, hasGaps: true, canBeKilled: true, canBeFull: false, canBeCut: true };
    const struck = seeds(100).flatMap((seed) => planOf(seed, promises).blows);
    const told = new Set(struck.map(({ does, at, moment, whom }) => [does, at, moment, whom].join(' ')));
    expect([...told]).toEqual(
      expect.arrayContaining([
        'freeze return after a host write ',
        'kill return after a host write ',
        'kill return before a beat ',
        'kill return before a beat other',
        'kill written  both',
        'kill return after a host write both',
        'kill return before a beat both',
        'cut deleted  ',
        'lag flicker  ',
        'cut ambush  ',
        'kill ambush  ',
        'kill ambush before a beat other',
        'kill ambush before a beat both',
        'kill ambush after a write both',
      ]),
    );
  });

  it('says that it has checked nothing when the histories were tame', async () => {
    const { missed } = await tallyOf('memory', [0]);
    expect(missed).toContain('a list refused because of compaction');
    const nothing = new Tally('sqlite', {
      areReadsFresh: true,
      hasGaps: false,
      canBeKilled: true,
      canBeFull: true,
      canBeCut: false,
    });
    for (const sentence of ['a kill', 'a write refused because somebody else was first', 'a list of an old revision'])
      expect(nothing.missed).toContain(sentence);
  });
});

describe('the checker of stores over HTTP', () => {
  async function tallyOverHttp(seeds: readonly number[], plant?: Plant): Promise<HttpTally> {
    const tally = new HttpTally();
    for (const seed of seeds) {
      const history = await playHttp(seed, plant);
      tally.add(seed, history, judgeHttp(history));
    }
    return tally;
  }

  // The gate plays a hundred.
  it('finds nothing in histories of an API server', async () => {
    const { violations, seen } = await tallyOverHttp(seeds(2));
    expect(violations).toEqual([]);
    expect([seen.events > 0, seen.bookmarks > 0, seen.states > 0]).toEqual([true, true, true]);
  });

  it.each(['skipped event', 'early bookmark', 'stale previous'] as const)(
    'finds the planted bug "%s"',
    async (plant) => {
      const { violations } = await tallyOverHttp([1], plant);
      expect(violations.length).toBeGreaterThan(0);
    },
  );

  it('finds a server that reads a long first state of a watch at several revisions (at length)', async () => {
    const told: string[] = [];
    for (let seed = 0; seed < 40 && !told.some((what) => /: begins at \d+ with/.test(what)); seed++)
      told.push(...(await tallyOverHttp([seed], 'state in steps')).violations.map(({ what }) => what));
    expect(told).toContainEqual(expect.stringMatching(/: begins at \d+ with/));
  });

  it('says that it has checked nothing when the histories were tame', () => {
    expect(new HttpTally().missed).toContain('a list refused because of compaction');
  });
});
