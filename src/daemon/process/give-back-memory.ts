// Gives memory back to the system once the process has become quiet. V8 collects garbage only when it needs space, so the
// garbage of a first list would stay while nothing happens. A large heap is kept small by more frequent collections instead.
// In: a clock, the load of the loop, a heap. Out: a stop function.
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Clock, Timer } from '../../clock.ts';

export interface Heap {
  bytes(): number;
  /** What stayed after the last collection of the whole heap. A collection takes its time for what stays, not for garbage. */
  keptBytes(): number;
  /** Frees all garbage in one pause. */
  collect(): void;
  /** Begins a collection that V8 carries out in small steps, while the process works on. Its pages stay for the next objects. */
  collectInSteps(): void;
  /** Lets V8 collect, in small steps, when a quarter has been added to what stayed; without this V8 waits until the heap doubles. */
  growSlowly(): void;
}

export interface MemoryKeeper {
  clock: Clock;
  /** How busy the event loop was since the last call, from 0 to 1. */
  busy: () => number;
  /** Undefined when V8 runs without --expose-gc; then memory is not given back. */
  heap: Heap | undefined;
}

const checkMs = 2_000;
/** At this load between two checks, the work leaves garbage that is worth a collection. */
const busyShare = 0.2;
/** Below this load a collection delays little work; it takes three to five milliseconds for each MiB that stays. */
const quietShare = 0.05;
/** So many quiet checks in a row: between two bursts, and while many answers wait for slow readers, the loop is quiet for a few seconds too. */
const quietChecks = 3;
/**
 * Collecting a larger heap would hold the loop for more than a tenth of a second. So beyond this size the heap grows slowly: 100,000
 * objects need 430 MiB instead of 560, for a quarter more processor time in the daemon. Small heaps do not pay this.
 */
export const shortHeapBytes = 128 * 1024 * 1024;

/** Of what stayed after the last collection. The garbage of a hundred thousand passes is as large as what stays. */
const growthPercent = 25;

export function giveBackMemory({ clock, busy, heap }: MemoryKeeper): { stop(): void } {
  let timer: Timer | undefined;
  let hasWorked = false;
  let quiet = 0;
  let isSlow = false;
  const check = (heap: Heap): void => {
    const { bytes, keptBytes, collect, growSlowly } = heap;
    const share = busy();
    if (!isSlow && bytes() > shortHeapBytes) {
      isSlow = true;
      growSlowly();
    }
    if (share >= busyShare) hasWorked = true;
    quiet = share < quietShare ? quiet + 1 : 0;
    if (hasWorked && quiet >= quietChecks) {
      hasWorked = false;
      if (keptBytes() <= shortHeapBytes) collect();
    }
    timer = clock.after(checkMs, () => check(heap));
  };
  if (heap !== undefined) timer = clock.after(checkMs, () => check(heap));
  return { stop: () => timer?.cancel() };
}

/** To be called at the start, because it watches the collections. Uses the "last resort" collection: an ordinary collection keeps its pages for the next burst. */
export function heapOf(gc: NodeJS.GCFunction | undefined): Heap | undefined {
  if (gc === undefined) return undefined;
  const bytes = (): number => getHeapStatistics().used_heap_size;
  let kept = 0;
  let isAsked = false;
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some(isOfWholeHeap)) return;
    kept = bytes();
    if (isAsked) setFlagsFromString(`${beginsAt}=0`);
    isAsked = false;
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    bytes,
    keptBytes: () => kept,
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    // V8 looks at the flag when it needs a page; the end of the collection takes the flag back.
    collectInSteps: () => {
      isAsked = true;
      setFlagsFromString(`${beginsAt}=1`);
    },
    growSlowly: () => setFlagsFromString(`--heap-growing-percent=${growthPercent}`),
  };
}

/** At how many hundredths of its bound the heap begins a collection in steps; 0 = as V8 sees fit. */
const beginsAt = '--incremental-marking-hard-trigger';

/** The types of Node do not know the detail of a collection. */
function isOfWholeHeap(entry: { readonly entryType: string; readonly detail?: { kind?: number } }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
