// One hardened isolate with all expressions of a configuration inside. In: a request as JSON text. Out: its answer as JSON
// text, or why there is none. After a time-out or at its memory limit the isolate is thrown away, because what it was doing
// may have left anything behind. Imports nothing of the house but types: it runs in the sandbox process too.
import { createRequire } from 'node:module';
import type IsolatedVm from 'isolated-vm';
import type { SandboxSetup } from '../realm/harness.ts';

export type RunOutcome =
  | { kind: 'answer'; text: string }
  | { kind: 'timeout' }
  | { kind: 'memory' }
  | { kind: 'broken'; message: string };

interface Living {
  isolate: IsolatedVm.Isolate;
  run: IsolatedVm.Reference<(requests: readonly string[]) => readonly string[]>;
  calls: number;
}

/**
 * For our own code, which ends: the time of an expression would be too short for it on a machine that is busy, and a realm
 * that cannot be built ends the process. Who waits for the process has a shorter patience where it matters.
 */
const buildMs = 30_000;

/** V8's compiled form of our own code, by its text: what the next isolate of this process need not compile again. */
export type CompiledHarnesses = Map<string, IsolatedVm.ExternalCopy<ArrayBuffer>>;

/** Two milliseconds each. */
const warmUpTurns = 3;

export class HardenedIsolate {
  readonly #ivm: typeof IsolatedVm;
  readonly #setup: SandboxSetup;
  readonly #onCatastrophe: (message: string) => void;
  readonly #harnesses: CompiledHarnesses;
  #living: Living | undefined;

  /** home: a file or folder from which isolated-vm can be found. */
  constructor(options: {
    setup: SandboxSetup;
    home: string;
    harnesses: CompiledHarnesses;
    onCatastrophe: (message: string) => void;
  }) {
    this.#ivm = createRequire(options.home)('isolated-vm');
    this.#setup = options.setup;
    this.#onCatastrophe = options.onCatastrophe;
    this.#harnesses = options.harnesses;
  }

  start(): void {
    this.#living ??= this.#build();
  }

  /**
   * V8's locks ask the kernel for its processors and its clock when threads first wait for each other. That happens here and
   * not when an expression first runs out of time: a process that did this opens no file any more.
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

  /** sliceMs: less than the whole time of an expression, because others wait. */
  run(text: string, { sliceMs = this.#setup.timeoutMs } = {}): RunOutcome {
    try {
      const [answer] = this.#enter([text], Math.min(sliceMs, this.#setup.timeoutMs));
      return { kind: 'answer', text: answer as string };
    } catch (thrown) {
      const isOutOfMemory = this.#living?.isolate.isDisposed ?? false;
      this.stop();
      const message = String(thrown instanceof Error ? thrown.message : thrown);
      if (isOutOfMemory || /memory limit|disposed/i.test(message)) return { kind: 'memory' };
      return /timed out/i.test(message) ? { kind: 'timeout' } : { kind: 'broken', message: message.slice(0, 200) };
    }
  }

  /**
   * The answers to several short requests, in one call, since to enter the isolate takes as long as a short request. Undefined
   * when it comes to nothing: then each has to be run by itself, as what became of one of them tells nothing of the others.
   */
  answersTo(texts: readonly string[], sliceMs: number): readonly string[] | undefined {
    try {
      const answers = this.#enter(texts, Math.min(sliceMs, this.#setup.timeoutMs));
      return answers.length === texts.length ? answers : undefined;
    } catch {
      this.stop();
      return undefined;
    }
  }

  #enter(texts: readonly string[], timeout: number): readonly string[] {
    this.#living ??= this.#build();
    const living = this.#living;
    const answers = living.run.applySync(undefined, [texts], {
      arguments: { copy: true },
      timeout,
      result: { copy: true },
    }) as readonly string[];
    living.calls += texts.length;
    if (living.calls >= this.#setup.callsPerIsolate) this.stop();
    return answers;
  }

  stop(): void {
    const living = this.#living;
    this.#living = undefined;
    if (living !== undefined && !living.isolate.isDisposed) living.isolate.dispose();
  }

  #build(): Living {
    const setup = this.#setup;
    const isolate = new this.#ivm.Isolate({
      memoryLimit: setup.memoryLimitMb,
      onCatastrophicError: this.#onCatastrophe,
    });
    const context = isolate.createContextSync();
    const finish = (script: IsolatedVm.Script) => script.runSync(context, { reference: true, timeout: buildMs });
    const evaluate = (source: string, filename: string) => finish(isolate.compileScriptSync(source, { filename }));
    const harness = finish(this.#compiledHarness(isolate));
    const part = (name: string) => harness.getSync(name, { reference: true });
    const offer = part('offer');
    for (const [name, source] of setup.functions) {
      const factory = evaluate(`'use strict';(${source}\n)`, name);
      offer.applySync(undefined, [name, factory.derefInto()]);
    }
    part('begin').applySync(undefined, [setup.vcluster], { timeout: buildMs });
    const listed = (codes: readonly string[]) => evaluate(listOf(codes), 'expressions');
    const expressions = attempt(() => listed(setup.expressions)) ?? listed(readable(isolate, setup.expressions));
    part('take').applySync(undefined, [expressions.derefInto(), setup.expressions.length]);
    return { isolate, run: part('run'), calls: 0 };
  }

  #compiledHarness(isolate: IsolatedVm.Isolate): IsolatedVm.Script {
    const { harness } = this.#setup;
    const cachedData = this.#harnesses.get(harness);
    const script: IsolatedVm.Script & IsolatedVm.CachedDataResult = isolate.compileScriptSync(harness, {
      filename: 'harness',
      ...(cachedData ? { cachedData } : { produceCachedData: true }),
    });
    if (script.cachedData !== undefined) this.#harnesses.set(harness, script.cachedData);
    return script;
  }
}

/** Each in a function of its own; the code of each begins a line, so that a column in a trace is an offset into it. */
function listOf(expressions: readonly string[]): string {
  const functions = expressions.map((code) => `((value,valueExists,context)=>(\n${code}\n)),`);
  return `'use strict';[${functions.join('')}]`;
}

/** What acorn took for JavaScript and V8 does not: that expression fails, and no other one. */
const unreadable = "(() => { throw new SyntaxError('V8 cannot read the expression') })()";

function readable(isolate: IsolatedVm.Isolate, expressions: readonly string[]): readonly string[] {
  return expressions.map((code) => {
    const script = attempt(() => isolate.compileScriptSync(listOf([code])));
    return script === undefined ? unreadable : code;
  });
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
