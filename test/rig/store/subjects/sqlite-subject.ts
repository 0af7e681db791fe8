// The SQLite store in a process of its own, so that it can be killed like one, and told that files may not grow as on a full disk.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plant } from './planted.ts';
import { type StoreProcess, StoreProcesses } from './store-process.ts';
import type { Moment, Reach, Stage, Subject } from './subject.ts';

/** Waits for no disk. A killed process loses nothing that it gave to the system; what a power cut takes is not played here. */
const memoryFolder = '/dev/shm';

export function sqliteSubject(plant?: Plant): Subject {
  const folder = mkdtempSync(join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), 'hostward-stores-'));
  const processes = new StoreProcesses();
  let count = 0;
  return {
    name: 'sqlite',
    promises: { areReadsFresh: true, hasGaps: false, canBeKilled: true, canBeFull: canLimit(), canBeCut: false },
    async open() {
      const path = join(folder, `${count++}.db`);
      const stage = new SqliteStage({ path, plant, processes });
      await stage.start();
      return stage;
    },
    async stop() {
      await processes.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

class SqliteStage implements Stage {
  #options: { path: string; plant: Plant | undefined; processes: StoreProcesses };
  #process: StoreProcess;
  /** Resolves when the store serves. */
  #open: Promise<unknown> = Promise.resolve();

  constructor(options: { path: string; plant: Plant | undefined; processes: StoreProcesses }) {
    this.#options = options;
    this.#process = options.processes.take();
  }

  async start(): Promise<void> {
    const { path, plant } = this.#options;
    this.#open = this.#process.tell({ do: 'open', on: { kind: 'file', path }, plant });
    await this.#open;
  }

  reach(): Reach {
    return {
      ask: async (asked) => {
        await this.#open;
        return this.#process.ask(asked);
      },
      watch: async (prefix, afterRevision, deliver) => {
        await this.#open;
        return this.#process.watch(prefix, afterRevision, deliver);
      },
    };
  }

  async kill(moment?: Moment): Promise<void> {
    const { path, plant, processes } = this.#options;
    // From here on whoever asks waits for the next process.
    // One that is just being opened is killed when it serves.
    this.#open = this.#open
      .then(() => this.#process.kill(moment))
      .then(() => {
        this.#process = processes.take();
        return this.#process.tell({ do: 'open', on: { kind: 'file', path }, plant });
      });
    await this.#open;
  }

  async fill(isFull: boolean): Promise<void> {
    await this.#open;
    const sizes = ['', '-wal'].map((end) => sizeOf(this.#options.path + end));
    limit(this.#process.pid, isFull ? Math.max(...sizes) : undefined);
  }

  async close(): Promise<void> {
    await this.#open;
    await this.#process.tell({ do: 'close' });
    this.#options.processes.giveBack(this.#process);
    for (const end of ['', '-wal', '-shm']) rmSync(this.#options.path + end, { force: true });
  }
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

/** The system refuses to let a file of the process grow beyond so many bytes. */
function limit(pid: number, bytes: number | undefined): boolean {
  const soft = bytes === undefined ? 'unlimited' : String(bytes);
  return spawnSync('prlimit', ['--pid', String(pid), `--fsize=${soft}:unlimited`]).status === 0;
}

/** Needs a system that limits files of a running process, as Linux does. */
function canLimit(): boolean {
  return spawnSync('prlimit', ['--version']).status === 0;
}
