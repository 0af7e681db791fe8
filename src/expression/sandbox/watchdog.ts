// Looks at a working process from time to time and has it killed when it is silent for too long or holds too much memory.
import type { Clock, Timer } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { LaunchedProcess } from './launch.ts';

/** A process with work to do, and what it is allowed. */
export interface Watched {
  child: LaunchedProcess;
  isStarting: boolean;
  silenceMs: number;
  mostMb: number;
  onLook: (residentMb: number) => void;
}

export interface WatchdogOptions {
  clock: Clock;
  /** Undefined while no process has work to do. */
  watched: () => Watched | undefined;
  kill: (child: LaunchedProcess, why: 'hung' | 'swollen') => void;
}

export class Watchdog {
  readonly #options: WatchdogOptions;
  #timer: Timer | undefined;
  /** The last frame, or the moment when an idle process got a request. */
  #progressAt = 0;
  /** Processor time when the process was first seen silent since then. */
  #cpuWhenSilent: number | undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  noteProgress(): void {
    this.#progressAt = this.#options.clock.now();
    this.#cpuWhenSilent = undefined;
  }

  /** One timer serves all requests. */
  start(): void {
    this.#timer ??= this.#options.clock.after(sandboxLimits.lookMs, () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    const { watched: find, kill } = this.#options;
    const watched = find();
    if (watched === undefined) return;
    const { child, mostMb, onLook } = watched;
    // The memory limit of an isolate is no hard cap, so the whole process is measured.
    const residentMb = child.residentMb() ?? 0;
    onLook(residentMb);
    if (residentMb > mostMb) {
      kill(child, 'swollen');
      return;
    }
    if (!this.#isTooSilent(watched)) {
      this.start();
      return;
    }
    const progressBefore = this.#progressAt;
    // The daemon itself may have been blocked, so it reads the frames that have arrived before it kills the process.
    setImmediate(() =>
      setImmediate(() => {
        if (find()?.child !== child) return;
        if (this.#progressAt === progressBefore) kill(child, 'hung');
        else this.start();
      }),
    );
  }

  /**
   * Silence counts by the processor time of the process where the kernel tells it: on a busy machine a process that was not given a
   * processor must not be taken for one that hangs.
   */
  #isTooSilent({ child, isStarting, silenceMs }: Watched): boolean {
    const silentMs = this.#options.clock.now() - this.#progressAt;
    if (isStarting) return silentMs >= sandboxLimits.startMs;
    if (silentMs < sandboxLimits.lookMs) return false;
    const cpuMs = child.cpuMs();
    this.#cpuWhenSilent ??= cpuMs;
    if (silentMs < silenceMs) return false;
    if (cpuMs === undefined || this.#cpuWhenSilent === undefined)
      return silentMs >= silenceMs + sandboxLimits.unknownMs;
    if (silentMs >= silenceMs * sandboxLimits.mostStarved) return true;
    return cpuMs - this.#cpuWhenSilent >= silenceMs - 2 * sandboxLimits.lookMs;
  }
}
