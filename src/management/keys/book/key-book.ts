// All keys in memory, as authentication and the rules about keys need them: by name, by the id in their text, by the digest of a
// supplied value, and how many an owner has. Follows the store, so that a change counts for the next request.
import type { KubeObject } from '../../../object/meta/object.ts';
import type { Store, StoreEvent, StoreWatch } from '../../../store/store.ts';
import type { SubjectName } from '../../scope/directory.ts';
import { type KeyFacts, keyFacts } from '../life/key-facts.ts';
import { RecentScopes } from '../life/recent-scopes.ts';
import type { KeyIndex } from '../secret/check-secret.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import type { SecretDigest } from '../secret/pepper.ts';
import { StoredBytes } from './stored-bytes.ts';
import { hiddenPart } from './stored-key.ts';

export const keyPrefix = '/registry/ownedaccesskeys/';
/** Keys that are read between two turns of the event loop. */
const pageRecords = 500;

/** Reservations of a create, until the book hears of the new key. */
export interface Reservation {
  uid: string;
  owner: string;
  supplied: readonly string[];
}

export class KeyBook implements KeyIndex {
  readonly #store: Store;
  readonly #gone: (uid: string) => void;
  readonly #byName = new Map<string, KeyFacts>();
  readonly #scopes = new RecentScopes();
  /** By name: the revision at which the present view of the key began. */
  readonly #viewSince = new Map<string, number>();
  readonly #byId = new Map<string, KeyRecord>();
  readonly #bySupplied = new Map<string, KeyRecord>();
  /** uids by owner; those of keys that are being created among them. */
  readonly #owned = new Map<string, Set<string>>();
  readonly #reserved = new Map<string, Reservation>();
  /** Those of keys that are being created among them. */
  readonly bytes = new StoredBytes();
  /** Hear of every key that was written or is gone. */
  readonly #listeners = new Set<(uid: string) => void>();
  #watch: StoreWatch | undefined;
  #following: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(store: Store, gone: (uid: string) => void) {
    this.#store = store;
    this.#gone = gone;
  }

  async start(): Promise<void> {
    const watch = await this.#open();
    this.#following = this.#follow(watch);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.close();
    await this.#following;
  }

  get size(): number {
    return this.#byName.size;
  }

  onChange(listener: (uid: string) => void): void {
    this.#listeners.add(listener);
  }

  facts(): Iterable<KeyFacts> {
    return this.#byName.values();
  }

  key(name: string): KeyFacts | undefined {
    return this.#byName.get(name);
  }

  /** A list at an older revision may show objects that the key must not see now. */
  viewSince(name: string): number {
    return this.#viewSince.get(name) ?? 0;
  }

  byId(id: string): KeyRecord | undefined {
    return this.#byId.get(id);
  }

  bySupplied(digest: SecretDigest): KeyRecord | undefined {
    return this.#bySupplied.get(suppliedKey(digest));
  }

  ownerKeys(owner: SubjectName): number {
    return this.#owned.get(ownerKey(owner))?.size ?? 0;
  }

  /** Whether the value is in use, by a key that is there or by one that is being created. */
  isTaken(digests: readonly SecretDigest[]): boolean {
    const keys = new Set(digests.map(suppliedKey));
    if ([...keys].some((key) => this.#bySupplied.has(key))) return true;
    return [...this.#reserved.values()].some(({ supplied }) => supplied.some((key) => keys.has(key)));
  }

  reserve(uid: string, owner: SubjectName, digests: readonly SecretDigest[], bytes: number): void {
    const reservation = { uid, owner: ownerKey(owner), supplied: digests.map(suppliedKey) };
    this.#reserved.set(uid, reservation);
    this.#own(reservation.owner, uid);
    this.bytes.set(uid, reservation.owner, bytes);
  }

  release(uid: string): void {
    const reservation = this.#reserved.get(uid);
    this.#reserved.delete(uid);
    if (reservation === undefined) return;
    this.#disown(reservation.owner, uid);
    this.bytes.forget(uid);
  }

  async #open(): Promise<StoreWatch> {
    const revision = await this.#store.currentRevision();
    const watch = await this.#store.watch(keyPrefix, revision);
    if (!('events' in watch)) throw new Error('watch the keys: want a watch from now on, the store has forgotten now');
    this.#watch = watch;
    // The stop could only close the watch before this one.
    if (this.#isStopped) watch.close();
    const seen = new Set<string>();
    let afterKey: string | undefined;
    for (;;) {
      const place = afterKey === undefined ? {} : { afterKey };
      const page = await this.#store.list(keyPrefix, { atRevision: revision, limit: pageRecords, ...place });
      if (page.kind !== 'page') throw new Error(`read the keys: want revision ${revision}, the store has forgotten it`);
      for (const { key, value, revision: changed } of page.records) {
        seen.add(key.slice(keyPrefix.length));
        // The reason for its last change is not known any more.
        this.#put(value, changed);
      }
      afterKey = page.records.at(-1)?.key;
      if (!page.hasMore) break;
    }
    for (const name of this.#byName.keys()) if (!seen.has(name)) this.#remove(name);
    return watch;
  }

  /** Opens a lost watch again at the present state of the store. */
  async #follow(first: StoreWatch): Promise<void> {
    let watch = first;
    for (;;) {
      for await (const batch of watch.events()) for (const event of batch) this.#heard(event);
      if (this.#isStopped || watch.ended === 'closed') return;
      watch = await this.#open();
    }
  }

  #heard({ type, key, value, revision }: StoreEvent): void {
    if (type === 'put') this.#put(value, revision);
    else this.#remove(key.slice(keyPrefix.length));
  }

  #put(text: string, revision: number): void {
    const object = JSON.parse(text) as KubeObject;
    const part = hiddenPart(object);
    const { name = '' } = object.metadata;
    const before = this.#byName.get(name)?.record;
    const since = this.viewSince(name);
    this.#forget(name);
    if (part === undefined) return;
    const { record } = part;
    // The generation rises with every change of scope, groups and the like, and with nothing else.
    const { uid, tokenGeneration } = record;
    const isSameView = before?.uid === uid ? before.tokenGeneration === tokenGeneration : tokenGeneration === 1;
    this.#viewSince.set(name, isSameView ? since : revision);
    this.#byName.set(name, keyFacts(object, record, this.#scopes));
    if (record.id !== '') this.#byId.set(record.id, record);
    // The slot of an overlap may hold a supplied value as well.
    for (const secret of record.secrets) if (secret.isSupplied) this.#bySupplied.set(suppliedKey(secret), record);
    this.#reserved.delete(record.uid);
    this.#own(ownerKey(record.subject), record.uid);
    this.bytes.set(record.uid, ownerKey(record.subject), text.length);
    this.#tell(record.uid);
  }

  #remove(name: string): void {
    const uid = this.#byName.get(name)?.record.uid;
    this.#forget(name);
    if (uid === undefined) return;
    this.#gone(uid);
    this.#tell(uid);
  }

  #tell(uid: string): void {
    for (const listener of this.#listeners) listener(uid);
  }

  #forget(name: string): void {
    const record = this.#byName.get(name)?.record;
    if (record === undefined) return;
    this.#byName.delete(name);
    this.#viewSince.delete(name);
    this.#byId.delete(record.id);
    for (const secret of record.secrets) if (secret.isSupplied) this.#bySupplied.delete(suppliedKey(secret));
    this.#disown(ownerKey(record.subject), record.uid);
    this.bytes.forget(record.uid);
  }

  #own(owner: string, uid: string): void {
    const uids = this.#owned.get(owner) ?? new Set<string>();
    this.#owned.set(owner, uids.add(uid));
  }

  #disown(owner: string, uid: string): void {
    const uids = this.#owned.get(owner);
    uids?.delete(uid);
    if (uids?.size === 0) this.#owned.delete(owner);
  }
}

export function ownerKey({ kind, name }: SubjectName): string {
  return `${kind}/${name}`;
}

function suppliedKey({ version, digest }: SecretDigest): string {
  return `${version} ${digest}`;
}
