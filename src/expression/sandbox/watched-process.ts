// The daemon's side of one sandbox process: starts the process, sends it the requests that its book hands out, and watches its
// silence and its memory. A process that hangs or swells is killed, and a process that dies is started again at once. The book
// decides which requests may have caused the death.
import type { Timer } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { childArguments } from './child-program.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { type LaunchedProcess, launchProcess, type ProcessStart, type WatchedProcessOptions } from './launch.ts';
import { outcomeOf, type RequestBook } from './requests.ts';
import { Watchdog, type Watched } from './watchdog.ts';

type State =
  | { kind: 'stopped' }
  /** The program is being linked; no process exists yet. */
  | { kind: 'preparing' }
  | { kind: 'starting'; child: LaunchedProcess }
  | { kind: 'running'; child: LaunchedProcess }
  | { kind: 'pausing'; timer: Timer };

export class WatchedProcess {
  readonly #options: WatchedProcessOptions;
  #setup: SandboxSetup;
  readonly #hardMs: number;
  #state: State = { kind: 'stopped' };
  #args: string[] = [];
  readonly #book: RequestBook;
  readonly #outbox = new FrameWriter();
  #setupId = 0;
  #freshMb = 0;
  /** Processes in a row that did not become ready, or died while idle. */
  #failedStarts = 0;
  /** Why this class killed the process; undefined when it did not. */
  #killedFor: 'hung' | 'retired' | 'swollen' | undefined;
  /** A request ran out of time or memory since the size of the process was last checked. */
  #mayBeSwollen = false;
  readonly #watchdog: Watchdog;
  #whenReady: { resolve: () => void; reject: (fault: Error) => void } | undefined;

