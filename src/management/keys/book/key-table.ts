// All keys as authentication and the rules about keys need them, packed: about 200 bytes for an ordinary key, of which a million
// are in memory. A row has what is the key's alone, and numbers of what it shares with others. In: the facts of a key. Out: the same
// facts, made when they are asked for; those that were asked for last are kept.

import { packedDigest, packedUid, unpackedDigest, unpackedUid } from '../../../store/packed/packed-ids.ts';
import { PackedTexts } from '../../../store/packed/packed-texts.ts';
import { SharedValues } from '../../../store/packed/shared-values.ts';
import { TextIndex } from '../../../store/packed/text-index.ts';
import { sourceNetworks } from '../../scope/patterns/source-networks.ts';
import type { KeyFacts } from '../life/key-facts.ts';
import { KeyScope, type RecentScopes } from '../life/recent-scopes.ts';
import type { KeyRecord, StoredSecret } from '../secret/key-record.ts';
import type { SecretDigest } from '../secret/pepper.ts';

/** Properties by which a search through all keys chooses without unpacking the others. */
export const properties = { ends: 1, isMade: 2, isOfKubeconfig: 4, isHeldByOther: 8 } as const;

/** What the book notes in addition to the facts. */
export interface Noted {
  /** The revision at which the present view of the key began. */
  viewSince: number;
  /** Of the stored text. */
  bytes: number;
}

type PackedSecret = [version: number, digest: string, isSupplied?: 0 | 1, validUntilMs?: number];

type Row = [
  name: string,
  uid: string,
  id: string,
  secrets: PackedSecret[],
  shared: readonly number[],
  tokenGeneration: number,
  creationMs: number,
  ttl: number,
  marks: number,
];

/** What a person, a configuration and a maker give to many keys. */
type SharedFacts = [
  subject: KeyRecord['subject'],
  granted: readonly string[],
  groups: readonly string[],
  holder: unknown,
  formerHolder?: unknown,
];
type Origin = [madeBy: unknown, createdBy: unknown, kubeconfig: unknown, networks: unknown];

const marks = { afterLastActivity: 1, isDeleted: 2, isDisabled: 4, isExpiryTold: 8 } as const;

/** Facts that are kept unpacked, and the characters of their rows and of what they share. */
const mostUnpacked = { count: 4_096, chars: 4 * 1024 * 1024 };
const smallest = 64;

export class KeyTable {
  readonly #scopes: RecentScopes;
  readonly #texts = new PackedTexts();
  readonly #shared = new SharedValues();
  readonly #byName = new TextIndex((row, name) => this.#facts(row).name === name);
  readonly #byId = new TextIndex((row, id) => this.#facts(row).record.id === id);
  readonly #bySupplied = new TextIndex((row, digest) => suppliedTexts(this.#facts(row).record).includes(digest));
  readonly #unpacked = new Map<number, { facts: KeyFacts; chars: number }>();
  #unpackedChars = 0;
  readonly #free: number[] = [];
  /** Rows in use and free ones. */
  #length = 0;
  #size = 0;
  /** Places plus one; 0 = a free row. */
  #places = new Uint32Array(smallest);
  #properties = new Uint8Array(smallest);
  #bytes = new Uint32Array(smallest);
  #viewSince = new Float64Array(smallest);

  constructor(scopes: RecentScopes) {
    this.#scopes = scopes;
  }

  get size(): number {
    return this.#size;
  }

  /** What the table takes of memory. */
  get bytes(): number {
    const columns = this.#places.length * (4 + 1 + 4 + 8);
    const indexes = this.#byName.bytes + this.#byId.bytes + this.#bySupplied.bytes;
    return columns + indexes + this.#texts.bytes + this.#shared.bytes;
  }

  /** The caller makes sure that the name is new. */
  add(facts: KeyFacts, { viewSince, bytes }: Noted): void {
    const row = this.#free.pop() ?? this.#grow();
    const { record } = facts;
    this.#places[row] = this.#texts.put(JSON.stringify(this.#packed(facts))) + 1;
    this.#properties[row] = propertiesOf(facts);
    this.#bytes[row] = bytes;
    this.#viewSince[row] = viewSince;
    this.#size++;
    this.#byName.add(facts.name, row);
    if (record.id !== '') this.#byId.add(record.id, row);
    for (const digest of suppliedTexts(record)) this.#bySupplied.add(digest, row);
  }

