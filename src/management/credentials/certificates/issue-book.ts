// Keeps the records of issued client certificates: in the store, so that they survive a restart, and in memory, because every
// request reads them.
import { randomUUID } from 'node:crypto';
import type { Follower, Followers } from '../../../store/follow/follower.ts';
import type { Store, StoreEvent } from '../../../store/store.ts';
import type { IssueRecord } from './issue-record.ts';

export const issuesPrefix = '/management/issues/';
/** Tells our objects in a virtual cluster from those of another Hostward. */
const issuerKey = '/management/issuer';

export class IssueBook {
  readonly #store: Store;
  readonly #records = new Map<string, IssueRecord>();
  readonly #bySerial = new Map<string, IssueRecord>();
  /** By id: the revision of the last own write, without an end while it is under way. */
  readonly #written = new Map<string, number>();
  #issuer = '';
  readonly #followed: Follower;

  constructor({ store, followers }: { store: Store; followers: Followers }) {
    this.#store = store;
    const there = new Set<string>();
    // Another replica may issue and remove certificates too.
    this.#followed = followers.of({
      prefix: issuesPrefix,
      what: 'issued certificates',
      begins: () => there.clear(),
      found: ({ value }) => {
        const record = JSON.parse(value) as IssueRecord;
        there.add(record.id);
        this.#keep(record);
      },
      ends: () => {
        for (const record of this.all()) if (!there.has(record.id)) this.#forget(record);
        there.clear();
      },
      changed: (event) => this.#changed(event),
    });
  }

  async start(): Promise<void> {
    await this.#followed.open();
    const { record } = await this.#store.get(issuerKey);
    const made = record === undefined ? JSON.stringify(randomUUID()) : record.value;
    const written = record === undefined ? await this.#store.write(issuerKey, { expect: 0, value: made }) : undefined;
    // Another replica may have been first.
    const text = written?.ok === false ? (written.current?.value ?? made) : made;
    this.#issuer = JSON.parse(text) as string;
    this.#followed.follow();
  }

  async stop(): Promise<void> {
    await this.#followed.stop();
  }

  #changed({ type, value, revision }: StoreEvent): void {
    const record = JSON.parse(value) as IssueRecord;
    // What this replica has written since counts already.
    const written = this.#written.get(record.id) ?? 0;
    if (revision >= written) this.#written.delete(record.id);
    if (revision <= written) return;
    if (type === 'put') this.#keep(record);
    else this.#forget(record);
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
      const { revision } = await this.#store.write(issuesPrefix + record.id, {
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
    await this.#store.write(issuesPrefix + record.id, { expect: undefined, value: undefined });
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
