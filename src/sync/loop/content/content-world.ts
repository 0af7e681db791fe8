// Puts together what both windows show of one piece of content; no other file reads these windows. It remembers which virtual
// objects carry the mark of an import, and the key that each copy on the host belongs to.
import type { Window } from '../../../cluster/window/window.ts';
import { type Key, keyOf, splitKey } from '../../../object/meta/object.ts';
import { type ContentKind, type HostContent, isToken, type VirtualContent } from '../../kinds/content/content-kind.ts';
import { isOwnCopy } from '../../kinds/content/own-copy.ts';
import { annotatedKeyOf, isOursFor, isSamePlace } from '../../plan/ownership.ts';
import type { HostPlace } from '../../plan/placement.ts';
import {
  copyPlaceOf,
  type Reference,
  type ReferenceStanding,
  sameNamePlaceOf,
} from '../../references/reference-names.ts';
import type { Rules } from '../../world/sources.ts';
import { type Unread, unreadIn } from '../../world/unread.ts';

export interface ContentWindows {
  virtual: Window<VirtualContent>;
  /** Host objects with the marker label of this virtual cluster. */
  copies: Window<HostContent>;
  /** Host objects that tenants may import. */
  importable: Window<HostContent>;
}

/** Remembered places, which tell the key of a deleted copy. Beyond the limit only a restart creates such a copy again. */
const placeLimit = 100_000;

export class ContentWorld {
  readonly kind: ContentKind;
  readonly windows: ContentWindows;
  readonly #rules: () => Rules;
  readonly #isExported: () => boolean;
  /** Virtual objects that carry the mark of an import. */
  readonly #marks = new Map<Key, string>();
  readonly #tokens = new Set<Key>();
  readonly #keyAt = new Map<Key, Key>();
  /** Copies of ours at the place of an earlier mapping, by their key. */
  readonly #strays = new Map<Key, Set<Key>>();

  constructor(options: { kind: ContentKind; windows: ContentWindows; rules: () => Rules; isExported: () => boolean }) {
    this.kind = options.kind;
    this.windows = options.windows;
    this.#rules = options.rules;
    this.#isExported = options.isExported;
  }

  get rules(): Rules {
    return this.#rules();
  }

  /** Whether what is decided now may still be sent. */
  untilNewRules(): () => boolean {
    const { rules } = this;
    return () => this.rules === rules;
  }

  get isExported(): boolean {
    return this.#isExported();
  }

  /** Of the tenant's objects, of their copies, and of what a tenant may import. */
  get unread(): Unread[] {
    const { resource } = this.kind.resource;
    const { virtual, copies, importable } = this.windows;
    return unreadIn([
      { cluster: 'virtual', resource, window: virtual },
      { cluster: 'host', resource, window: copies },
      { cluster: 'host', resource, window: importable },
    ]);
  }

  referenceOf(key: Key): Reference {
    return { kind: this.kind.kind, ...splitKey(key) };
  }

