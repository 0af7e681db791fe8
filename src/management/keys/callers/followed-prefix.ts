// Follows all records below a prefix, however often the watch is lost: a list, a watch from its revision on, and again. In: a store.
// Out: the present records after each list, and each change.
import type { Store, StoredRecord, StoreEvent, StoreWatch } from '../../../store/store.ts';

export interface FollowedPrefixOptions {
  store: Store;
  prefix: string;
  /** What the records are, for messages. */
  what: string;
  present(records: readonly StoredRecord[]): void;
  changed(event: StoreEvent): void;
}

export class FollowedPrefix {
  readonly #options: FollowedPrefixOptions;
  #watch: StoreWatch | undefined;
  #following: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: FollowedPrefixOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.#open();
  }

  /** Changes since open() are told from here on. */
  follow(): void {
    if (this.#watch !== undefined) this.#following = this.#follow(this.#watch);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.close();
    await this.#following;
  }

  async #open(): Promise<StoreWatch> {
    const { store, prefix, what, present } = this.#options;
    const page = await store.list(prefix);
    if (page.kind !== 'page') throw new Error(`read the ${what}: want the present, the store has forgotten it`);
    const watch = await store.watch(prefix, page.revision);
    if (!('events' in watch))
      throw new Error(`watch the ${what}: want a watch from now on, the store has forgotten now`);
    present(page.records);
    this.#watch = watch;
    // The stop could only close the watch before this one.
    if (this.#isStopped) watch.close();
    return watch;
  }

  async #follow(first: StoreWatch): Promise<void> {
    let watch = first;
    for (;;) {
      for await (const batch of watch.events()) for (const event of batch) this.#options.changed(event);
      if (this.#isStopped || watch.ended === 'closed') return;
      watch = await this.#open();
    }
  }
}
