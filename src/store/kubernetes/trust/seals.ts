// Shows that a record of the host was written by a replica, and not by somebody else who can write there: an HMAC over its name and
// all of its data, under a key that does not lie on the host. In: the keys. Out: sealed data, and why a record is not believed. Only the
// record of the store itself says whether its records are sealed; a store from before the seals is believed as it is.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { HostRecord } from '../records/host-records.ts';
import { type HostData, metaName, sealedFormat } from '../records/record-format.ts';

export interface SealKey {
  version: number;
  bytes: Uint8Array;
}

export class Seals {
  /** Newest first. */
  readonly #keys: readonly SealKey[];
  /** Names the store, so that a record of another store with the same secrets is not believed; undefined = not sealed. */
  #store: string | undefined;
  #isChecking = true;

  constructor(keys: readonly SealKey[]) {
    this.#keys = keys.toSorted((a, b) => b.version - a.version);
  }

  get hasKeys(): boolean {
    return this.#keys.length > 0;
  }

  get isSealed(): boolean {
    return this.#store !== undefined;
  }

  /** From here on what is written is sealed, and only what is sealed is believed; undefined = neither. */
  useStore(store: string | undefined): void {
    this.#store = store;
    this.#isChecking = true;
  }

  /** What is written is sealed, and what has no seal is still believed. */
  beginSealing(store: string): void {
    this.#store = store;
    this.#isChecking = false;
  }

  /** The store whose records are sealed. */
  endSealing(): string {
    if (this.#store === undefined) throw new Error('end the sealing: want one that has begun');
    this.#isChecking = true;
    return this.#store;
  }

  applied(name: string, data: HostData): HostData {
    const [key] = this.#keys;
    if (this.#store === undefined || key === undefined) return data;
    const format = String(Math.max(sealedFormat, Number(data['format'])));
    const whole = { ...data, format, store: this.#store, sealKey: String(key.version) };
    return { ...whole, seal: sealOf(key, name, whole).toString('base64url') };
  }

  /** Why the record is not believed. */
  fault({ name, data }: HostRecord): string | undefined {
    const store = this.#store ?? (name === metaName ? data['store'] : undefined);
    if (store === undefined || !this.#isChecking) return undefined;
    const { seal, sealKey } = data;
    if (seal === undefined) return 'it has no seal, so no replica has written it';
    if (data['store'] !== store) return 'it was sealed for another store';
    const key = this.#keys.find(({ version }) => String(version) === sealKey);
    if (key === undefined) return `it is sealed with key ${sealKey}, which is not in secretsDir`;
    const [found, wanted] = [Buffer.from(seal, 'base64url'), sealOf(key, name, data)];
    const fits = found.length === wanted.length && timingSafeEqual(found, wanted);
    return fits ? undefined : 'its seal does not fit: somebody has made or edited it by hand';
  }
}

function sealOf({ bytes }: SealKey, name: string, { seal: _, ...data }: HostData): Buffer {
  const fields = Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHmac('sha256', bytes)
    .update(JSON.stringify([name, fields]))
    .digest();
}
