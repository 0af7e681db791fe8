// All keys in memory, as authentication and the rules about keys need them: by name, by the id in their text, by the digest of a
// supplied value, and how many an owner has; their texts stay in the store. Follows the store, so that a change counts for the next
// request.
import type { KubeObject } from '../../../object/meta/object.ts';
import type { Follower, Followers } from '../../../store/follow/follower.ts';
import type { StoreEvent } from '../../../store/store.ts';
import type { SubjectName } from '../../scope/directory.ts';
import { type KeyFacts, keyFacts } from '../life/key-facts.ts';
import { RecentScopes } from '../life/recent-scopes.ts';
import type { KeyIndex } from '../secret/check-secret.ts';
import { FormerSecrets } from '../secret/former-secrets.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import type { SecretDigest } from '../secret/pepper.ts';
import { KeyTable, properties, suppliedText } from './key-table.ts';
import { StoredBytes } from './stored-bytes.ts';
import { hiddenPart } from './stored-key.ts';

export const keyPrefix = '/registry/ownedaccesskeys/';

/** Reservations of a create, until the book hears of the new key. */
export interface Reservation {
  owner: string;
  supplied: readonly string[];
  bytes: number;
}

export class KeyBook implements KeyIndex {
  readonly #gone: (uid: string) => void;
  readonly #table = new KeyTable(new RecentScopes());
  readonly #reserved = new Map<string, Reservation>();
  /** The keys of each owner; those that are being created among them. */
  readonly #owned = new Map<string, number>();
  /** Those of keys that are being created among them. */
  readonly bytes = new StoredBytes({ ofMemory: () => this.#table.bytes });
  readonly former = new FormerSecrets();
  /** Hear of every key that was written or is gone. */
  readonly #listeners = new Set<(uid: string) => void>();
  readonly #followed: Follower;

  constructor(followers: Followers, gone: (uid: string) => void) {
    this.#gone = gone;
    let seen: Set<string> | undefined;
    this.#followed = followers.of({
      prefix: keyPrefix,
      what: 'keys',
      begins: () => {
        // At a start the book is empty; after a lost watch it may have keys that are gone.
        seen = this.size === 0 ? undefined : new Set<string>();
      },
      found: ({ key, value, revision }) => {
        seen?.add(key.slice(keyPrefix.length));
        // The reason for its last change is not known any more.
        this.#put(key, value, revision);
      },
      ends: () => {
        if (seen !== undefined) for (const { name } of [...this.facts()]) if (!seen.has(name)) this.#remove(name);
        seen = undefined;
      },
      changed: (event) => this.#heard(event),
    });
  }

  async start(): Promise<void> {
    await this.#followed.start();
  }

  async stop(): Promise<void> {
    await this.#followed.stop();
  }

  get size(): number {
    return this.#table.size;
  }

  onChange(listener: (uid: string) => void): void {
    this.#listeners.add(listener);
  }

  /** All keys, or those with one of the `properties`; each is unpacked when its turn comes. */
  facts(having?: number): Iterable<KeyFacts> {
    return this.#table.all(having);
  }

  /** Keys whose value another user was shown. */
  heldByOthers(): Iterable<KeyFacts> {
    return this.#table.all(properties.isHeldByOther);
  }

  key(name: string): KeyFacts | undefined {
    return this.#table.byName(name);
  }

  /** A list at an older revision may show objects that the key must not see now. */
  viewSince(name: string): number {
    return this.#table.noted(name)?.viewSince ?? 0;
  }

  /** Of the stored text. */
  bytesOf(name: string): number | undefined {
    return this.#table.noted(name)?.bytes;
  }

  byId(id: string): KeyRecord | undefined {
    return this.#table.byId(id)?.record;
  }

  bySupplied(digest: SecretDigest): KeyRecord | undefined {
    return this.#table.bySupplied(digest)?.record;
  }

  ownerKeys(owner: SubjectName): number {
    return this.#owned.get(ownerKey(owner)) ?? 0;
  }

  /** Whether the value is in use, by a key that is there or by one that is being created. */
  isTaken(digests: readonly SecretDigest[]): boolean {
    if (this.isInUse(digests)) return true;
    const texts = new Set(digests.map(suppliedText));
    return [...this.#reserved.values()].some(({ supplied }) => supplied.some((text) => texts.has(text)));
  }

  /** By a key that is there. */
  isInUse(digests: readonly SecretDigest[]): boolean {
    return digests.some((digest) => this.#table.bySupplied(digest) !== undefined);
  }

  reserve(uid: string, owner: SubjectName, digests: readonly SecretDigest[], bytes: number): void {
    const reservation = { owner: ownerKey(owner), supplied: digests.map(suppliedText), bytes };
    this.#reserved.set(uid, reservation);
    this.#own(reservation.owner, 1, bytes);
  }

  release(uid: string): void {
    const reservation = this.#reserved.get(uid);
    if (reservation === undefined) return;
    this.#reserved.delete(uid);
    this.#own(reservation.owner, -1, -reservation.bytes);
  }

  #heard({ type, key, value, revision }: StoreEvent): void {
    if (type === 'put') this.#put(key, value, revision);
    else this.#remove(key.slice(keyPrefix.length));
  }

  /** A record that cannot be read lets nobody in, whatever it said before. */
  #put(key: string, text: string, revision: number): void {
    const name = key.slice(keyPrefix.length);
    try {
      this.#read(name, text, revision);
    } catch (error) {
      this.#remove(name);
      throw error;
    }
  }

  #read(name: string, text: string, revision: number): void {
    const object = JSON.parse(text) as KubeObject;
    if (object.metadata.name !== name)
      throw new Error(`read key "${name}": wanted its record, found that of "${object.metadata.name}"`);
    const part = hiddenPart(object);
    const before = this.#table.byName(name)?.record;
    const since = before === undefined ? 0 : this.viewSince(name);
    if (before !== undefined) this.#forget(name, part?.record);
    if (part === undefined) return;
    const { record } = part;
    // The generation rises with every change of scope, groups and the like, and with nothing else.
    const { uid, tokenGeneration } = record;
    const isSameView = before?.uid === uid ? before.tokenGeneration === tokenGeneration : tokenGeneration === 1;
    // At a start there are a million keys and no reservation.
    if (this.#reserved.size > 0) this.release(uid);
    const noted = { viewSince: isSameView ? since : revision, bytes: text.length };
    this.#table.add(keyFacts(object, record), noted);
    this.#own(ownerKey(record.subject), 1, text.length);
    this.#tell(uid);
  }

  #remove(name: string): void {
    const uid = this.#table.byName(name)?.record.uid;
    this.#forget(name);
    if (uid === undefined) return;
    this.#gone(uid);
    this.#tell(uid);
  }

  #tell(uid: string): void {
    for (const listener of this.#listeners) listener(uid);
  }

  #forget(name: string, now?: KeyRecord): void {
    const record = this.#table.byName(name)?.record;
    if (record === undefined) return;
    // A record that somebody has edited or put back goes too for a moment, so its value is only refused where nobody may look for it.
    this.former.end(record.secrets, now?.secrets);
    const bytes = this.bytesOf(name) ?? 0;
    this.#table.remove(name);
    this.#own(ownerKey(record.subject), -1, -bytes);
  }

  #own(owner: string, keys: 1 | -1, bytes: number): void {
    const count = (this.#owned.get(owner) ?? 0) + keys;
    if (count === 0) this.#owned.delete(owner);
    else this.#owned.set(owner, count);
    this.bytes.add(owner, bytes);
  }
}

export function ownerKey({ kind, name }: SubjectName): string {
  return `${kind}/${name}`;
}
