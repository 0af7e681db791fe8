// Keeps the records of issued client certificates: in the store, so that they survive a restart, and in memory, because every
// request reads them.
import { randomUUID } from 'node:crypto';
import type { Store, StoreWatch } from '../../../store/store.ts';
import type { IssueRecord } from './issue-record.ts';

const prefix = '/management/issues/';
/** Tells our objects in a virtual cluster from those of another Hostward. */
const issuerKey = '/management/issuer';

export class IssueBook {
  readonly #store: Store;
  readonly #records = new Map<string, IssueRecord>();
  readonly #bySerial = new Map<string, IssueRecord>();
  /** By id: the revision of the last own write, without an end while it is under way. */
  readonly #written = new Map<string, number>();
  #issuer = '';
  #watch: StoreWatch | undefined;
  #following: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(store: Store) {
    this.#store = store;
  }

  async start(): Promise<void> {
    const watch = await this.#open();
    const { record } = await this.#store.get(issuerKey);
    const made = record === undefined ? JSON.stringify(randomUUID()) : record.value;
    const written = record === undefined ? await this.#store.write(issuerKey, { expect: 0, value: made }) : undefined;
    // Another replica may have been first.
    const text = written?.ok === false ? (written.current?.value ?? made) : made;
    this.#issuer = JSON.parse(text) as string;
    this.#following = this.#follow(watch);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.close();
    await this.#following;
  }

  /** Another replica may issue and remove certificates too. */
  async #open(): Promise<StoreWatch> {
    const page = await this.#store.list(prefix);
    if (page.kind !== 'page')
      throw new Error('read the issued certificates: want the present, the store has forgotten it');
    const watch = await this.#store.watch(prefix, page.revision);
    if (!('events' in watch))
      throw new Error('watch the certificates: want a watch from now on, the store has forgotten now');
    const there = new Set(page.records.map(({ key }) => key.slice(prefix.length)));
    for (const record of this.all()) if (!there.has(record.id)) this.#forget(record);
    for (const { value } of page.records) this.#keep(JSON.parse(value) as IssueRecord);
    this.#watch = watch;
    // The stop could only close the watch before this one.
    if (this.#isStopped) watch.close();
    return watch;
  }

  async #follow(first: StoreWatch): Promise<void> {
    let watch = first;
    for (;;) {
      for await (const batch of watch.events())
        for (const { type, value, revision } of batch) {
          const record = JSON.parse(value) as IssueRecord;
          // What this replica has written since counts already.
          const written = this.#written.get(record.id) ?? 0;
          if (revision >= written) this.#written.delete(record.id);
          if (revision <= written) continue;
          if (type === 'put') this.#keep(record);
          else this.#forget(record);
        }
      if (this.#isStopped || watch.ended === 'closed') return;
      watch = await this.#open();
    }
  }

  get issuer(): string {
    return this.#issuer;
  }

  get(id: string): IssueRecord | undefined {
    return this.#records.get(id);
  }

  bySerial(serial: string): IssueRecord | undefined {
    return this.#bySerial.get(serial);
  }

  all(): IssueRecord[] {
    return [...this.#records.values()];
  }

  /** Counts from now on, so that requests at the same time cannot share the last place of a quota. */
  async put(record: IssueRecord): Promise<void> {
    const before = this.#records.get(record.id);
    this.#keep(record);
    this.#written.set(record.id, Number.POSITIVE_INFINITY);
    try {
      const { revision } = await this.#store.write(prefix + record.id, {
        expect: undefined,
        value: JSON.stringify(record),
      });
      this.#written.set(record.id, revision);
    } catch (error) {
      if (before === undefined) this.#records.delete(record.id);
      else this.#records.set(record.id, before);
      this.#written.delete(record.id);
      throw error;
    }
  }

  async remove(record: IssueRecord): Promise<void> {
    await this.#store.write(prefix + record.id, { expect: undefined, value: undefined });
    this.#forget(record);
  }

  #forget({ id, serial }: IssueRecord): void {
    this.#records.delete(id);
    this.#bySerial.delete(serial);
  }

  #keep(record: IssueRecord): void {
    this.#records.set(record.id, record);
    if (record.serial !== '') this.#bySerial.set(record.serial, record);
  }
}
