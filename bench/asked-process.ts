// A process of a benchmark that answers one question at a time.
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { daemonEnvironment, launcherFlags } from './launcher.ts';

export class AskedProcess<C extends { kind: string }> {
  readonly #child: ChildProcess;

  constructor(file: string, execArgv: readonly string[] = []) {
    const env = { ...process.env, ...daemonEnvironment };
    const options: ForkOptions = { execArgv: [...execArgv], env, serialization: 'advanced' };
    this.#child = fork(join(import.meta.dirname, file), [], options);
  }

  ask<T>(command: C): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`${command.kind}: the process has ended`));
      this.#child.once('exit', ended);
      this.#child.once('message', (reply: { value?: T; error?: string }) => {
        this.#child.off('exit', ended);
        if (reply.error === undefined) resolve(reply.value as T);
        else reject(new Error(`${command.kind}: ${reply.error}`));
      });
      this.#child.send(command);
    });
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || !this.#child.connected) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

/** Server processes have the launcher's flags; --expose-gc is for the daemon alone. */
export function serverFlags(): string[] {
  const launcher = join(import.meta.dirname, '..', 'src', 'launcher', 'hostward.mjs');
  return launcherFlags(launcher).filter((flag) => flag !== '--expose-gc');
}

/** The processes that one benchmark has started and ends together. */
export class AskedProcesses {
  readonly #started: { end(): Promise<void> }[] = [];

  start<C extends { kind: string }>(file: string, execArgv: readonly string[] = []): AskedProcess<C> {
    const child = new AskedProcess<C>(file, execArgv);
    this.#started.push(child);
    return child;
  }

  async end(): Promise<void> {
    await Promise.all(this.#started.map((child) => child.end()));
  }
}
