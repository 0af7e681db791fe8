// Gives memory back before a container is full. V8 keeps the pages of a burst until the process is quiet, while the next burst may need
// memory outside of V8: six kinds of unread answers, one after the other, ended a server with 384 MiB, of which V8 held 90 for nothing.
// In: a clock, a heap, the memory of the process and its limit. Out: a stop function.
import { totalmem } from 'node:os';
import { constrainedMemory, memoryUsage } from 'node:process';
import type { Clock, Timer } from '../../clock.ts';
import { type Heap, shortHeapBytes } from './give-back-memory.ts';

export interface Container {
  limitBytes: number;
  /** What the process has in memory now. */
  residentBytes(): number;
}

/** A burst of connections fills 100 MiB in a second. */
const lookEveryMs = 250;
/**
 * From here on V8 collects early and in small steps. That frees pages for the next objects, and holds the loop for ten milliseconds at a time.
 * The programs of the process are a seventh of the memory in the shipped container, and need no room.
 */
const halfFullShare = 0.6;
/** Only one collection in one pause gives the pages back at once; it held the loop for 370 ms, so it is for what would end the process. */
const fullShare = 0.85;
/** Where a collection gives nothing back, the next one waits until the process has grown by as much. */
const growthShare = 1 / 24;

export function stayBelowLimit(clock: Clock, heap: Heap | undefined, inside: Container | undefined): { stop(): void } {
  if (heap === undefined || inside === undefined) return { stop: () => undefined };
  const { limitBytes, residentBytes } = inside;
  let timer: Timer | undefined;
  let leastSince = 0;
  let isSlow = false;
  const look = (): void => {
    const bytes = residentBytes();
    leastSince = Math.min(leastSince, bytes);
    const hasGrown = bytes - leastSince > limitBytes * growthShare;
    if (bytes > limitBytes * fullShare && hasGrown && heap.keptBytes() <= shortHeapBytes) {
      heap.collect();
      leastSince = residentBytes();
    } else if (bytes > limitBytes * halfFullShare && hasGrown) {
      if (!isSlow) heap.growSlowly();
      isSlow = true;
      heap.collectInSteps();
      leastSince = bytes;
    }
    timer = clock.after(lookEveryMs, look);
  };
  timer = clock.after(lookEveryMs, look);
  return { stop: () => timer?.cancel() };
}

/** Undefined without a limit: the system answers 0 then, or more than the machine has. */
export function container(): Container | undefined {
  const limitBytes = constrainedMemory();
  return limitBytes > 0 && limitBytes < totalmem() ? { limitBytes, residentBytes: memoryUsage.rss } : undefined;
}
