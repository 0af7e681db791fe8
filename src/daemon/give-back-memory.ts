// Gives memory back once the process has become quiet. V8 collects when it needs room, so what a first list left behind
// would stay for as long as nothing happens. In: a clock, how busy the loop was, a heap. Out: a way to end it.
import { getHeapStatistics } from 'node:v8';
import type { Clock, Timer } from '../clock.ts';

export interface Heap {
  bytes(): number;
  /** Everything that can be had, at once. */
  collect(): void;
}

export interface Memory {
  clock: Clock;
  /** Share of the time since the last call in which the loop had something to do. */
  busy: () => number;
  /** Undefined where V8 was not told to offer it: then nothing is done. */
  heap: Heap | undefined;
}

const lookMs = 2_000;
/** Of the time between two looks: so much work leaves garbage that is worth a collection. */
const busyShare = 0.2;
/** So little, and nobody notices what a collection takes: about a millisecond for each MiB that stays. */
const quietShare = 0.05;
/** A larger heap would hold the loop for longer than a tenth of a second, and is not small whatever is done. */
const heapLimitBytes = 128 * 1024 * 1024;

export function giveBackMemory({ clock, busy, heap }: Memory): { stop(): void } {
  let timer: Timer | undefined;
  let hasWorked = false;
  const look = ({ bytes, collect }: Heap): void => {
    const share = busy();
    if (share >= busyShare) hasWorked = true;
    else if (hasWorked && share < quietShare) {
      hasWorked = false;
      if (bytes() <= heapLimitBytes) collect();
    }
    timer = clock.after(lookMs, () => look({ bytes, collect }));
  };
  if (heap !== undefined) timer = clock.after(lookMs, () => look(heap));
  return { stop: () => timer?.cancel() };
}

/** Only the last resort gives pages back to the system; an ordinary collection keeps them for the next burst. */
export function heapOf(gc: NodeJS.GCFunction | undefined): Heap | undefined {
  if (gc === undefined) return undefined;
  return {
    bytes: () => getHeapStatistics().used_heap_size,
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}
