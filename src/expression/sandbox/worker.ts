// One sandbox process as the daemon sees it: starts it, sends it batches from its end of the line, and watches its silence and its
// memory. A process that hangs or swells is killed, and a process that dies is started again at once.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { backOffMs } from '../../pace/back-off.ts';
import { realmLimits, sandboxLimits } from '../limits.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { type Frame, FrameReader, writeFrame } from './frames.ts';
import { type Launch, type LaunchedProcess, launchProcess } from './launch.ts';
import type { Batch, LineEnd, SandboxTurn } from './line.ts';
import type { RanOut } from './sandbox.ts';
import { Watchdog } from './watchdog.ts';

export interface WorkerOptions {
  setup: SandboxSetup;
  end: LineEnd;
  /** Batches on their way at a time: the process works on one while the daemon reads the answers to the other. */
  mostBatches: number;
  clock: Clock;
  log: Log;
  /** Path of the Node program that runs the sandbox, and its arguments. */
  nodePath: string;
  args: readonly string[];
  /** Whether the process holds more memory than it may; asked while it works. */
  isTooLarge: () => boolean;
  /** Whether there is room for a new process; without room the start waits. */
  hasRoom?: () => boolean;
  onStart?: (reason: ProcessStart) => void;
  /** Starts the process; tests pass a fake. */
  launch?: Launch;
}

/** Why the process was started. swollen: the process before it held too much memory while it ran a request. */
export type ProcessStart = 'first' | 'hung' | 'died' | 'retired' | 'swollen';

type State =
  | { kind: 'stopped' }
  | { kind: 'starting' | 'running'; child: LaunchedProcess; watchdog: Watchdog }
  | { kind: 'pausing'; timer: Timer };

/** Failed starts in a row before the waiting requests fail. The next start is still tried. */
const startAttempts = 3;

const { lookMs, glanceMs, sliceMs, charsPerMs, idleGrowthMb, restart } = sandboxLimits;

