import { expect, it } from 'vitest';
import { LiveReplicas } from '../../../src/store/kubernetes/live-replicas.ts';
import { VirtualClock } from '../../virtual-clock.ts';

it('a replica that says nothing for ten seconds lives no longer, and its last words stay', async () => {
  const clock = new VirtualClock();
  const replicas = new LiveReplicas(clock);
  replicas.hear({ replica: 'b', about: 'old', beat: 7 });
  await clock.advance(4_000);
  replicas.hear({ replica: 'a', about: 'young', beat: 3 }, { isBeating: true });
  await clock.advance(6_000);
  expect(replicas.live).toEqual([
    { replica: 'a', about: 'young', heardMsAgo: 6_000 },
    { replica: 'b', about: 'old', heardMsAgo: 10_000 },
  ]);
  await clock.advance(1);
  expect(replicas.live.map(({ replica }) => replica)).toEqual(['a']);
  expect([replicas.words.get('b'), replicas.beats.get('b'), [...replicas.beating.keys()]]).toEqual(['old', 7, ['a']]);
});