  constructor(options: WatchedProcessOptions) {
    this.#options = options;
    this.#setup = options.setup;
    this.#book = options.book;
    this.#hardMs = options.hardMs ?? sandboxLimits.hardMs;
    this.#watchdog = new Watchdog({
      clock: options.clock,
      watched: () => this.#watched,
      kill: (child, why) => this.#kill(child, why),
    });
  }

  /** Process id for measurements; undefined while no process exists. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#state.kind !== 'stopped' && this.#state.kind !== 'preparing';
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
  }

  /** Undefined without a process, and where the system does not tell. */
  get residentMb(): number | undefined {
    return this.#child?.residentMb();
  }

  /** Resident megabytes when the process last became ready; zero before, and where the system does not tell. */
  get freshMb(): number {
    return this.#freshMb;
  }

  /** Replaces the process as soon as it is idle, if it has grown. */
  makeRoom(): void {
    if (this.#state.kind !== 'running') return;
    this.#mayBeSwollen = true;
    this.#sendWaiting();
  }

  /** Replaces the expressions in the same process. No request may be in flight. */
  async reload(setup: SandboxSetup): Promise<void> {
    this.#setup = setup;
    if (this.#state.kind === 'stopped') return this.start();
    await new Promise<void>((resolve, reject) => {
      this.#whenReady = { resolve, reject };
      if (!('child' in this.#state)) return;
      this.#state = { ...this.#state, kind: 'starting' };
      this.#sendSetup(this.#state.child);
    });
  }

  #sendSetup({ channel }: LaunchedProcess): void {
    this.#setupId++;
    this.#outbox.add({ id: this.#setupId, kind: 'setup', text: JSON.stringify(this.#setup) });
    this.#outbox.writeTo(channel);
    this.#watchdog.noteProgress();
    this.#watchdog.start();
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'stopped' };
    this.#watchdog.stop();
    this.#failAll('the sandbox was stopped');
    this.#whenReady?.reject(stoppedInStart());
    this.#whenReady = undefined;
    if (state.kind === 'pausing') state.timer.cancel();
    if (!('child' in state)) return;
    state.child.kill();
    await state.child.ended;
  }

  /** After requests were added to the book. */
  wake(): void {
    this.#sendWaiting();
  }

  #spawn(reason: ProcessStart): void {
    const { nodePath, launch = launchProcess, limits } = this.#options;
    if (limits.hasRoom?.() === false) {
      const timer = this.#options.clock.after(sandboxLimits.lookMs, () => this.#spawn(reason));
      this.#state = { kind: 'pausing', timer };
      return;
    }
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
    this.#sendSetup(child);
  }

  #receive(child: LaunchedProcess, frame: Frame): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    this.#watchdog.noteProgress();
    if (frame.kind === 'again') return;
    if (frame.kind === 'ready') {
      // A late answer to an earlier set-up does not count.
      if (frame.id !== this.#setupId) return;
      this.#state = { kind: 'running', child };
      this.#freshMb = child.residentMb() ?? 0;
      this.#whenReady?.resolve();
      this.#whenReady = undefined;
      this.#sendWaiting();
      return;
    }
    this.#failedStarts = 0;
    if (frame.kind !== 'answer' && frame.kind !== 'costly') this.#mayBeSwollen = true;
    this.#book.recordOutcome(frame.id, outcomeOf(frame));
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    if (this.#state.kind !== 'running' || this.#retireIfGrown(this.#state.child)) return;
    const wasIdle = this.#book.inFlight === 0;
    for (let next = this.#book.next(); next !== undefined; next = this.#book.next()) {
      if (this.#outbox.chars === 0) setImmediate(() => this.#flush());
      this.#outbox.add(next);
    }
    if (wasIdle && this.#book.inFlight > 0) {
      this.#watchdog.noteProgress();
      this.#watchdog.start();
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
    if (residentMb === undefined || residentMb <= this.#options.limits.retireMb()) return false;
    this.#kill(child, 'retired');
    return true;
  }

  /** Runs once a turn of the event loop, so that all requests of one turn go out in one write. */
  #flush(): void {
    if (this.#state.kind === 'running') this.#outbox.writeTo(this.#state.child.channel);
  }

  /** The process while it has work to do. */
  get #watched(): Watched | undefined {
    const state = this.#state;
    const { mostMb, hasRoom, onLook = () => {} } = this.#options.limits;
    if (!('child' in state) || (state.kind === 'running' && this.#book.inFlight === 0)) return undefined;
    return {
      child: state.child,
      isStarting: state.kind === 'starting',
      silenceMs: this.#book.allowedSilenceMs(this.#hardMs),
      // A process that waits for room also gives way during its start.
      mostMb: state.kind === 'starting' && hasRoom === undefined ? Number.POSITIVE_INFINITY : mostMb(),
      onLook,
    };
  }

  #kill(child: LaunchedProcess, why: 'hung' | 'swollen' | 'retired'): void {
    this.#killedFor = why;
    child.kill();
  }

  #handleEnd(child: LaunchedProcess, end: string): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    const wasStarting = this.#state.kind === 'starting';
    const killedFor = this.#killedFor;
    this.#killedFor = undefined;
    this.#mayBeSwollen = false;
    this.#outbox.clear();
    this.#watchdog.stop();
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
    this.#book.recordDeath({ cause, wasHung, isBlamedOnRequest: killedFor !== undefined || end !== 'SIGKILL' });
    const reason: ProcessStart = killedFor ?? 'died';
    // A death under load must not delay other requests; only a process that fails to start, or dies idle, is started after a pause.
    if ((!wasStarting && inFlight > 0) || (wasStarting && killedFor === 'swollen')) this.#spawn(reason);
    else this.#pauseBeforeStart(reason, { cause, lastWords });
  }

  #pauseBeforeStart(reason: ProcessStart, last: { cause: string; lastWords: string }): void {
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

function stoppedInStart(): Error {
  return new Error('start the sandbox: the sandbox was stopped before it was ready');
}

/** Failed starts in a row before the waiting requests fail. */
const startAttempts = 3;