export class Worker {
  readonly #options: WorkerOptions;
  #setup: SandboxSetup;
  #setupNumber = 0;
  #state: State = { kind: 'stopped' };
  /** In the order in which the process runs them, each with the number of its answers so far. */
  #inFlight: { batch: Batch; ms: number; answered: number }[] = [];
  #isWoken = false;
  #freshMb = 0;
  #failedStarts = 0;
  #killedFor: 'hung' | 'retired' | 'swollen' | undefined;
  /** A request ran out, or somebody needs room, since the size of the process was last checked. */
  #mayBeGrown = false;
  #whenReady: { resolve: () => void; reject: (fault: Error) => void } | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#setup = options.setup;
  }

  /** Process id for measurements; undefined while no process exists. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Zero without a process; undefined where the system does not tell. */
  get residentMb(): number | undefined {
    return this.#child === undefined ? 0 : this.#child.residentMb();
  }

  /** Resident megabytes when the process last became ready; zero before, and where the system does not tell. */
  get freshMb(): number {
    return this.#freshMb;
  }

  get #child(): LaunchedProcess | undefined {
    return 'child' in this.#state ? this.#state.child : undefined;
  }

  /** Rejects when the process does not become ready, and when stop() comes first. */
  start(): Promise<void> {
    return this.#untilReady(() => this.#spawn('first'));
  }

  /** Replaces the expressions in the same process. No request may be in flight. */
  reload(setup: SandboxSetup): Promise<void> {
    this.#setup = setup;
    return this.#untilReady(() => {
      if (!('child' in this.#state)) return;
      this.#state = { ...this.#state, kind: 'starting' };
      this.#sendSetup();
    });
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'stopped' };
    this.#failAll('the sandbox was stopped');
    this.#notReady(stoppedInStart());
    if (state.kind === 'pausing') state.timer.cancel();
    if (!('child' in state)) return;
    state.watchdog.stop();
    state.child.kill();
    await state.child.ended;
  }

  /** After requests came to its end of the line. Once a turn of the event loop, so that all of a turn go out in one write. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    setImmediate(() => {
      this.#isWoken = false;
      this.#sendBatches();
    });
  }

  /** Replaces the process as soon as it is idle, if it has grown. */
  makeRoom(): void {
    this.#mayBeGrown = true;
    this.#sendBatches();
  }

  #untilReady(act: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#whenReady = { resolve, reject };
      act();
    });
  }

  #notReady(fault: Error): void {
    this.#whenReady?.reject(fault);
    this.#whenReady = undefined;
  }

  #spawn(reason: ProcessStart): void {
    const { nodePath, args, launch = launchProcess, hasRoom = () => true, isTooLarge, onStart } = this.#options;
    if (!hasRoom()) {
      this.#state = { kind: 'pausing', timer: this.#options.clock.after(lookMs, () => this.#spawn(reason)) };
      return;
    }
    onStart?.(reason);
    const child = launch(nodePath, args);
    const kill = (why: 'hung' | 'swollen') => this.#kill(child, why);
    const work = () => (this.#state.kind === 'starting' ? 'start' : this.#inFlight[0]);
    const watchdog = new Watchdog({ clock: this.#options.clock, child, work, isTooLarge, kill });
    this.#state = { kind: 'starting', child, watchdog };
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
    this.#sendSetup();
  }

  #sendSetup(): void {
    if (!('child' in this.#state)) return;
    this.#setupNumber++;
    const [number, text] = [this.#setupNumber, JSON.stringify(this.#setup)];
    writeFrame(this.#state.child.channel, { kind: 'setup', number, text });
    this.#state.watchdog.start();
  }

  #receive(child: LaunchedProcess, { kind, number, text }: Frame): void {
    const state = this.#state;
    if (!('child' in state) || state.child !== child) return;
    state.watchdog.noteProgress();
    if (kind === 'again') return;
    if (kind === 'ready') {
      // A late answer to an earlier set-up does not count.
      if (number !== this.#setupNumber) return;
      this.#state = { ...state, kind: 'running' };
      this.#freshMb = child.residentMb() ?? 0;
      this.#whenReady?.resolve();
      this.#whenReady = undefined;
      this.#sendBatches();
      return;
    }
    const [oldest] = this.#inFlight;
    if (oldest === undefined) return;
    this.#failedStarts = 0;
    const { batch } = oldest;
    if (kind === 'answer') {
      batch.requests[oldest.answered++]?.settle({ kind, text });
      if (oldest.answered < batch.requests.length) return;
    }
    this.#inFlight.shift();
    this.wake();
    if (kind === 'answer') return;
    this.#mayBeGrown = true;
    this.#options.end.ranOut(batch, kind === 'timeout' || kind === 'memory' ? { kind } : crash(text));
  }

  #sendBatches(): void {
    const state = this.#state;
    if (state.kind !== 'running' || this.#retireIfGrown(state.child)) return;
    const wasIdle = this.#inFlight.length === 0;
    const { channel } = state.child;
    channel.cork();
    while (this.#inFlight.length < this.#options.mostBatches) {
      const batch = this.#options.end.take();
      if (batch === undefined) break;
      const text = batch.requests.map((request) => request.text).join('\n');
      const ms = Math.min(mostMsOf(batch.turn, text), this.#setup.timeoutMs);
      this.#inFlight.push({ batch, ms, answered: 0 });
      writeFrame(channel, { kind: 'run', number: ms, text });
    }
    channel.uncork();
    if (wasIdle && this.#inFlight.length > 0) state.watchdog.start();
  }

  /**
   * A process does not always return the memory that an expression made it take. So the size of the process is checked once no
   * request is in flight, and a process that has grown is replaced.
   */
  #retireIfGrown(child: LaunchedProcess): boolean {
    if (this.#killedFor !== undefined) return true;
    if (!this.#mayBeGrown) return false;
    if (this.#inFlight.length > 0) return true;
    this.#mayBeGrown = false;
    if ((child.residentMb() ?? 0) <= this.#freshMb + idleGrowthMb) return false;
    this.#kill(child, 'retired');
    return true;
  }

  #kill(child: LaunchedProcess, why: 'hung' | 'swollen' | 'retired'): void {
    if (this.#child !== child) return;
    this.#killedFor = why;
    child.kill();
  }

  /** The process runs batches in their order and sends the answers to one before it begins the next, so the oldest is to blame. */
  #handleEnd(child: LaunchedProcess, end: string): void {
    if (!('child' in this.#state) || this.#state.child !== child) return;
    this.#state.watchdog.stop();
    const wasStarting = this.#state.kind === 'starting';
    const killedFor = this.#killedFor;
    this.#killedFor = undefined;
    this.#mayBeGrown = false;
    const [oldest, ...others] = this.#inFlight.splice(0);
    const reason = killedFor ?? 'died';
    const cause = killedFor ?? end;
    const lastWords = child.lastWords.slice(-200);
    const inFlight = others.length + (oldest === undefined ? 0 : 1);
    const wasReplaced = killedFor === 'retired' && oldest === undefined;
    const fields = { component: 'expression', cause, inFlight, lastWords };
    if (!wasReplaced) this.#options.log.warn(fields, 'sandbox process died and is started again');
    // A death under load pauses nobody; only a process that does not start, or dies idle, is started after a pause.
    if (wasReplaced || (wasStarting ? killedFor === 'swollen' : oldest !== undefined)) this.#spawn(reason);
    else this.#pauseBeforeStart(reason, { cause, lastWords });
    for (const { batch } of others.toReversed()) this.#options.end.putBack(batch);
    if (oldest === undefined) return;
    const requests = oldest.batch.requests.slice(oldest.answered);
    this.#options.end.ranOut({ ...oldest.batch, requests }, blameOf(cause));
  }

  #pauseBeforeStart(reason: ProcessStart, { cause, lastWords }: { cause: string; lastWords: string }): void {
    this.#failedStarts++;
    if (this.#failedStarts > startAttempts) {
      this.#notReady(new Error(`start the sandbox: wanted a running process, found ${cause}: "${lastWords}"`));
      this.#failAll(`the sandbox cannot be started: ${cause}`);
    }
    const pauseMs = backOffMs(this.#failedStarts - 1, restart);
    this.#state = { kind: 'pausing', timer: this.#options.clock.after(pauseMs, () => this.#spawn(reason)) };
  }

  #failAll(message: string): void {
    for (const { batch, answered } of this.#inFlight.splice(0))
      for (const { settle } of batch.requests.slice(answered)) settle({ kind: 'unavailable', message });
    this.#options.end.failAll(message);
  }
}

function mostMsOf(turn: SandboxTurn, { length }: string): number {
  if (turn === 'whole') return Number.POSITIVE_INFINITY;
  return (turn === 'glance' ? glanceMs : sliceMs) + Math.ceil(length / charsPerMs);
}

function blameOf(cause: string): RanOut {
  if (cause === 'hung') return { kind: 'timeout' };
  if (cause === 'swollen') return { kind: 'memory' };
  return crash(`the sandbox process died while it ran the expression (${cause})`);
}

function crash(text: string): RanOut {
  return { kind: 'crash', message: text.slice(0, realmLimits.message) };
}

export function stoppedInStart(): Error {
  return new Error('start the sandbox: the sandbox was stopped before it was ready');
}
