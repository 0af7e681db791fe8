// The daemon's side of the sandbox process: starts it, keeps a bounded number of requests in it, and watches its silence and its
// memory. A process that hangs or swells is killed, one that dies is started again at once, and the request book decides
// which of the requests in it may have been the cause.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { realmLimits, sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { childArguments } from './child-program.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { type Launch, type Launched, launchProcess } from './launch.ts';
import { RequestBook } from './request-book.ts';
import type { Sandbox, SandboxOutcome } from './sandbox.ts';

export interface ChildSandboxOptions {
  setup: SandboxSetup;
  clock: Clock;
  log: Log;
  /** The Node to run; this process's own. */
  nodePath: string;
  jit?: boolean;
  hardMs?: number;
  /** Told about every start, for metrics. */
  onStart?: (reason: StartReason) => void;
  /** Starts the process; tests have one of their own. */
  launch?: Launch;
}

/** What came before a start. swollen: the process held more memory than it may. */
export type StartReason = 'first' | 'hung' | 'died' | 'retired' | 'swollen';

type State =
  | { kind: 'stopped' }
  /** The program is being put together; there is no process yet. */
  | { kind: 'preparing' }
  | { kind: 'starting'; child: Launched }
  | { kind: 'running'; child: Launched }
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
  /** Processes in a row that did not come up, or died with nothing in hand. */
  #failedStarts = 0;
  /** Why we killed the process ourselves; undefined when we did not. */
  #killedFor: 'hung' | 'retired' | 'swollen' | undefined;
  /** Something in it ran out of time or memory since its size was last looked at. */
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

  /** The process, while there is one; for those who measure it. */
  get pid(): number | undefined {
    return 'child' in this.#state ? this.#state.child.pid : undefined;
  }

  /** Rejects when the process does not come up, and when it is stopped before. */
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

  /** Other expressions in the same process, for those who try one after the other; nothing else may be under way. */
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

  #sendSetup({ channel }: Launched): void {
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

  run(text: string, { alone = false } = {}): Promise<SandboxOutcome> {
    if (this.#state.kind === 'stopped' || this.#state.kind === 'preparing') {
      return Promise.resolve({ kind: 'unavailable', message: 'the sandbox is not running' });
    }
    if (this.#book.isFull) {
      return Promise.resolve({ kind: 'unavailable', message: 'too many evaluations are waiting for the sandbox' });
    }
    return new Promise((settle) => {
      this.#book.add(text, alone, settle);
      this.#pump();
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
        // A process that does not keep to the language is not our sandbox any more.
        child.kill();
      }
    });
    void child.ended.then((end) => this.#buried(child, end));
    this.#progressAt = clock.now();
    this.#sendSetup(child);
  }

  #receive(child: Launched, frame: Frame): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    this.#progressAt = this.#options.clock.now();
    if (frame.kind === 'ready') {
      // Ready for the set-up before this one is not ready.
      if (frame.id !== this.#setupId) return;
      this.#state = { kind: 'running', child };
      this.#whenReady?.resolve();
      this.#whenReady = undefined;
      this.#pump();
      return;
    }
    this.#failedStarts = 0;
    if (frame.kind !== 'answer') this.#mayBeSwollen = true;
    this.#book.told(frame.id, outcomeOf(frame));
    this.#pump();
  }

  /** Sends what may be sent. */
  #pump(): void {
    if (this.#state.kind !== 'running' || this.#retires(this.#state.child)) return;
    const wasIdle = this.#book.inFlight === 0;
    for (let next = this.#book.next(); next !== undefined; next = this.#book.next()) {
      if (this.#outbox.chars === 0) setImmediate(() => this.#flush());
      this.#outbox.add({ id: next.id, kind: next.isLong ? 'long' : 'run', text: next.text });
    }
    if (wasIdle && this.#book.inFlight > 0) {
      this.#progressAt = this.#options.clock.now();
      // The patience with a request that runs alone is another than with those before it.
      if (this.#book.isAlone) this.#stopWatching();
      this.#startWatch();
      this.#watchMemory();
    }
  }

  /**
   * Memory that an expression made the process take is not always given back. Once the process is empty it is looked at, and
   * one that has grown is replaced.
   */
  #retires(child: Launched): boolean {
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

  /** Once a turn of the event loop, so that what was asked in one turn goes out in one write. */
  #flush(): void {
    if (this.#state.kind === 'running') this.#outbox.writeTo(this.#state.child.channel);
  }

  #startWatch(): void {
    this.#watch ??= this.#options.clock.after(Math.min(this.#patienceMs, sandboxLimits.hangMs), () => this.#look());
  }

  get #patienceMs(): number {
    return this.#state.kind === 'starting' ? sandboxLimits.startMs : this.#book.silenceMs(this.#hardMs);
  }

  /** The limit of an isolate is a trigger and no cap: while something runs, the process as a whole is looked at. */
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

  /** One timer for all requests: it asks how long ago the process last gave a sign of life. */
  #look(): void {
    this.#watch = undefined;
    const state = this.#state;
    if (!('child' in state) || (state.kind === 'running' && this.#book.inFlight === 0)) return;
    const limitMs = this.#patienceMs;
    const silentMs = this.#options.clock.now() - this.#progressAt;
    if (silentMs < limitMs) {
      this.#watch = this.#options.clock.after(limitMs - silentMs, () => this.#look());
      return;
    }
    const seen = this.#progressAt;
    // This process may be the one that stood still: let it read what has arrived before it judges.
    setImmediate(() =>
      setImmediate(() => {
        if (this.#state !== state) return;
        if (this.#progressAt !== seen) return this.#startWatch();
        this.#killedFor = 'hung';
        state.child.kill();
      }),
    );
  }

  /** The process is gone, by our hand or not. */
  #buried(child: Launched, end: string): void {
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
    this.#book.takeBack({ cause, wasHung, isSelfInflicted: killedFor !== undefined || end !== 'SIGKILL' });
    const reason: StartReason = killedFor ?? 'died';
    // What a request did to the process delays nobody else: only a process that does not come up has to wait.
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

  /** Nobody is kept waiting for a process that does not come up; the next start is still tried. */
  #giveUp({ cause, lastWords }: { cause: string; lastWords: string }): void {
    const fault = new Error(`start the sandbox: wanted a running process, got ${cause}: "${lastWords}"`);
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
  return new Error('start the sandbox: wanted a running process, was stopped before it was up');
}

/** Deaths in a row before those who wait are told. */
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
