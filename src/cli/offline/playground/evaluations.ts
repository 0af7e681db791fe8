// Evaluates what people write in the playground, in a thread of its own, so that neither a long text nor a bad expression delays
// anything else of the process. In: requests. Out: answers, one at a time. A thread that gives no answer is ended.
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../../clock.ts';
import { type Evaluated, type EvaluationKind, playgroundLimits } from '../../../pages/playground-api.ts';
import { threadEnvironment } from '../../../thread-environment.ts';
import type { EvaluationThreadData, FromThread, ToThread } from './evaluation-thread.ts';

/** Beyond its own limit the thread gets this time to say so; then it hangs in something that the limit does not reach. */
const lastWordMs = 1_000;
/** For the first evaluation of a thread, on a busy machine. */
const startMs = 30_000;
/** For the texts and objects of one evaluation, which take a third of it at their largest, and the program. */
const heapMb = 128;

interface Waiting {
  kind: EvaluationKind;
  body: string;
  settle: (answer: Evaluated) => void;
}

export class Evaluations {
  readonly #clock: Clock;
  readonly #data: EvaluationThreadData;
  readonly #program: URL;
  readonly #waiting: Waiting[] = [];
  #current: Waiting | undefined;
  #limit: Timer | undefined;
  #idle: Timer | undefined;
  #thread: Worker | undefined;
  /** Whether the thread has loaded its program. */
  #isReady = false;
  #ended: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** `isSecond`: beside a daemon, whose work goes first. `thread`: another program of the thread, for tests. */
  constructor(options: { clock: Clock; nodePath: string; isSecond?: boolean; thread?: URL }) {
    const { clock, nodePath, isSecond = false, thread } = options;
    this.#clock = clock;
    this.#data = { nodePath, isSecond };
    this.#program = thread ?? new URL('./evaluation-thread.ts', import.meta.url);
  }

  /** For tests and measurements. */
  get isRunning(): boolean {
    return this.#thread !== undefined;
  }

  readonly evaluate = (kind: EvaluationKind, body: string): Promise<Evaluated> => {
    if (this.#isStopped) return Promise.resolve(stopped);
    if (this.#waiting.length >= playgroundLimits.waiting) return Promise.resolve({ kind: 'busy' });
    return new Promise((settle) => {
      this.#waiting.push({ kind, body, settle });
      this.#next();
    });
  };

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { settle } of this.#waiting.splice(0)) settle(stopped);
    this.#settle(stopped);
    await this.#endThread();
  }

  #next(): void {
    if (this.#current !== undefined || this.#isStopped) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#current = next;
    this.#idle?.cancel();
    const thread = this.#thread ?? this.#open();
    const limitMs = this.#isReady ? playgroundLimits.evaluationMs + lastWordMs : startMs;
    const { kind, body } = next;
    thread.postMessage({ kind, body } satisfies ToThread);
    this.#limitTo(limitMs, thread);
  }

  #limitTo(ms: number, thread: Worker): void {
    this.#limit?.cancel();
    this.#limit = this.#clock.after(ms, () => {
      void thread.terminate();
      this.#gone(thread, 'the evaluation came to no end and was stopped');
    });
  }

  #settle(answer: Evaluated): void {
    this.#limit?.cancel();
    const current = this.#current;
    this.#current = undefined;
    current?.settle(answer);
  }

  #open(): Worker {
    const thread = new Worker(this.#program, {
      workerData: this.#data,
      env: threadEnvironment(),
      name: 'playground',
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#thread = thread;
    this.#isReady = false;
    thread.on('message', (answer: FromThread) => {
      if (answer.kind === 'ready') {
        this.#isReady = true;
        return this.#limitTo(playgroundLimits.evaluationMs + lastWordMs, thread);
      }
      this.#settle(answer);
      this.#idle = this.#clock.after(playgroundLimits.idleMs, () => void this.#endThread());
      this.#next();
    });
    thread.on('error', (fault: Error) => this.#gone(thread, `the evaluation failed: ${fault.message}`));
    this.#ended = new Promise((resolve) => {
      thread.on('exit', () => {
        this.#gone(thread, 'the evaluation ended without an answer');
        resolve();
      });
    });
    return thread;
  }

  /** The next evaluation gets a new thread. */
  #gone(thread: Worker, message: string): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#settle({ kind: 'failed', message });
    this.#next();
  }

  /** The thread ends its sandbox first. One that does not listen is ended from outside. */
  async #endThread(): Promise<void> {
    this.#idle?.cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) return this.#ended;
    thread.postMessage({ kind: 'stop' } satisfies ToThread);
    const limit = this.#clock.after(lastWordMs, () => void thread.terminate());
    await this.#ended;
    limit.cancel();
  }
}

const stopped: Evaluated = { kind: 'failed', message: 'the playground was stopped' };
