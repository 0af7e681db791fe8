// The sandbox of a configuration: two processes of one kind at the two ends of one line. The quick one runs everything at first.
// The slow one runs what ran out there; it exists only while there is such work, and it gives way when memory is short.
import type { Clock, Timer } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { childArguments } from './child-program.ts';
import { Line } from './line.ts';
import type { RunOptions, Sandbox, SandboxOutcome } from './sandbox.ts';
import { type ProcessStart, stoppedInStart, Worker, type WorkerOptions } from './worker.ts';

export interface ChildSandboxOptions extends Pick<WorkerOptions, 'setup' | 'clock' | 'log' | 'nodePath' | 'launch'> {
  onStart?: (reason: StartReason) => void;
}

/** suspect: the slow process was started for a request that ran out. */
export type StartReason = ProcessStart | 'suspect';

const { idleGrowthMb, quickGrowthMb, bothGrowthMb, patienceMs } = sandboxLimits;

export class ChildSandbox implements Sandbox {
  readonly #options: ChildSandboxOptions;
  readonly #clock: Clock;
  readonly #line: Line;
  #setup: SandboxSetup;
  #args: readonly string[] = [];
  /** Undefined before start() has linked the program of the process, and after stop(). */
  #quick: Worker | undefined;
  #slow: Worker | undefined;
  #slowUse: Timer | undefined;
  #slowEnd: Promise<void> = Promise.resolve();
  #stops = 0;

  constructor(options: ChildSandboxOptions) {
    this.#options = options;
    this.#setup = options.setup;
    this.#clock = options.clock;
    this.#line = new Line(options.clock, () => this.#wakeSlow());
  }

  /** Process id of the quick process for measurements; undefined while no process exists. */
  get pid(): number | undefined {
    return this.#quick?.pid;
  }

  get pids(): readonly number[] {
    return [this.#quick?.pid, this.#slow?.pid].filter((pid) => pid !== undefined);
  }

  /** Rejects when the process does not become ready, and when stop() comes first. */
  async start(): Promise<void> {
    const stopsBefore = this.#stops;
    this.#args = await childArguments(this.#options);
    if (this.#stops !== stopsBefore) throw stoppedInStart();
    const given = { ...this.#options, setup: this.#setup, args: this.#args };
    const isTooLarge = () => this.#isQuickTooLarge();
    const quick = new Worker({ ...given, end: this.#line.front, mostBatches: 2, isTooLarge });
    this.#quick = quick;
    await quick.start();
    if (quick.residentMb === undefined) this.#options.log.warn({ component: 'expression' }, unwatchedMemory);
  }

  /** Replaces the expressions, for a caller that tries one after the other. No request may be in flight. */
  async reload(setup: SandboxSetup): Promise<void> {
    this.#setup = setup;
    this.#endSlow();
    await (this.#quick?.reload(setup) ?? this.start());
  }

  async stop(): Promise<void> {
    this.#stops++;
    const quick = this.#quick;
    this.#quick = undefined;
    this.#endSlow();
    await Promise.all([quick?.stop(), this.#slowEnd]);
  }

  run(text: string, { causes = [], isOfKnown = false, ...where }: RunOptions = {}): Promise<SandboxOutcome> {
    const quick = this.#quick;
    if (quick === undefined) return unavailable('the sandbox is not running');
    if (this.#line.isFull) return unavailable('too many evaluations are waiting for the sandbox');
    return new Promise((settle) => {
      this.#line.add({ text, causes, isOfKnown, settle }, where);
      quick.wake();
    });
  }

  #wakeSlow(): void {
    this.#slow ??= this.#startSlow();
    this.#slow.wake();
    this.#slowUse?.cancel();
    this.#slowUse = this.#clock.after(patienceMs, () => this.#endIfIdle());
  }

  #startSlow(): Worker {
    const { onStart = () => {} } = this.#options;
    const slow = new Worker({
      ...this.#options,
      setup: this.#setup,
      args: this.#args,
      end: this.#line.back,
      mostBatches: 1,
      isTooLarge: () => this.#grownMb > bothGrowthMb,
      hasRoom: () => this.#hasRoomForSlow(),
      onStart: (reason) => onStart(reason === 'first' ? 'suspect' : reason),
    });
    // A process that does not become ready is launched again and again, and a later request may succeed.
    slow.start().catch(() => {});
    return slow;
  }

  /** Megabytes of all processes beyond those of fresh ones, which are larger with a large configuration or on another machine. */
  get #grownMb(): number {
    const sizes = [this.#quick?.residentMb ?? 0, this.#slow?.residentMb ?? 0].filter((mb) => mb > 0);
    return sizes.reduce((sum, mb) => sum + mb - this.#freshMb, 0);
  }

  get #freshMb(): number {
    return this.#quick?.freshMb ?? 0;
  }

  get #quickGrownMb(): number {
    return (this.#quick?.residentMb ?? 0) - this.#freshMb;
  }

  /** The slow process is watched only while it works, so an idle one makes room here. */
  #isQuickTooLarge(): boolean {
    if (this.#freshMb === 0) return false;
    if (this.#quickGrownMb > idleGrowthMb && this.#line.isBackEmpty) this.#endSlow();
    return this.#quickGrownMb > quickGrowthMb;
  }

  /** The quick process keeps its size after a large request, so it is replaced before the slow one starts. */
  #hasRoomForSlow(): boolean {
    const hasRoom = this.#quickGrownMb <= idleGrowthMb;
    if (!hasRoom) this.#quick?.makeRoom();
    return hasRoom;
  }

  #endIfIdle(): void {
    if (this.#line.isBackEmpty) this.#endSlow();
    else this.#slowUse = this.#clock.after(patienceMs, () => this.#endIfIdle());
  }

  #endSlow(): void {
    this.#slowUse?.cancel();
    if (this.#slow !== undefined) this.#slowEnd = this.#slow.stop();
    this.#slow = undefined;
  }
}

const unwatchedMemory =
  'the memory of the sandbox process is not watched, because this system has no /proc; only the limits of V8 hold';

function unavailable(message: string): Promise<SandboxOutcome> {
  return Promise.resolve({ kind: 'unavailable', message });
}
