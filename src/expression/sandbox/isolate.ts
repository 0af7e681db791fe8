// One hardened isolate with all expressions of a configuration inside. In: a request as JSON text. Out: the answer as JSON text,
// or the reason for its absence. After a time-out or at the memory limit the isolate is thrown away, because the interrupted code
// may have left it in any state. Imports only types from other rooms, because it is linked into the program of the sandbox process.
import { createRequire } from 'node:module';
import type IsolatedVm from 'isolated-vm';
import type { SandboxSetup } from '../realm/harness.ts';

export type IsolateOutcome =
  | { kind: 'answer'; texts: readonly string[] }
  | { kind: 'timeout' }
  | { kind: 'memory' }
  | { kind: 'broken'; message: string };

interface BuiltIsolate {
  isolate: IsolatedVm.Isolate;
  run: IsolatedVm.Reference<(requests: readonly string[]) => readonly string[]>;
  calls: number;
}

/** A call shorter than this leaves little garbage, and asking V8 for the size of its heap would cost as much as the call. */
const garbageCpuMs = 2;

/**
 * Size of the heap after a call beyond which the isolate is replaced, which takes 5 ms. V8 collects such garbage only at its limit,
 * so a large request would find the memory of the request before it still occupied.
 */
const garbageBytes = 8_388_608;

/** Each turn costs two milliseconds of the start, and brings the threads of V8 together by chance only, so that one may not be enough. */
const warmUpTurns = 3;

export class HardenedIsolate {
  readonly #ivm: typeof IsolatedVm;
  readonly #setup: SandboxSetup;
  readonly #onCatastrophe: (message: string) => void;
  readonly #cpuMs: () => number;
  #built: BuiltIsolate | undefined;
  #lastCallCpuMs = 0;

  /** home: the main file of isolated-vm. */
  constructor(options: {
    setup: SandboxSetup;
    home: string;
    /** Processor time of this thread so far. */
    cpuMs: () => number;
    onCatastrophe: (message: string) => void;
  }) {
    this.#ivm = createRequire(options.home)(options.home);
    this.#setup = options.setup;
    this.#onCatastrophe = options.onCatastrophe;
    this.#cpuMs = options.cpuMs;
  }

  /** Processor time of the last call, without the time to build the isolate. */
  get lastCallCpuMs(): number {
    return this.#lastCallCpuMs;
  }

  start(): void {
    this.#built ??= this.#build();
  }

  /**
   * V8's locks read the number of processors and their clock rate from files when threads first wait for each other. The warm-up
   * provokes that wait before any expression runs, so that the process opens no file afterwards.
   */
  warmUp(): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    for (let turn = 0; turn < warmUpTurns; turn++) {
      const isolate = new this.#ivm.Isolate();
      try {
        isolate.compileScriptSync('for (;;);').runSync(isolate.createContextSync(), { timeout: 1 });
      } catch {
        isolate.dispose();
      }
    }
  }

  /** Several short requests run in one call, because entering the isolate takes as long as one of them. */
  run(texts: readonly string[], timeout: number): IsolateOutcome {
    try {
      const answers = this.#enter(texts, timeout);
      return answers.length === texts.length
        ? { kind: 'answer', texts: answers }
        : brokenBy('the number of answers differs');
    } catch (thrown) {
      const isOutOfMemory = this.#built?.isolate.isDisposed ?? false;
      this.stop();
      const message = String(thrown instanceof Error ? thrown.message : thrown);
      if (isOutOfMemory || /memory limit|disposed/i.test(message)) return { kind: 'memory' };
      return /timed out/i.test(message) ? { kind: 'timeout' } : brokenBy(message);
    }
  }

  #enter(texts: readonly string[], timeout: number): readonly string[] {
    this.#built ??= this.#build();
    const built = this.#built;
    const beganMs = this.#cpuMs();
    try {
      const options = { arguments: { copy: true }, timeout, result: { copy: true } } as const;
      return built.run.applySync(undefined, [texts], options) as readonly string[];
    } finally {
      this.#lastCallCpuMs = this.#cpuMs() - beganMs;
      built.calls += texts.length;
      if (built.calls >= this.#setup.callsPerIsolate || this.#holdsGarbage(built)) this.stop();
    }
  }

  #holdsGarbage({ isolate }: BuiltIsolate): boolean {
    if (this.#lastCallCpuMs < garbageCpuMs || isolate.isDisposed) return false;
    return isolate.getHeapStatisticsSync().total_physical_size > garbageBytes;
  }

  stop(): void {
    const built = this.#built;
    this.#built = undefined;
    if (built !== undefined && !built.isolate.isDisposed) built.isolate.dispose();
  }

  #build(): BuiltIsolate {
    const setup = this.#setup;
    const isolate = new this.#ivm.Isolate({
      memoryLimit: setup.memoryLimitMb,
      onCatastrophicError: this.#onCatastrophe,
    });
    const context = isolate.createContextSync();
    // Without a time limit: no expression runs yet, and the watchdog of the daemon ends a process that does not become ready.
    const evaluate = (source: string, filename: string) =>
      isolate.compileScriptSync(source, { filename }).runSync(context, { reference: true });
    const harness = evaluate(setup.harness, 'harness');
    const exported = (name: string) => harness.getSync(name, { reference: true });
    const offer = exported('offer');
    for (const [name, source] of setup.functions) {
      const factory = evaluate(`'use strict';(${source}\n)`, name);
      offer.applySync(undefined, [name, factory.derefInto()]);
    }
    exported('begin').applySync(undefined, [setup.vcluster]);
    const compiledList = (codes: readonly string[]) => evaluate(listSource(codes), 'expressions');
    const expressions =
      orUndefined(() => compiledList(setup.expressions)) ?? compiledList(replaceUnreadable(isolate, setup.expressions));
    exported('take').applySync(undefined, [expressions.derefInto(), setup.expressions.length]);
    return { isolate, run: exported('run'), calls: 0 };
  }
}

/** Wraps each expression in a function. Its code begins a line, so that a column in a stack trace is an offset into the code. */
function listSource(expressions: readonly string[]): string {
  const functions = expressions.map((code) => `((value,valueExists,context)=>(\n${code}\n)),`);
  return `'use strict';[${functions.join('')}]`;
}

/** Replaces an expression that acorn can read and V8 cannot: only this expression fails, and the others still run. */
const failingStub = "(() => { throw new SyntaxError('V8 cannot read the expression') })()";

function replaceUnreadable(isolate: IsolatedVm.Isolate, expressions: readonly string[]): readonly string[] {
  return expressions.map((code) => {
    const script = orUndefined(() => isolate.compileScriptSync(listSource([code])));
    return script === undefined ? failingStub : code;
  });
}

function orUndefined<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

function brokenBy(message: string): IsolateOutcome {
  return { kind: 'broken', message: message.slice(0, 200) };
}
