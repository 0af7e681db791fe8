// Keeps the records of issued client certificates: in the store, so that they survive a restart, and in memory, because every
// request reads them.
import { randomUUID } from 'node:crypto';
import type { Store } from '../../../store/store.ts';
import type { IssueRecord } from './issue-record.ts';

const prefix = '/management/issues/';
/** Tells our objects in a virtual cluster from those of another Hostward. */
const issuerKey = '/management/issuer';

export class IssueBook {
  readonly #store: Store;
  readonly #records = new Map<string, IssueRecord>();
  readonly #bySerial = new Map<string, IssueRecord>();
  #issuer = '';

  constructor(store: Store) {
    this.#store = store;
  }

  async start(): Promise<void> {
    const page = await this.#store.list(prefix);
    if (page.kind !== 'page')
      throw new Error('read the issued certificates: want the present, the store has forgotten it');
    for (const { value } of page.records) this.#keep(JSON.parse(value) as IssueRecord);
    const { record } = await this.#store.get(issuerKey);
    this.#issuer = record?.value ?? randomUUID();
    if (record === undefined) await this.#store.write(issuerKey, { expect: 0, value: JSON.stringify(this.#issuer) });
    else this.#issuer = JSON.parse(record.value) as string;
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
    try {
      await this.#store.write(prefix + record.id, { expect: undefined, value: JSON.stringify(record) });
    } catch (error) {
      if (before === undefined) this.#records.delete(record.id);
      else this.#records.set(record.id, before);
      throw error;
    }
  }

  async remove({ id, serial }: IssueRecord): Promise<void> {
    await this.#store.write(prefix + id, { expect: undefined, value: undefined });
    this.#records.delete(id);
    this.#bySerial.delete(serial);
  }

  #keep(record: IssueRecord): void {
    this.#records.set(record.id, record);
    if (record.serial !== '') this.#bySerial.set(record.serial, record);
  }
}