  /** Our copies have generated names with every `naming`, because vCluster keeps copies under its own names. */
  copyPlaceOf(key: Key): HostPlace | undefined {
    const { placement } = this.rules.translation;
    const place = copyPlaceOf(this.referenceOf(key), { placement, naming: 'generated' });
    if (place !== undefined) this.#keyAt.set(keyOf(place.namespace, place.name), key);
    if (this.#keyAt.size > placeLimit) this.#keyAt.delete(this.#keyAt.keys().next().value as Key);
    return place;
  }

  importPlaceOf(key: Key): HostPlace | undefined {
    return sameNamePlaceOf(this.referenceOf(key), this.rules.translation.placement);
  }

  importableAt(place: HostPlace | undefined): HostContent | undefined {
    return place && this.windows.importable.get(keyOf(place.namespace, place.name));
  }

  /** Call it when a virtual object came, changed or went. */
  noteVirtual(key: Key): void {
    const item = this.windows.virtual.get(key);
    if (item?.importedFrom === undefined) this.#marks.delete(key);
    else this.#marks.set(key, item.importedFrom);
    if (item !== undefined && isToken(item)) this.#tokens.add(key);
    else this.#tokens.delete(key);
  }

  /** Call it when a copy on the host came, changed or went; returns the keys that it concerns. */
  noteCopy(hostKey: Key): Key[] {
    const item = this.windows.copies.get(hostKey);
    const key = item && annotatedKeyOf(item);
    if (key !== undefined && this.#isStray(item as HostContent, key))
      this.#strays.set(key, (this.#strays.get(key) ?? new Set()).add(hostKey));
    const placed = this.keyOfCopy(hostKey);
    return [placed, key].filter((one) => one !== undefined);
  }

  #isStray(item: HostContent, key: Key): boolean {
    const { placement } = this.rules.translation;
    return !isSamePlace(item, this.copyPlaceOf(key)) && isOwnCopy(item, this.kind, placement);
  }

  straysOf(key: Key): HostContent[] {
    const strays: HostContent[] = [];
    for (const hostKey of this.#strays.get(key) ?? []) {
      const item = this.windows.copies.get(hostKey);
      if (item !== undefined && annotatedKeyOf(item) === key && this.#isStray(item, key)) strays.push(item);
      else this.#forgetStray(key, hostKey);
    }
    return strays;
  }

  #forgetStray(key: Key, hostKey: Key): void {
    const strays = this.#strays.get(key);
    if (strays?.delete(hostKey) && strays.size === 0) this.#strays.delete(key);
  }

  get strayed(): Iterable<Key> {
    return this.#strays.keys();
  }

  get marked(): Iterable<Key> {
    return this.#marks.keys();
  }

  /** Keys of the host copies at their right place. Only the place is compared, not all marks of a copy. */
  *copiedKeys(): IterableIterator<Key> {
    for (const hostKey of this.windows.copies.keys()) {
      const key = this.keyOfCopy(hostKey);
      if (key !== undefined) yield key;
    }
  }

  hasCopy(key: Key): boolean {
    const place = this.copyPlaceOf(key);
    return place !== undefined && this.windows.copies.has(keyOf(place.namespace, place.name));
  }

  /** Keys of the host copies at their right place that carry all marks of ours. */
  get ownKeys(): Key[] {
    const { placement } = this.rules.translation;
    return [...this.copiedKeys()].filter((key) => {
      const place = this.copyPlaceOf(key);
      const copy = place && this.windows.copies.get(keyOf(place.namespace, place.name));
      return copy !== undefined && isOursFor(copy, key, placement);
    });
  }

  /** The key that a host object is or was a copy of. */
  keyOfCopy(hostKey: Key): Key | undefined {
    const item = this.windows.copies.get(hostKey);
    const annotated = item && annotatedKeyOf(item);
    const place = annotated === undefined ? undefined : this.copyPlaceOf(annotated);
    if (place !== undefined && keyOf(place.namespace, place.name) === hostKey) return annotated;
    return this.#keyAt.get(hostKey);
  }

  hasEither(key: Key): boolean {
    const place = this.windows.virtual.has(key) ? undefined : this.copyPlaceOf(key);
    return place === undefined || this.windows.copies.has(keyOf(place.namespace, place.name));
  }

  /** The keys of the virtual objects, and of those that a copy on the host names. */
  *keysOfEither(): IterableIterator<Key> {
    yield* this.windows.virtual.keys();
    for (const hostKey of this.windows.copies.keys()) {
      const key = this.keyOfCopy(hostKey);
      if (key !== undefined) yield key;
    }
  }

  /** The standing of a reference, as far as it is known now. */
  standingOf(reference: Reference): ReferenceStanding {
    const key = keyOf(reference.namespace, reference.name);
    const mark = this.#marks.get(key);
    if (this.windows.virtual.has(key) && mark === undefined) return this.#standingOfTenants(key);
    const importable = this.importableAt(this.importPlaceOf(key));
    if (!this.windows.virtual.has(key)) return importable === undefined ? 'unresolved' : 'imported';
    return mark === importable?.uid ? 'imported' : this.#standingOfTenants(key);
  }

  #standingOfTenants(key: Key): ReferenceStanding {
    return this.isExported && !this.#tokens.has(key) ? 'exported' : 'named';
  }
}
