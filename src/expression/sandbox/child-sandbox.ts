// The daemon's side of the sandbox process: starts the process, keeps a bounded number of requests in it, and watches its silence
// and its memory. A process that hangs or swells is killed, and a process that dies is started again at once. The request book
// decides which requests may have caused the death.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { realmLimits, sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { childArguments } from './child-program.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { type Launch, type LaunchedProcess, launchProcess } from './launch.ts';
import { RequestBook } from './request-book.ts';
import type { RunOptions, Sandbox, SandboxOutcome } from './sandbox.ts';

export interface ChildSandboxOptions {
  setup: SandboxSetup;
  clock: Clock;
  log: Log;
  /** Path of the Node program that runs the sandbox. */
  nodePath: string;
  jit?: boolean;
  hardMs?: number;
  onStart?: (reason: StartReason) => void;
  /** Starts the process; tests pass a fake. */
  launch?: Launch;
}

/** Why the process was started. swollen: the process before it held too much memory while it ran a request. */
export type StartReason = 'first' | 'hung' | 'died' | 'retired' | 'swollen';

type State =
  | { kind: 'stopped' }
  /** The program is being linked; no process exists yet. */
  | { kind: 'preparing' }
  | { kind: 'starting'; child: LaunchedProcess }
  | { kind: 'running'; child: LaunchedProcess }
  | { kind: 'pausing'; timer: Timer };

export class ChildSandbox implements Sandbox {
  readonly #options: ChildSandboxOptions;
  #setup: SandboxSetup;
  readonly #hardMs: number;
  #state: State = { kind: 'stopped' };
  #args: string[] = [];
  readonly #book = new RequestBook();
  readonly #outbox = new FrameWriter();
  #setupId = 0;
  /** Processes in a row that did not become ready, or died while idle. */
  #failedStarts = 0;
  /** Why this class killed the process; undefined when it did not. */
  #killedFor: 'hung' | 'retired' | 'swollen' | undefined;
  /** A request ran out of time or memory since the size of the process was last checked. */
  #mayBeSwollen = false;
  #watch: Timer | undefined;
  #memoryWatch: Timer | undefined;
  #progressAt = 0;
  #whenReady: { resolve: () => void; reject: (fault: Error) => void } | undefined;

  constructor(options: ChildSandboxOptions) {
    this.#options = options;
    this.#setup = options.setup;
    this.#hardMs = options.hardMs ?? sandboxLimits.hardMs;
  }

