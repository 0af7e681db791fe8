// Runs the program as the pages tell a reader to: each command a process of its own, in a folder of its own. Ends what it started.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const launcherIn = (version: string) => join(version, 'src/launcher/hostward.mjs');

export class Processes {
  /** What Node has compiled saves half of a start; a reader does not have it, and sees the same. */
  readonly environment: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
  };
  #folder: string | undefined;
  readonly #running: ChildProcess[] = [];

  /** Made when it is first needed: a suite that is skipped must leave none behind. */
  get folder(): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), 'hostward-pages-'));
    this.environment['HOME'] ??= this.#folder;
    return this.#folder;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Resolves when the output has the sign. */
  async serve(words: readonly string[], sign: string, version = root): Promise<{ stop(): Promise<void> }> {
    const child = spawn(process.execPath, [launcherIn(version), ...words], { cwd: this.folder, env: this.environment });
    this.#running.push(child);
    let said = '';
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (part) => {
          said += part;
          if (said.includes(sign)) resolve();
        });
      child.once('exit', (code) => reject(new Error(`hostward ${words.join(' ')} ended with ${code}: ${said}`)));
    });
    return { stop: () => end(child) };
  }

  run(words: readonly string[], version = root): { status: number | null; stdout: string; stderr: string } {
    const given = { cwd: this.folder, env: this.environment, encoding: 'utf8' } as const;
    return spawnSync(process.execPath, [launcherIn(version), ...words], given);
  }

  async stop(): Promise<void> {
    for (const child of this.#running.reverse()) await end(child);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function end(child: ChildProcess): Promise<void> {
  child.removeAllListeners('exit');
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
