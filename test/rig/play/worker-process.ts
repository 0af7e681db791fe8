// A process of its own that plays seeds, so that all cores work and no world sees another one. In: seeds. Out: their lines. A mistake can be planted
// in the sources that it loads.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { mutantVariable } from '../mutants/mutants.ts';
import type { FromWorker, ToWorker } from './worker.ts';

/** A process that has played many runs has collected memory; a fresh one starts in a second. */
const seedsOfProcess = 120;
/** A run leaves much that dies young. */
const youngHeap = ['--min-semi-space-size=64', '--max-semi-space-size=64'];
/** Half of what a process needs to load the sources is spent on what the one before it has found out. */
const compiled = fileURLToPath(new URL('../../../node_modules/.cache/hostward-rig/', import.meta.url));
/** A run takes a second or two. A gate that has only what others leave of a slow machine waited three minutes for one. */
const silentProcessMs = 900_000;

export class WorkerProcess {
  readonly #mutant: string | undefined;
  #child: ChildProcess | undefined;
  #asked = 0;

  constructor(mutant?: string) {
    this.#mutant = mutant;
  }

  async ask(message: ToWorker): Promise<FromWorker> {
    if (this.#asked++ % seedsOfProcess === 0) this.end();
    this.#child ??= this.#start();
    const child = this.#child;
    return new Promise((resolve) => {
      const settle = (answer: FromWorker): void => {
        clearTimeout(timer);
        child.removeAllListeners('message');
        child.removeAllListeners('exit');
        resolve(answer);
      };
      const failed = (error: string): void => {
        this.end();
        settle({ did: 'fail', seed: message.seed, error });
      };
      const timer = setTimeout(() => failed(`no answer for ${silentProcessMs / 1000} s`), silentProcessMs);
      child.once('message', (answer: FromWorker) => settle(answer));
      child.once('exit', (code) => failed(`the process ended with ${code}`));
      child.send(message);
    });
  }

  #start(): ChildProcess {
    const file = fileURLToPath(new URL('worker.ts', import.meta.url));
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
    if (this.#mutant === undefined) return fork(file, ['rig-worker'], { stdio: [...stdio], execArgv: youngHeap, env });
    const planter = fileURLToPath(new URL('../mutants/plant-at-load.ts', import.meta.url));
    return fork(file, ['rig-worker'], {
      stdio: [...stdio],
      execArgv: [...youngHeap, '--import', planter],
      env: { ...env, [mutantVariable]: this.#mutant },
    });
  }

  end(): void {
    this.#child?.removeAllListeners('exit');
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}
