// Looks every few seconds whether changes can be stored: a full disk must show in readiness, status and metrics before somebody's
// change is refused, and go from there by itself. In: the folder and the store. Out: a sentence while nothing can be written.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import type { Store } from '../../store/store.ts';

/** A readiness probe comes about as often. */
const everyMs = 5000;
/** More than one change and its line in the audit log need. */
const probeBytes = 64 * 1024;
const probeName = '.write-check';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on its disk; free some',
  EDQUOT: 'its disk quota is used up; free some space or raise the quota',
  EROFS: 'its file system is read-only; mount it for writing',
};

/** Writes both ways of a change: a file, as the audit log does, and a value next to the log of the database. */
export function writeAttempt(folder: string, store: Pick<Store, 'writeSideValues'>): () => Promise<void> {
  const path = join(folder, probeName);
  return async () => {
    try {
      await writeFile(path, Buffer.alloc(probeBytes), { mode: 0o600 });
    } finally {
      await rm(path, { force: true });
    }
    await store.writeSideValues(new Map([[probeName, '1']]));
  };
}

export class WriteCheck {
  readonly #options: { clock: Clock; log: Log; attempt: () => Promise<void> };
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #trouble: string | undefined;

  constructor(options: { clock: Clock; log: Log; metrics: Metrics | undefined; attempt: () => Promise<void> }) {
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
    else this.#now('a write to it has not ended for seconds; look at its disk');
    this.#timer = this.#options.clock.after(everyMs, () => this.start());
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#running;
  }

  async #look(): Promise<void> {
    try {
      await this.#options.attempt();
      this.#now(undefined);
    } catch (error) {
      // A probe is answered without authentication, so the message names no path.
      this.#now(
        reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? 'a write to it failed; the log says why',
        error,
      );
    } finally {
      this.#running = undefined;
    }
  }

  #now(reason: string | undefined, error?: unknown): void {
    const sentence = reason === undefined ? undefined : `changes are refused, reads go on: dataDir: ${reason}`;
    if (sentence === this.#trouble) return;
    this.#trouble = sentence;
    const { log } = this.#options;
    if (sentence === undefined) log.info({ component: 'management' }, 'changes can be stored again');
    else
      log.error({ component: 'management', trouble: sentence, error: String(error ?? '') }, 'changes cannot be stored');
  }
}
