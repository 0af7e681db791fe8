// The short form of `npm run rig:store -- --store kube`: some histories of two replicas on one real kube-apiserver, and a bug that must be found there.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeAssets } from '../../kube/start/assets.ts';
import { judge } from './judges/judge.ts';
import { type Blow, planOf } from './play/plan.ts';
import { play } from './play/play.ts';
import { startKubeHost } from './subjects/kube-host.ts';
import { type Host, kubernetesSubject } from './subjects/kubernetes-subject.ts';
import { type Plant, plants } from './subjects/planted.ts';
import { Tally } from './tally.ts';

const { promises } = kubernetesSubject();
/** Seeds are chosen for what befalls their histories. */
function firstWith(does: Blow['does'], isFit: (blow: Blow) => boolean = () => true): number {
  for (let seed = 0; ; seed++)
    if (planOf(seed, promises).blows.some((blow) => blow.does === does && isFit(blow))) return seed;
}
const plant: Plant = 'lost update';
const mostSeeds = 5;

describe.skipIf(kubeAssets().found === undefined)('two replicas on a real kube-apiserver', () => {
  let host: Host;
  beforeAll(async () => {
    host = await startKubeHost();
  }, 120_000);
  afterAll(() => host?.stop());
  /** The server outlives its subjects. */
  const subjectOn = (planted?: Plant) => kubernetesSubject(planted, async () => ({ ...host, stop: async () => {} }));

  it('show no violation when one is killed, or stands still, and when the server forgets the past', async () => {
    const subject = subjectOn();
    const tally = new Tally('kube', promises);
    const seeds = [firstWith('kill'), firstWith('freeze', ({ forMs = 0 }) => forMs > 5_000), firstWith('cut')];
    try {
      for (const seed of new Set(seeds)) {
        const { history } = await play(subject, seed);
        tally.add(history, judge(history));
      }
    } finally {
      await subject.stop();
    }
    const { violations, unjudged, seen } = tally;
    expect({ violations, unjudged }).toEqual({ violations: [], unjudged: [] });
    for (const sight of ['conflicts', 'kills', 'freezes', 'oldLists', 'oldWatches', 'resumed', 'lostWatches'] as const)
      expect([sight, seen[sight] > 0]).toEqual([sight, true]);
  }, 120_000);

  it(`have the planted bug "${plant}" found`, async () => {
    const subject = subjectOn(plant);
    const spoke = new Set<string>();
    try {
      for (let seed = 0; seed < mostSeeds && !spoke.has(plants[plant]); seed++)
        for (const { judge: name } of judge((await play(subject, seed)).history)) spoke.add(name);
    } finally {
      await subject.stop();
    }
    expect([...spoke]).toContain(plants[plant]);
  }, 120_000);
});
