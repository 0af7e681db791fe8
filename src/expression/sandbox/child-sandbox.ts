// The sandbox of a configuration. Every request runs in the quick process. A request that does not finish there in a short slice,
// or that ends the process, moves to the slow process, and so do later requests of the same causes for a while. The slow process
// runs only while such requests exist, and its deaths never delay the quick one.
import type { Clock, Timer } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import type { ProcessStart, WatchedProcessOptions } from './launch.ts';
import { type Blame, QuickBook } from './quick-book.ts';
import type { SandboxRequest } from './requests.ts';
import type { RunOptions, Sandbox, SandboxOutcome } from './sandbox.ts';
import { SlowBook, type SlowStage } from './slow-book.ts';
import { Suspects } from './suspects.ts';
import { WatchedProcess } from './watched-process.ts';

export interface ChildSandboxOptions
  extends Pick<WatchedProcessOptions, 'setup' | 'clock' | 'log' | 'nodePath' | 'jit' | 'hardMs' | 'launch'> {
  onStart?: (reason: StartReason) => void;
}

/** suspect: the slow process was started for a suspected request. */
export type StartReason = ProcessStart | 'suspect';

const { freshMb, retireMb, quickMb, bothMb } = sandboxLimits;

export class ChildSandbox implements Sandbox {
  readonly #options: ChildSandboxOptions;
  #setup: SandboxSetup;
  readonly #clock: Clock;
  readonly #suspects: Suspects;
  readonly #quickBook: QuickBook;
  readonly #slowBook: SlowBook;
  readonly #quick: WatchedProcess;
  #slow: WatchedProcess | undefined;
  #slowUse: Timer | undefined;
  #slowUsedMs = 0;
  #slowEnd: Promise<void> = Promise.resolve();

  constructor(options: ChildSandboxOptions) {
    const { setup, clock, onStart = () => {} } = options;
    this.#options = options;
    this.#setup = setup;
    this.#clock = clock;
    this.#suspects = new Suspects(clock);
    this.#quickBook = new QuickBook((request, blame) => this.#blame(request, blame));
    this.#slowBook = new SlowBook(clock, {
      isProven: ({ causes }) => this.#suspects.hasProven(causes),
      onFailed: ({ causes }) => this.#suspects.prove(causes),
      onAnswered: ({ causes }) => this.#suspects.clear(causes),
    });
    this.#quick = new WatchedProcess({
      ...options,
      onStart,
      book: this.#quickBook,
      limits: {
        mostMb: () => quickMb + this.#extraMb,
        retireMb: () => this.#retireMb,
        onLook: (residentMb) => this.#makeRoomForQuick(residentMb),
      },
    });
  }

  /** Process id of the quick process for measurements; undefined while no process exists. */
  get pid(): number | undefined {
    return this.#quick.pid;
  }

  get pids(): readonly number[] {
    return [this.#quick.pid, this.#slow?.pid].filter((pid) => pid !== undefined);
  }

  /** Rejects when the process does not become ready, and when stop() comes first. */
  async start(): Promise<void> {
    await this.#quick.start();
    if (this.#quick.residentMb === undefined) this.#options.log.warn({ component: 'expression' }, unwatchedMemory);
  }

  /** Replaces the expressions, for a caller that tries one after the other. No request may be in flight. */
  async reload(setup: SandboxSetup): Promise<void> {
    this.#setup = setup;
    this.#suspects.forgetAll();
    this.#endSlow();
    await this.#quick.reload(setup);
  }

  async stop(): Promise<void> {
    this.#endSlow();
    await Promise.all([this.#quick.stop(), this.#slowEnd]);
  }

  run(text: string, { alone = false, causes = [] }: RunOptions = {}): Promise<SandboxOutcome> {
    if (!this.#quick.isRunning) return unavailable('the sandbox is not running');
    if (this.#isFull) return unavailable('too many evaluations are waiting for the sandbox');
    return new Promise((settle) => {
      const request = { text, causes, settle };
      if (alone || this.#suspects.has(causes)) {
        this.#runSlow(request, alone ? 'long' : 'slice');
        return;
      }
      this.#quickBook.add(request);
      this.#quick.wake();
    });
  }

  get #isFull(): boolean {
    const [quick, slow] = [this.#quickBook.waiting, this.#slowBook.waiting];
    const { waiting, waitingChars } = sandboxLimits;
    return quick.requests + slow.requests >= waiting || quick.chars + slow.chars >= waitingChars;
  }

  #blame(request: SandboxRequest, blame: Blame): void {
    const { causes } = request;
    if (blame === 'possible') this.#suspects.doubt(causes);
    else this.#suspects.prove(causes);
    if (blame !== 'costly') this.#runSlow(request, blame === 'certain' ? 'long' : 'slice');
    for (const one of this.#quickBook.takeWaiting((waiting) => this.#suspects.has(waiting.causes)))
      this.#runSlow(one, 'slice');
  }

  #runSlow(request: SandboxRequest, stage: SlowStage): void {
    this.#slowBook.add(request, stage);
    this.#slowUsedMs = this.#clock.now();
    this.#slow ??= this.#startSlow();
    this.#slow.wake();
  }

  #startSlow(): WatchedProcess {
    const { onStart = () => {} } = this.#options;
    const slow = new WatchedProcess({
      ...this.#options,
      setup: this.#setup,
      onStart: (reason) => onStart(reason === 'first' ? 'suspect' : reason),
      book: this.#slowBook,
      limits: {
        mostMb: () => bothMb + 2 * this.#extraMb - (this.#quick.residentMb ?? 0),
        retireMb: () => this.#retireMb,
        hasRoom: () => this.#hasRoomForSlow(),
      },
    });
    slow.start().catch((fault: Error) => {
      // A process that can be launched but does not become ready is launched again and again, and a later request may succeed.
      if (this.#slow !== slow || slow.isRunning) return;
      this.#endSlow();
      this.#slowBook.failAll(fault.message);
    });
    this.#watchUse();
    return slow;
  }

  /** What a fresh process needs beyond the usual, with a large configuration or on another kind of machine. */
  get #extraMb(): number {
    return Math.max(0, this.#quick.freshMb - freshMb);
  }

  get #retireMb(): number {
    return retireMb + this.#extraMb;
  }

  /** The quick process keeps its size after a large request, so it is replaced before the slow one starts. */
  #hasRoomForSlow(): boolean {
    const hasRoom = (this.#quick.residentMb ?? 0) <= this.#retireMb;
    if (!hasRoom) this.#quick.makeRoom();
    return hasRoom;
  }

  /** The watchdog of the slow process looks only while that process works. */
  #makeRoomForQuick(residentMb: number): void {
    const isIdle = this.#slowBook.inFlight + this.#slowBook.waiting.requests === 0;
    if (isIdle && residentMb > this.#retireMb) this.#endSlow();
  }

  #watchUse(): void {
    this.#slowUse = this.#clock.after(sandboxLimits.slowIdleMs, () => {
      const isIdle = this.#slowBook.inFlight + this.#slowBook.waiting.requests === 0;
      if (isIdle && this.#clock.now() - this.#slowUsedMs >= sandboxLimits.slowIdleMs) this.#endSlow();
      else this.#watchUse();
    });
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
