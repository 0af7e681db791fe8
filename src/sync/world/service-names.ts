// Decides which Service keeps a host name, with its objects, when virtual Services of several namespaces get that name. All
// kinds share one decision, because a consumer on the host joins every object of a Service. Nearly every name has a single
// meaning, and costs a search in a text.
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import { type Claimant, chooseWinner } from '../plan/claims.ts';
import { type HostPlace, type Placement, sameNamed } from '../plan/placement.ts';
import type { NameClash } from '../plan/step.ts';
import { type Behind, CopiesBehind } from './copies-behind.ts';

/** A tenant may have thousands of objects at one Service; the first ones show as well as all of them that it has some. */
const judgedObjects = 100;

/** What must be known of a kind to judge a clash of names. */
export interface NameView {
  /** True once the first lists of the kind have arrived. */
  isReady(): boolean;
  /** False for a kind that is switched off: its copies stay, but it gets no new ones. */
  isWritten(): boolean;
  /** Wakes a key for news of another kind. */
  wake(key: Key): void;
  placement(): Placement;
  hasService(service: Key): boolean;
  /** The Service that an object named when it was last seen. */
  serviceKeyOf(key: Key): Key | undefined;
  /** Keys of the objects that a Service decides about. */
  objectsOfService(service: Key): readonly Key[];
  /** The object, if its own world would let it be on the host. */
  claimantOf(key: Key): Claimant | undefined;
  /** For a kind whose objects name their Services: the host key of the Service that a host object names at present. */
  namedBy?(hostKey: Key): Key | undefined;
  /** Undefined for a host object that is no copy of ours. */
  behindOf(hostKey: Key): Behind | undefined;
  /** For a kind whose objects are named like their Services: which claimant the object at the place belongs to. */
  incumbentAt?(place: HostPlace, eligible: readonly Claimant[]): Key | undefined;
}

/** The names of all kinds. */
export interface SharedNames {
  readonly all: readonly ServiceNames[];
  /** While it is unknown whether a further kind is synced too. */
  readonly areAwaited: boolean;
}

export class ServiceNames {
  readonly #view: NameView;
  readonly #shared: SharedNames;
  readonly #behind = new CopiesBehind();

  constructor(view: NameView, shared: SharedNames) {
    this.#view = view;
    this.#shared = shared;
  }

  get isNamedLikeService(): boolean {
    return this.#view.incumbentAt !== undefined;
  }

  /**
   * Called when a host object came, changed or went. `copyOf` is the virtual key in its annotations. Returns the objects that may
   * get the name because the copy no longer has it.
   */
  noteHost(
    hostKey: Key,
    copyOf: Key | undefined,
    { isOwnWrite = false }: { isOwnWrite?: boolean } = {},
  ): readonly Key[] {
    const before = this.#behind.get(hostKey);
    const virtual = copyOf ?? before?.copyOf;
    const service = virtual === undefined ? undefined : this.#view.serviceKeyOf(virtual);
    if (service !== undefined && before === undefined && this.#isSingle(service, hostKey, isOwnWrite)) return [];
    this.#behind.note(hostKey, this.#view.behindOf(hostKey));
    if (before === undefined || service === undefined || this.#behind.isBehind(hostKey, before.service)) return [];
    this.wakeOthers(service);
    return this.rivalObjects(service);
  }

  /** Called before a write that puts a copy behind a shared name: until its answer, no other Service gets the name. */
  noteWrite(hostKey: Key, behind: Behind): void {
    this.#behind.note(hostKey, behind);
  }

  /** Whether the copy has the host name of the Service, as after a write, and no other Service can get that name. */
  #isSingle(service: Key, hostKey: Key, isOwnWrite: boolean): boolean {
    if (this.#sameNamed(service).length > 0) return false;
    if (isOwnWrite || this.#view.namedBy === undefined) return true;
    const named = this.#view.namedBy(hostKey);
    const place = this.#view.placement().placeOf(service);
    return named === undefined || (place !== undefined && named === keyOf(place.namespace, place.name));
  }

  /** Undefined for a name that no other Service can get. */
  clashOf(service: Key, place: HostPlace, hostKey: Key): NameClash | undefined {
    const others = this.#sameNamed(service);
    if (others.length === 0) return undefined;
    const rivals = others.filter((one) => this.#view.hasService(one));
    const { namespace } = splitKey(service);
    const at = keyOf(place.namespace, place.name);
    const leaving = this.#shared.all.flatMap((names) => names.#behind.ofOthers(at, namespace) ?? [])[0];
    return {
      rivals,
      isPending: this.#shared.areAwaited || this.#others().some((names) => !names.#view.isReady()),
      holder: rivals.length === 0 ? service : this.#holder([service, ...rivals], place),
      ...(leaving !== undefined && !this.#behind.isBehind(hostKey, at) && { leaving }),
    };
  }

  areRivals(one: Key | undefined, other: Key | undefined): boolean {
    return one !== undefined && other !== undefined && this.#sameNamed(one).includes(other);
  }

  /** The objects of this kind that may win or lose a name because something changed at a Service. */
  rivalObjects(service: Key): readonly Key[] {
    return this.#sameNamed(service).flatMap((rival) => this.#view.objectsOfService(rival));
  }

  /** Wakes the objects of the other kinds for which something may have changed at a Service. */
  wakeOthers(service: Key): void {
    const rivals = this.#sameNamed(service);
    if (rivals.length === 0) return;
    for (const names of this.#others()) {
      for (const one of [service, ...rivals])
        for (const key of names.#view.objectsOfService(one)) names.#view.wake(key);
    }
  }

  #others(): readonly ServiceNames[] {
    return this.#shared.all.filter((names) => names !== this);
  }

  /** A Service with a copy behind the name keeps it. Without one the oldest object decides. */
  #holder(services: readonly Key[], place: HostPlace): Key | undefined {
    const worlds = this.#shared.all.filter((names) => names === this || names.#view.isWritten());
    const eligible = worlds.map((names) => names.#eligible(services));
    const [incumbent] = worlds.flatMap((names, at) => names.#incumbent(services, place, eligible[at] ?? []) ?? []);
    return chooseWinner(eligible.flat(), incumbent);
  }

  #eligible(services: readonly Key[]): readonly Claimant[] {
    return services.flatMap((service) => {
      const claimants: Claimant[] = [];
      for (const key of this.#view.objectsOfService(service).slice(0, judgedObjects)) {
        const claimant = this.#view.claimantOf(key);
        if (claimant !== undefined) claimants.push({ ...claimant, key: service });
      }
      return claimants;
    });
  }

  #incumbent(services: readonly Key[], place: HostPlace, eligible: readonly Claimant[]): Key | undefined {
    const found = this.#view.incumbentAt?.(place, eligible);
    if (found !== undefined) return eligible.some(({ key }) => key === found) ? found : undefined;
    const at = keyOf(place.namespace, place.name);
    // Sorted, so that the answer is the same for every rival.
    return [...services].sort().find((service) => {
      let judged = 0;
      for (const key of this.#behind.of(at, splitKey(service).namespace)) {
        if (this.#view.claimantOf(key) !== undefined) return true;
        if (++judged >= judgedObjects) return false;
      }
      return false;
    });
  }

  #sameNamed(service: Key): readonly Key[] {
    return sameNamed(service, this.#view.placement());
  }
}