  remove(name: string): void {
    const row = this.#byName.find(name);
    if (row === undefined) return;
    const { record } = this.#facts(row);
    this.#byName.remove(name, row);
    if (record.id !== '') this.#byId.remove(record.id, row);
    for (const digest of suppliedTexts(record)) this.#bySupplied.remove(digest, row);
    const place = (this.#places[row] as number) - 1;
    const [, , , , shared] = JSON.parse(this.#texts.get(place)) as Row;
    for (const number of shared) this.#shared.release(number);
    this.#texts.remove(place);
    this.#forget(row);
    this.#places[row] = 0;
    this.#free.push(row);
    this.#size--;
  }

  byName(name: string): KeyFacts | undefined {
    const row = this.#byName.find(name);
    return row === undefined ? undefined : this.#facts(row);
  }

  noted(name: string): Noted | undefined {
    const row = this.#byName.find(name);
    if (row === undefined) return undefined;
    return { viewSince: this.#viewSince[row] as number, bytes: this.#bytes[row] as number };
  }

  byId(id: string): KeyFacts | undefined {
    const row = this.#byId.find(id);
    if (row !== undefined) return this.#facts(row);
    // As long as it takes for a key that there is.
    JSON.parse(standIn);
    return undefined;
  }

  bySupplied(digest: SecretDigest): KeyFacts | undefined {
    const row = this.#bySupplied.find(suppliedText(digest));
    return row === undefined ? undefined : this.#facts(row);
  }

  /** Those with one of the properties, or all. What is added in the meantime may be missing. */
  *all(having?: number): Generator<KeyFacts> {
    for (let row = 0; row < this.#length; row++) {
      if (this.#places[row] === 0) continue;
      if (having === undefined || ((this.#properties[row] as number) & having) !== 0)
        yield this.#unpacked.get(row)?.facts ?? this.#unpack(row).facts;
    }
  }

  #packed({ name, record, times, isDeleted, isDisabled, groups, scoped, networksText }: KeyFacts): Row {
    const { subject, grantedGroups, holder = 0, formerHolder, madeBy = 0, createdBy = 0, kubeconfig = 0 } = record;
    const people: SharedFacts = [subject, grantedGroups, groups, holder];
    if (formerHolder !== undefined) people.push(formerHolder);
    const origin: Origin = [madeBy, createdBy, kubeconfig, networksText ?? 0];
    const shared = [this.#shared.hold(JSON.stringify(people)), this.#shared.hold(JSON.stringify(origin))];
    if (scoped !== undefined) shared.push(this.#shared.hold(scoped.text));
    return [
      name,
      packedUid(record.uid),
      record.id,
      record.secrets.map(packedSecret),
      shared,
      record.tokenGeneration,
      times.creationMs,
      times.ttl,
      (times.afterLastActivity ? marks.afterLastActivity : 0) |
        (isDeleted ? marks.isDeleted : 0) |
        (isDisabled ? marks.isDisabled : 0) |
        (record.isExpiryTold === true ? marks.isExpiryTold : 0),
    ];
  }

  #facts(row: number): KeyFacts {
    const known = this.#unpacked.get(row);
    if (known !== undefined) return known.facts;
    const unpacked = this.#unpack(row);
    this.#unpacked.set(row, unpacked);
    this.#unpackedChars += unpacked.chars;
    for (const oldest of this.#unpacked.keys()) {
      if (this.#unpacked.size <= mostUnpacked.count && this.#unpackedChars <= mostUnpacked.chars) break;
      if (oldest !== row) this.#forget(oldest);
    }
    return unpacked.facts;
  }

  #forget(row: number): void {
    this.#unpackedChars -= this.#unpacked.get(row)?.chars ?? 0;
    this.#unpacked.delete(row);
  }

  #unpack(row: number): { facts: KeyFacts; chars: number } {
    const text = this.#texts.get((this.#places[row] as number) - 1);
    const [name, uid, id, secrets, shared, tokenGeneration, creationMs, ttl, marked] = JSON.parse(text) as Row;
    const [peopleAt, originAt, scopeAt] = shared as [number, number, number | undefined];
    const [subject, grantedGroups, groups, holder, formerHolder] = this.#shared.parsed(peopleAt) as SharedFacts;
    const [madeBy, createdBy, kubeconfig, networks] = this.#shared.parsed(originAt) as Origin;
    const record: KeyRecord = {
      name,
      uid: unpackedUid(uid),
      id,
      secrets: secrets.map(unpackedSecret),
      subject,
      grantedGroups,
      madeBy: (madeBy || undefined) as KeyRecord['madeBy'],
      tokenGeneration,
    };
    if (createdBy !== 0) record.createdBy = createdBy as NonNullable<KeyRecord['createdBy']>;
    if (holder !== 0) record.holder = holder as NonNullable<KeyRecord['holder']>;
    if (formerHolder !== undefined) record.formerHolder = formerHolder as NonNullable<KeyRecord['formerHolder']>;
    if (kubeconfig !== 0) record.kubeconfig = kubeconfig as NonNullable<KeyRecord['kubeconfig']>;
    if ((marked & marks.isExpiryTold) !== 0) record.isExpiryTold = true;
    const networksText = networks === 0 ? undefined : (networks as string);
    const scopeText = scopeAt === undefined ? undefined : this.#shared.text(scopeAt);
    const facts: KeyFacts = {
      name,
      record,
      times: { creationMs, ttl, afterLastActivity: (marked & marks.afterLastActivity) !== 0 },
      isDeleted: (marked & marks.isDeleted) !== 0,
      isDisabled: (marked & marks.isDisabled) !== 0,
      groups,
      scoped: scopeText === undefined ? undefined : new KeyScope(scopeText, this.#scopes),
      networks: networksText === undefined ? undefined : sourceNetworks(networksText),
      networksText,
    };
    const sharedChars = this.#shared.text(peopleAt).length + this.#shared.text(originAt).length;
    return { facts, chars: text.length + sharedChars + (scopeText?.length ?? 0) };
  }

  #grow(): number {
    if (this.#length === this.#places.length) {
      const length = this.#length * 2;
      const [places, having, bytes, viewSince] = [this.#places, this.#properties, this.#bytes, this.#viewSince];
      this.#places = new Uint32Array(length);
      this.#places.set(places);
      this.#properties = new Uint8Array(length);
      this.#properties.set(having);
      this.#bytes = new Uint32Array(length);
      this.#bytes.set(bytes);
      this.#viewSince = new Float64Array(length);
      this.#viewSince.set(viewSince);
    }
    return this.#length++;
  }
}

function propertiesOf({ times, record: { subject, madeBy, kubeconfig, holder, formerHolder } }: KeyFacts): number {
  const isHeldByOther = [holder, formerHolder].some(
    (one) => one !== undefined && !(subject.kind === 'user' && subject.name === one.name),
  );
  return (
    (times.ttl > 0 ? properties.ends : 0) |
    (madeBy !== undefined ? properties.isMade : 0) |
    (kubeconfig !== undefined ? properties.isOfKubeconfig : 0) |
    (isHeldByOther ? properties.isHeldByOther : 0)
  );
}

function packedSecret({ version, digest, isSupplied, validUntilMs }: StoredSecret): PackedSecret {
  const packed = packedDigest(digest);
  if (validUntilMs !== undefined) return [version, packed, isSupplied ? 1 : 0, validUntilMs];
  return isSupplied ? [version, packed, 1] : [version, packed];
}

function unpackedSecret([version, digest, isSupplied, validUntilMs]: PackedSecret): StoredSecret {
  return { version, digest: unpackedDigest(digest), validUntilMs, isSupplied: isSupplied === 1 };
}

export function suppliedText({ version, digest }: SecretDigest): string {
  return `${version} ${digest}`;
}

/** The slot of an overlap may hold a supplied value as well. */
function suppliedTexts({ secrets }: KeyRecord): string[] {
  return [...new Set(secrets.filter(({ isSupplied }) => isSupplied).map(suppliedText))];
}

const standIn = JSON.stringify([
  'stand-in',
  'A'.repeat(22),
  'A'.repeat(17),
  [[1, 'A'.repeat(43)]],
  [0, 1],
  1,
  1_700_000_000_000,
  0,
  0,
]);