  /** Process id for measurements; undefined while no process exists. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get #child(): LaunchedProcess | undefined {
    return 'child' in this.#state ? this.#state.child : undefined;
  }

  /** Rejects when the process does not become ready, and when stop() comes first. */
  async start(): Promise<void> {
    if (this.#state.kind !== 'stopped') return;
    const { jit = false, nodePath } = this.#options;
    const preparing: State = { kind: 'preparing' };
    this.#state = preparing;
    try {
      this.#args = await childArguments({ jit, nodePath });
    } catch (thrown) {
      if (this.#state === preparing) this.#state = { kind: 'stopped' };
      throw thrown;
    }
    if (this.#state !== preparing) throw stoppedInStart();
    await new Promise<void>((resolve, reject) => {
      this.#whenReady = { resolve, reject };
      this.#spawn('first');
    });
    if (this.#child?.residentMb() === undefined) this.#options.log.warn({ component: 'expression' }, unwatchedMemory);
  }

  /** Replaces the expressions in the same process, for a caller that tries one after the other. No request may be in flight. */
  async reload(setup: SandboxSetup): Promise<void> {
    this.#setup = setup;
    if (this.#state.kind === 'stopped') return this.start();
    await new Promise<void>((resolve, reject) => {
      this.#whenReady = { resolve, reject };
      if (!('child' in this.#state)) return;
      this.#state = { ...this.#state, kind: 'starting' };
      this.#progressAt = this.#options.clock.now();
      this.#sendSetup(this.#state.child);
    });
  }

  #sendSetup({ channel }: LaunchedProcess): void {
    this.#setupId++;
    this.#outbox.add({ id: this.#setupId, kind: 'setup', text: JSON.stringify(this.#setup) });
    this.#outbox.writeTo(channel);
    this.#startWatch();
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'stopped' };
    this.#stopWatching();
    this.#failAll('the sandbox was stopped');
    this.#whenReady?.reject(stoppedInStart());
    this.#whenReady = undefined;
    if (state.kind === 'pausing') state.timer.cancel();
    if (!('child' in state)) return;
    state.child.kill();
    await state.child.ended;
  }

  run(text: string, options: RunOptions = {}): Promise<SandboxOutcome> {
    if (this.#state.kind === 'stopped' || this.#state.kind === 'preparing') {
      return Promise.resolve({ kind: 'unavailable', message: 'the sandbox is not running' });
    }
    if (this.#book.isFull) {
      return Promise.resolve({ kind: 'unavailable', message: 'too many evaluations are waiting for the sandbox' });
    }
    return new Promise((settle) => {
      this.#book.add(text, options, settle);
      this.#sendWaiting();
    });
  }

  #spawn(reason: StartReason): void {
    const { nodePath, clock, launch = launchProcess } = this.#options;
    this.#options.onStart?.(reason);
    const child = launch(nodePath, this.#args);
    this.#state = { kind: 'starting', child };
    const reader = new FrameReader();
    child.channel.on('data', (chunk: Buffer) => {
      try {
        for (const frame of reader.read(chunk)) this.#receive(child, frame);
      } catch {
        // A process that breaks the protocol may have been taken over by an expression.
        child.kill();
      }
    });
    void child.ended.then((end) => this.#handleEnd(child, end));
    this.#progressAt = clock.now();
    this.#sendSetup(child);
  }

  #receive(child: LaunchedProcess, frame: Frame): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    this.#progressAt = this.#options.clock.now();
    if (frame.kind === 'ready') {
      // A late answer to an earlier set-up does not count.
      if (frame.id !== this.#setupId) return;
      this.#state = { kind: 'running', child };
      this.#whenReady?.resolve();
      this.#whenReady = undefined;
      this.#sendWaiting();
      return;
    }
    this.#failedStarts = 0;
    if (frame.kind !== 'answer') this.#mayBeSwollen = true;
    this.#book.recordOutcome(frame.id, outcomeOf(frame));
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    if (this.#state.kind !== 'running' || this.#retireIfGrown(this.#state.child)) return;
    const wasIdle = this.#book.inFlight === 0;
    for (let next = this.#book.next(); next !== undefined; next = this.#book.next()) {
      if (this.#outbox.chars === 0) setImmediate(() => this.#flush());
      this.#outbox.add({ id: next.id, kind: next.isLong ? 'long' : 'run', text: next.text });
    }
    if (wasIdle && this.#book.inFlight > 0) {
      this.#progressAt = this.#options.clock.now();
      // The silence allowed to a request that runs alone differs from the silence of the requests before it.
      if (this.#book.isRunningAlone) this.#stopWatching();
      this.#startWatch();
      this.#watchMemory();
    }
  }

  /**
   * A process does not always return the memory that an expression made it take. So the size of the process is checked once no
   * request is in flight, and a process that has grown is replaced.
   */
  #retireIfGrown(child: LaunchedProcess): boolean {
    if (this.#killedFor !== undefined) return true;
    if (!this.#mayBeSwollen) return false;
    if (this.#book.inFlight > 0) return true;
    this.#mayBeSwollen = false;
    const residentMb = child.residentMb();
    if (residentMb === undefined || residentMb <= sandboxLimits.retireMb) return false;
    this.#killedFor = 'retired';
    child.kill();
    return true;
  }

  /** Runs once a turn of the event loop, so that all requests of one turn go out in one write. */
  #flush(): void {
    if (this.#state.kind === 'running') this.#outbox.writeTo(this.#state.child.channel);
  }

  #startWatch(): void {
    this.#watch ??= this.#options.clock.after(Math.min(this.#allowedSilenceMs, sandboxLimits.hangMs), () =>
      this.#checkSilence(),
    );
  }

  get #allowedSilenceMs(): number {
    return this.#state.kind === 'starting' ? sandboxLimits.startMs : this.#book.allowedSilenceMs(this.#hardMs);
  }

  /** The memory limit of an isolate is no hard cap, so the whole process is checked while a request runs. */
  #watchMemory(): void {
    this.#memoryWatch ??= this.#options.clock.after(sandboxLimits.memoryLookMs, () => {
      this.#memoryWatch = undefined;
      if (this.#state.kind !== 'running' || this.#book.inFlight === 0) return;
      const { child } = this.#state;
      if ((child.residentMb() ?? 0) <= sandboxLimits.processMb) return this.#watchMemory();
      this.#killedFor = 'swollen';
      child.kill();
    });
  }

  #stopWatching(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
    this.#memoryWatch?.cancel();
    this.#memoryWatch = undefined;
  }

  /** One timer serves all requests: it compares the time since the last frame with the allowed silence. */
  #checkSilence(): void {
    this.#watch = undefined;
    const state = this.#state;
    if (!('child' in state) || (state.kind === 'running' && this.#book.inFlight === 0)) return;
    const limitMs = this.#allowedSilenceMs;
    const silentMs = this.#options.clock.now() - this.#progressAt;
    if (silentMs < limitMs) {
      this.#watch = this.#options.clock.after(limitMs - silentMs, () => this.#checkSilence());
      return;
    }
    const progressBefore = this.#progressAt;
    // The daemon itself may have been blocked, so it reads the frames that have arrived before it kills the process.
    setImmediate(() =>
      setImmediate(() => {
        if (this.#state !== state) return;
        if (this.#progressAt !== progressBefore) return this.#startWatch();
        this.#killedFor = 'hung';
        state.child.kill();
      }),
    );
  }

  #handleEnd(child: LaunchedProcess, end: string): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    const wasStarting = this.#state.kind === 'starting';
    const killedFor = this.#killedFor;
    this.#killedFor = undefined;
    this.#mayBeSwollen = false;
    this.#outbox.clear();
    this.#stopWatching();
    const { inFlight } = this.#book;
    if (killedFor === 'retired' && inFlight === 0) {
      this.#spawn('retired');
      return;
    }
    const wasHung = killedFor === 'hung';
    const cause = killedFor ?? end;
    const lastWords = child.lastWords.slice(-200);
    this.#options.log.warn(
      { component: 'expression', cause, inFlight, lastWords },
      'sandbox process died and is started again',
    );
    this.#book.requeueAfterDeath({ cause, wasHung, isBlamedOnRequest: killedFor !== undefined || end !== 'SIGKILL' });
    const reason: StartReason = killedFor ?? 'died';
    // A death under load must not delay other requests; only a process that fails to start, or dies idle, is started after a pause.
    if (!wasStarting && inFlight > 0) this.#spawn(reason);
    else this.#pauseBeforeStart(reason, { cause, lastWords });
  }

  #pauseBeforeStart(reason: StartReason, last: { cause: string; lastWords: string }): void {
    this.#failedStarts++;
    if (this.#failedStarts > startAttempts) this.#giveUp(last);
    const pauses = sandboxLimits.restartPausesMs;
    const pauseMs = pauses[Math.min(this.#failedStarts, pauses.length) - 1] ?? 0;
    const timer = this.#options.clock.after(pauseMs, () => this.#spawn(reason));
    this.#state = { kind: 'pausing', timer };
  }

  /** Fails all waiting requests instead of keeping them for a process that does not start. The next start is still tried. */
  #giveUp({ cause, lastWords }: { cause: string; lastWords: string }): void {
    const fault = new Error(`start the sandbox: wanted a running process, found ${cause}: "${lastWords}"`);
    this.#whenReady?.reject(fault);
    this.#whenReady = undefined;
    this.#failAll(`the sandbox cannot be started: ${cause}`);
  }

  #failAll(message: string): void {
    this.#outbox.clear();
    this.#book.failAll(message);
  }
}

const unwatchedMemory =
  'the memory of the sandbox process is not watched, because this system has no /proc; only the limits of V8 hold';

function stoppedInStart(): Error {
  return new Error('start the sandbox: the sandbox was stopped before it was ready');
}

/** Failed starts in a row before the waiting requests fail. */
const startAttempts = 3;

function outcomeOf(frame: Frame): SandboxOutcome {
  switch (frame.kind) {
    case 'answer':
      return { kind: 'answer', text: frame.text };
    case 'timeout':
    case 'memory':
      return { kind: frame.kind };
    case 'setup':
    case 'run':
    case 'long':
    case 'ready':
    case 'broken':
      return { kind: 'crash', message: frame.text.slice(0, realmLimits.message) };
    default:
      return frame.kind satisfies never;
  }
}
