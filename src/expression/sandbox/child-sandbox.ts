// The daemon's side of the sandbox process: starts it, keeps a bounded number of requests in it, and watches the clock. A
// process that hangs is killed, one that dies is started again, and what it had in hand is run again, each request alone,
// until it is plain which of them it was. Nothing is lost and nothing is answered twice.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { realmLimits, sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { childArguments } from './child-program.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { RequestBook } from './request-book.ts';
import { residentMbOf } from './resident-memory.ts';
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
}

export type StartReason = 'first' | 'hung' | 'died' | 'retired';

type State =
  | { kind: 'stopped' }
  /** The program is being put together; there is no process yet. */
  | { kind: 'preparing' }
  | { kind: 'starting'; child: ChildProcess; channel: Duplex }
  | { kind: 'running'; child: ChildProcess; channel: Duplex }
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
  #deathsInARow = 0;
  /** Why we killed the process ourselves; undefined when we did not. */
  #killedFor: 'hung' | 'retired' | undefined;
  /** Something in it ran out of time or memory since its size was last looked at. */
  #mayBeSwollen = false;
  #lastWords = '';
  #watch: Timer | undefined;
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
      this.#sendSetup(this.#state.channel);
    });
  }

  #sendSetup(channel: Duplex): void {
    this.#setupId++;
    this.#outbox.add({ id: this.#setupId, kind: 'setup', text: JSON.stringify(this.#setup) });
    this.#outbox.writeTo(channel);
    this.#startWatch();
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'stopped' };
    this.#watch?.cancel();
    this.#watch = undefined;
    this.#failAll('the sandbox was stopped');
    this.#whenReady?.reject(stoppedInStart());
    this.#whenReady = undefined;
    if (state.kind === 'pausing') state.timer.cancel();
    if (!('child' in state)) return;
    const gone = new Promise<void>((resolve) => state.child.once('close', () => resolve()));
    state.child.kill('SIGKILL');
    if (state.child.exitCode === null && state.child.signalCode === null) await gone;
  }

  run(text: string, { alone = false } = {}): Promise<SandboxOutcome> {
    if (this.#state.kind === 'stopped' || this.#state.kind === 'preparing') {
      return Promise.resolve({ kind: 'unavailable', message: 'the sandbox is not running' });
    }
    if (this.#book.isFull) {
      const message = `${sandboxLimits.waiting} evaluations are waiting for the sandbox already`;
      return Promise.resolve({ kind: 'unavailable', message });
    }
    return new Promise((settle) => {
      this.#book.add(text, alone, settle);
      this.#pump();
    });
  }

  #spawn(reason: StartReason): void {
    const { nodePath, clock } = this.#options;
    this.#options.onStart?.(reason);
    const child = spawn(nodePath, this.#args, {
      env: childEnvironment,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    const channel = child.stdio[3] as Duplex;
    this.#state = { kind: 'starting', child, channel };
    this.#lastWords = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString()).slice(-keptWords);
    });
    const reader = new FrameReader();
    channel.on('data', (chunk: Buffer) => {
      try {
        for (const frame of reader.read(chunk)) this.#receive(child, frame);
      } catch {
        // Whatever speaks another language there is not our sandbox any more.
        child.kill('SIGKILL');
      }
    });
    // The end of the process says all there is to say.
    channel.on('error', () => {});
    child.on('error', (fault) => {
      this.#lastWords = fault.message;
      if (child.pid === undefined) this.#buried(child);
    });
    child.on('close', () => this.#buried(child));
    this.#progressAt = clock.now();
    this.#sendSetup(channel);
  }

  #receive(child: ChildProcess, frame: Frame): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    this.#progressAt = this.#options.clock.now();
    if (frame.kind === 'ready') {
      // Ready for the set-up before this one is not ready.
      if (frame.id !== this.#setupId) return;
      this.#state = { kind: 'running', child, channel: this.#state.channel };
      this.#whenReady?.resolve();
      this.#whenReady = undefined;
      this.#pump();
      return;
    }
    const request = this.#book.take(frame.id);
    if (request === undefined) return;
    this.#deathsInARow = 0;
    if (frame.kind !== 'answer') this.#mayBeSwollen = true;
    request.settle(outcomeOf(frame));
    this.#pump();
  }

  /** Sends what may be sent. */
  #pump(): void {
    if (this.#state.kind !== 'running' || this.#retires(this.#state.child)) return;
    const wasIdle = this.#book.inFlight === 0;
    for (let next = this.#book.next(); next !== undefined; next = this.#book.next()) {
      if (this.#outbox.chars === 0) setImmediate(() => this.#flush());
      this.#outbox.add({ id: next.id, kind: 'run', text: next.text });
    }
    if (wasIdle && this.#book.inFlight > 0) {
      this.#progressAt = this.#options.clock.now();
      this.#startWatch();
    }
  }

  /**
   * Memory that an expression made the process take is not always given back. Once the process is empty it is looked at, and
   * one that has grown is replaced.
   */
  #retires(child: ChildProcess): boolean {
    if (this.#killedFor !== undefined) return true;
    if (!this.#mayBeSwollen) return false;
    if (this.#book.inFlight > 0) return true;
    this.#mayBeSwollen = false;
    const residentMb = child.pid === undefined ? undefined : residentMbOf(child.pid);
    if (residentMb === undefined || residentMb <= sandboxLimits.retireMb) return false;
    this.#killedFor = 'retired';
    child.kill('SIGKILL');
    return true;
  }

  /** Once a turn of the event loop, so that what was asked in one turn goes out in one write. */
  #flush(): void {
    if (this.#state.kind === 'running') this.#outbox.writeTo(this.#state.channel);
  }

  #startWatch(): void {
    this.#watch ??= this.#options.clock.after(this.#hardMs, () => this.#look());
  }

  /** One timer for all requests: it asks how long ago the process last gave a sign of life. */
  #look(): void {
    this.#watch = undefined;
    const state = this.#state;
    if (!('child' in state) || (state.kind === 'running' && this.#book.inFlight === 0)) return;
    const limitMs = state.kind === 'starting' ? sandboxLimits.startMs : this.#hardMs;
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
        state.child.kill('SIGKILL');
      }),
    );
  }

  /** The process is gone, by our hand or not. */
  #buried(child: ChildProcess): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    const wasStarting = this.#state.kind === 'starting';
    const killedFor = this.#killedFor;
    this.#killedFor = undefined;
    this.#mayBeSwollen = false;
    this.#outbox.clear();
    this.#watch?.cancel();
    this.#watch = undefined;
    if (killedFor === 'retired' && this.#book.inFlight === 0) {
      this.#spawn('retired');
      return;
    }
    const { signalCode, exitCode } = child;
    const wasHung = killedFor === 'hung';
    this.#deathsInARow++;
    const cause = wasHung ? 'hung' : (signalCode ?? `exit code ${exitCode}`);
    const fields = {
      component: 'expression',
      cause,
      inFlight: this.#book.inFlight,
      lastWords: this.#lastWords.slice(-200),
    };
    this.#options.log.warn(fields, 'sandbox process died and is started again');
    this.#book.takeBack({ cause, wasHung, isSelfInflicted: wasHung || signalCode !== 'SIGKILL' });
    if (wasStarting && this.#deathsInARow > startAttempts) this.#giveUp(cause);
    const pauses = sandboxLimits.restartPausesMs;
    const pauseMs = pauses[Math.min(this.#deathsInARow, pauses.length) - 1] ?? 0;
    const timer = this.#options.clock.after(pauseMs, () => this.#spawn(wasHung ? 'hung' : 'died'));
    this.#state = { kind: 'pausing', timer };
  }

  /** Nobody is kept waiting for a process that does not come up; the next start is still tried. */
  #giveUp(cause: string): void {
    const fault = new Error(
      `start the sandbox: wanted a running process, got ${cause}: "${this.#lastWords.slice(-200)}"`,
    );
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

/** Otherwise the C library opens a file to count the processors, at a time that only the number of its threads decides. */
const childEnvironment = { MALLOC_ARENA_MAX: '1' };

/** Deaths in a row before those who wait are told. */
const startAttempts = 3;

/** Of what the process last wrote to standard error; V8 says there why it gave up. */
const keptWords = 2_000;

function outcomeOf(frame: Frame): SandboxOutcome {
  switch (frame.kind) {
    case 'answer':
      return { kind: 'answer', text: frame.text };
    case 'timeout':
    case 'memory':
      return { kind: frame.kind };
    case 'setup':
    case 'run':
    case 'ready':
    case 'broken':
      return { kind: 'crash', message: frame.text.slice(0, realmLimits.message) };
    default:
      return frame.kind satisfies never;
  }
}
