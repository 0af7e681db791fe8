// Looks at one process while it works, and has it killed when it is silent for too long or holds too much memory.
import type { Clock, Timer } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { LaunchedProcess } from './launch.ts';

export interface WatchdogOptions {
  clock: Clock;
  child: LaunchedProcess;
  /** Undefined while the process has nothing to do. */
  work: () => 'start' | { ms: number } | undefined;
  isTooLarge: () => boolean;
  kill: (why: 'hung' | 'swollen') => void;
}

const { lookMs, startMs, mostStarved, hangMs } = sandboxLimits;

export class Watchdog {
  readonly #options: WatchdogOptions;
  #timer: Timer | undefined;
  /** The last frame, or the moment when the idle process got work. */
  #progressMs = 0;
  /** Processor time when the process was first seen silent since then. */
  #cpuWhenSilentMs: number | undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  noteProgress(): void {
    this.#progressMs = this.#options.clock.now();
    this.#cpuWhenSilentMs = undefined;
  }

  /** When the idle process gets work. */
  start(): void {
    this.noteProgress();
    this.#lookLater();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #lookLater(): void {
    this.#timer ??= this.#options.clock.after(lookMs, () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  #look(): void {
    const { work, isTooLarge, kill } = this.#options;
    if (work() === undefined) return;
    // The memory limit of an isolate is no hard cap, so the whole process is measured.
    if (isTooLarge()) kill('swollen');
    else if (!this.#isTooSilent()) this.#lookLater();
    else {
      const progressBefore = this.#progressMs;
      // The daemon itself may have been blocked, so it reads the frames that have arrived before it kills the process.
      setImmediate(() => setImmediate(() => (this.#progressMs === progressBefore ? kill('hung') : this.#lookLater())));
    }
  }

  /**
   * Silence counts by the processor time of the process where the kernel tells it: on a busy machine a process that was not given a
   * processor must not be taken for one that hangs.
   */
  #isTooSilent(): boolean {
    const { clock, child, work } = this.#options;
    const silentMs = clock.now() - this.#progressMs;
    const present = work();
    if (typeof present !== 'object') return silentMs >= startMs;
    if (silentMs < lookMs) return false;
    const cpuMs = child.cpuMs();
    this.#cpuWhenSilentMs ??= cpuMs;
    const allowedMs = present.ms + Math.max(present.ms / 2, hangMs);
    if (silentMs >= allowedMs * mostStarved) return true;
    if (cpuMs === undefined || this.#cpuWhenSilentMs === undefined) return false;
    return silentMs >= allowedMs && cpuMs - this.#cpuWhenSilentMs >= allowedMs - 2 * lookMs;
  }
}
