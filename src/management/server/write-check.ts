// Looks every few seconds whether changes can be stored: a full disk must show in readiness, status and metrics before somebody's
// change is refused, and go from there by itself. In: the folder and the store. Out: a sentence while nothing can be written. The host of
// a store may fail once and answer the next time, so only its second fault in a row counts.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import { StoreFault } from '../../store/errors.ts';
import type { Store } from '../../store/store.ts';

/** A readiness probe comes about as often. */
const everyMs = 5000;
const againMs = 1000;
/** More than one change and its line in the audit log need. */
const probeBytes = 64 * 1024;
const probeName = '.write-check';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on its disk; free some',
  EDQUOT: 'its disk quota is used up; free some space or raise the quota',
  EROFS: 'its file system is read-only; mount it for writing',
};

/** `folderIsWritten` tells the first of two places from the second, for who waits. */
export type WriteAttempt = (folderIsWritten: () => void) => Promise<void>;

/** Tries both places that a change is written to: a file, as for the audit log, and the database. */
export function writeAttempt(folder: string, store: Pick<Store, 'writeSideValues'>): WriteAttempt {
  const path = join(folder, probeName);
  return async (folderIsWritten) => {
    try {
      await writeFile(path, Buffer.alloc(probeBytes), { mode: 0o600 });
    } finally {
      await rm(path, { force: true });
    }
    folderIsWritten();
    await store.writeSideValues(new Map([[probeName, '1']]));
  };
}

export interface WriteCheckOptions {
  clock: Clock;
  log: Log;
  metrics: Metrics | undefined;
  attempt: WriteAttempt;
  /** The records are in a cluster, and not in the folder. */
  isInCluster?: boolean;
}

export class WriteCheck {
  readonly #options: WriteCheckOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #trouble: string | undefined;
  #hasHostFailed = false;
  #isStopped = false;
  #isFolderWritten = false;

  constructor(options: WriteCheckOptions) {
    this.#options = options;
    const help = '1 while changes can be stored, 0 while the folder of the management API cannot be written';
    const read = () => (this.#trouble === undefined ? 1 : 0);
    if (options.metrics === undefined) return;
    readSeries(options.metrics, { name: 'hostward_management_writable', help, labels: {}, read });
  }

  /** Undefined while changes can be stored. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  start(): void {
    // A disk that hangs answers neither yes nor no.
    if (this.#running === undefined) this.#running = this.#look();
    else if (this.#isFolderWritten && this.#options.isInCluster === true) this.#now(clusterTrouble);
    else this.#now(ofFolder('a write to it has not ended for seconds; look at its disk'));
    this.#nextIn(everyMs);
  }

  #nextIn(ms: number): void {
    this.#timer?.cancel();
    if (!this.#isStopped) this.#timer = this.#options.clock.after(ms, () => this.start());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  async #look(): Promise<void> {
    try {
      this.#isFolderWritten = false;
      await this.#options.attempt(() => {
        this.#isFolderWritten = true;
      });
      this.#hasHostFailed = false;
      this.#now(undefined);
    } catch (error) {
      // The store says so itself, and for as long as it lasts.
      if (isSilence(error)) return this.#now(undefined);
      const isFirst = isFaultOfHost(error) && !this.#hasHostFailed;
      this.#hasHostFailed = isFaultOfHost(error);
      if (isFirst) this.#nextIn(againMs);
      else this.#now(reasonOf(error), error);
    } finally {
      this.#running = undefined;
    }
  }

  #now(reason: string | undefined, error?: unknown): void {
    const sentence = reason === undefined ? undefined : `changes are refused, reads go on: ${reason}`;
    if (sentence === this.#trouble) return;
    this.#trouble = sentence;
    const { log } = this.#options;
    if (sentence === undefined) log.info({ component: 'management' }, 'changes can be stored again');
    else
      log.error({ component: 'management', trouble: sentence, error: String(error ?? '') }, 'changes cannot be stored');
  }
}

const clusterTrouble = 'the cluster of the store has not taken a write; the log says why';

function isSilence(error: unknown): boolean {
  return error instanceof StoreFault && (error.code === 'STORE_HOST_AWAY' || error.code === 'STORE_HOST_LAPSED');
}

function isFaultOfHost(error: unknown): boolean {
  return error instanceof StoreFault && error.code === 'STORE_HOST_FAILED';
}

/** A probe is answered without authentication, so the message names no path. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreFault && error.code.startsWith('STORE_HOST')) return clusterTrouble;
  return ofFolder(reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? 'a write to it failed; the log says why');
}

function ofFolder(reason: string): string {
  return `dataDir: ${reason}`;
}
