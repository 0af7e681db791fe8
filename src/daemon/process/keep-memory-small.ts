// The two rules by which a long-lived process gives memory back: once it is quiet, and before its container is full. In: a clock, and
// the collection of V8 where the launcher offers it. Out: a stop function.
import type { Clock } from '../../clock.ts';
import { measureUtilization } from './event-loop-delay.ts';
import { giveBackMemory, heapOf } from './give-back-memory.ts';
import { container, stayBelowLimit } from './stay-below-limit.ts';

export function keepMemorySmall(clock: Clock, collect: NodeJS.GCFunction | undefined): { stop(): void } {
  const heap = heapOf(collect);
  const inQuiet = giveBackMemory({ clock, busy: measureUtilization(), heap });
  const inNeed = stayBelowLimit(clock, heap, container());
  const stop = () => {
    inQuiet.stop();
    inNeed.stop();
  };
  return { stop };
}
