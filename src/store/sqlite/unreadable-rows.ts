// Deletes the rows that nobody can read any more: those that the history has forgotten, and at the start those that a crash has left.
// In: their revisions. Out: requests to the database thread, in small pieces, one at a time, so that commits are not delayed.
import type { SqliteThread } from './sqlite-thread.ts';

/**
 * Deletes in one transaction: they delay the next commit by about two milliseconds. While more than this many wait, writes wait
 * too, or a writer who is quicker than the deletes would fill the disk.
 */
const rowsPerMessage = 500;

export class UnreadableRows {
  readonly #thread: SqliteThread;
  readonly #compactedRevision: () => number;
  #waiting: number[] = [];
  #forgetting: Promise<void> | undefined;
  #searching: Promise<void> | undefined;
  #isStopped = false;

  constructor(thread: SqliteThread, compactedRevision: () => number) {
    this.#thread = thread;
    this.#compactedRevision = compactedRevision;
  }

  /** Nobody can read what a crash has left, so the start does not wait for the search. */
  start(): void {
    this.#searching = this.#search().catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#searching;
    await this.#forgetting;
  }

  get areMany(): boolean {
    return this.#waiting.length > rowsPerMessage;
  }

  /** Resolves when no row waits. */
  get forgotten(): Promise<void> {
    return this.#forgetting ?? Promise.resolve();
  }

  forget(revisions: readonly number[]): void {
    for (const revision of revisions) this.#waiting.push(revision);
    this.#forgetting ??= this.#forgetAll().finally(() => {
      this.#forgetting = undefined;
    });
  }

  async #forgetAll(): Promise<void> {
    do {
      const revisions = this.#waiting.splice(0, rowsPerMessage);
      const compactedRevision = this.#compactedRevision();
      // After a failure the next start deletes the remaining rows; until then they only cost space.
      await this.#thread.ask('forget', { revisions, compactedRevision }).catch(() => undefined);
    } while (this.#waiting.length > 0);
  }

  async #search(): Promise<void> {
    for (let afterKey: string | undefined = ''; afterKey !== undefined; ) {
      const compactedRevision = this.#compactedRevision();
      const asked = this.#thread.ask('leftovers', { afterKey, compactedRevision });
      const found: { revisions: number[]; next?: string } = await asked;
      if (found.revisions.length > 0) {
        this.forget(found.revisions);
        await this.#forgetting;
      }
      afterKey = this.#isStopped ? undefined : found.next;
    }
  }
}
