// The memory store, in this process: the same seed gives the same history, answer by answer.
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { LocalReach } from './local-reach.ts';
import { type Plant, planted } from './planted.ts';
import type { Stage, Subject } from './subject.ts';

export function memorySubject(plant?: Plant): Subject {
  return {
    name: 'memory',
    promises: { areReadsFresh: true, hasGaps: false, canBeKilled: false, canBeFull: false, canBeCut: false },
    async open(): Promise<Stage> {
      const store = new MemoryStore({ clock: new VirtualClock() });
      await store.start();
      const reach = new LocalReach(plant === undefined ? store : planted(store, plant));
      return { reach: () => reach, close: () => store.stop() };
    },
    async stop() {},
  };
}
