// Collects the facts about one key from the windows onto both clusters. In: the windows and the rules in force. Out: facts. It
// must never write. It caches only values that follow from windows and rules.
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import { type Claimant, type Claims, chooseWinner } from '../plan/claims.ts';
import { markerLabel } from '../plan/keys/reserved-keys.ts';
import { type HostItem, type ServiceItem, serviceKeyOf, type VirtualItem } from '../plan/kind.ts';
import { type OwnerState, ownerStateOf } from '../plan/owner.ts';
import { incumbentOf, isOursFor, isSamePlace } from '../plan/ownership.ts';
import { canHaveBeenAt, type HostPlace, mayHoldStrays } from '../plan/placement.ts';
import type { Facts } from '../plan/step.ts';
import { Candidates } from './candidates.ts';
import type { Behind } from './copies-behind.ts';
import { Links, type NeedsIndex } from './needs-index.ts';
import type { Registry } from './registry.ts';
import type { NameView, ServiceNames } from './service-names.ts';
import type { Circumstances, Rules, Windows } from './sources.ts';

type ClashFacts = Pick<Facts, 'draft' | 'place' | 'serviceKey' | 'servicePlace'>;

export class World<R extends Rules = Rules> {
  readonly windows: Windows;
  readonly claims: Claims;
  /** The owner in the window may be gone; a request to the host is under way. */
  isOwnerInDoubt = false;
  readonly names: ServiceNames;
  readonly candidates: Candidates;
  readonly #needs: NeedsIndex;
  /** The keys that the annotations of copies name. A new mapping of namespaces leaves copies in their old places. */
  readonly #copies = new Links();
  #rules: R;
  #wasOwnerThere = false;

  /** `life` is of the sync that this world belongs to. */
  constructor(
    { windows, rules, registry }: { windows: Windows; rules: R; registry: Registry },
    life: Pick<NameView, 'isReady' | 'isWritten' | 'wake'>,
  ) {
    const { kind } = rules.translation;
    this.windows = windows;
    this.#rules = rules;
    this.#needs = registry.needs;
    this.claims = registry.claimsOf(kind.kind);
    this.candidates = new Candidates(windows, () => this.#rules, registry.standings);
    this.names = registry.join(kind.kind, {
      ...life,
      placement: () => this.#rules.translation.placement,
      hasService: (service) => this.windows.services.has(service),
      serviceKeyOf: (key) => this.serviceKeyOf(key),
      objectsOfService: (service) => this.objectsOfService(service),
      claimantOf: (key) => this.candidates.claimantOf(key),
      behindOf: (hostKey) => this.#behindOf(hostKey),
      ...(kind.needs === undefined
        ? { incumbentAt: (place, eligible) => this.#incumbentAt(place, eligible) }
        : { namedBy: (hostKey) => this.#namedBy(hostKey) }),
    });
  }

  get rules(): R {
    return this.#rules;
  }

  /** New rules may change host names, so all claims are counted again. */
  setRules(rules: R): void {
    this.#rules = rules;
    this.candidates.forget();
    for (const key of this.windows.virtual.keys()) this.noteVirtual(key);
  }

  /** Called when a virtual object came or went; returns the rivals that may now win or lose the name. */
  noteVirtual(key: Key): readonly Key[] {
    const named = [this.serviceKeyOf(key)];
    this.#needs.note(this.#rules.translation.kind, key, this.#namedService(key));
    named.push(this.serviceKeyOf(key));
    const rivals = [...new Set(named)].flatMap((service) => this.noteService(service));
    const place = this.placeOf(key);
    if (place === undefined) return rivals;
    const before = this.claims.claimants(place);
    if (this.windows.virtual.has(key)) this.claims.add(key, place);
    else {
      this.claims.remove(key, place);
      this.candidates.forget(key);
    }
    const after = this.claims.claimants(place);
    if (before.length > 1 || after.length > 1) rivals.push(...before, ...after);
    return rivals.filter((other) => other !== key);
  }

  /** Called when something changed at a virtual Service; returns the objects that may now win or lose its host name. */
  noteService(service: Key | undefined): Key[] {
    if (service === undefined) return [];
    this.names.wakeOthers(service);
    return [...this.names.rivalObjects(service)];
  }

  /** The Service that an object named when it was last noted. */
  serviceKeyOf(key: Key): Key | undefined {
    return this.#needs.serviceOf(this.#rules.translation.kind, key);
  }

  /** Reads the object only for a kind whose objects name their Services. */
  #namedService(key: Key): VirtualItem | undefined {
    return this.#rules.translation.kind.needs === undefined ? undefined : this.windows.virtual.get(key);
  }

  /** The keys of the objects that a virtual Service decides about. */
  objectsOfService(serviceKey: Key): readonly Key[] {
    return this.#needs.objectsOf(this.#rules.translation.kind, serviceKey);
  }

  /** The virtual Services that objects name, each with its objects. */
  namedServices(): ReturnType<NeedsIndex['namedServices']> {
    return this.#needs.namedServices(this.#rules.translation.kind);
  }

  /** The keys of the objects that depend on a Service of a mapped host namespace. */
  objectsOfHostService(hostKey: Key): readonly Key[] {
    const { kind, placement } = this.#rules.translation;
    if (kind.needs === undefined) return this.claimantsOf(hostKey);
    const { namespace, name } = splitKey(hostKey);
    const virtualNamespace = placement.virtualNamespaceOf(namespace);
    return virtualNamespace === undefined ? [] : this.objectsOfService(keyOf(virtualNamespace, name));
  }

  serviceOf(key: Key, virtual = this.windows.virtual.get(key)): ServiceItem | undefined {
    const serviceKey = serviceKeyOf(this.#rules.translation.kind, key, virtual);
    return serviceKey === undefined ? undefined : this.windows.services.get(serviceKey);
  }

  /** Does not read the Service, because reading it takes microseconds. */
  hasService(key: Key): boolean {
    const serviceKey = serviceKeyOf(this.#rules.translation.kind, key, this.#namedService(key));
    return serviceKey !== undefined && this.windows.services.has(serviceKey);
  }

  rivalsOf(key: Key): readonly Key[] {
    if (!this.claims.haveClashes) return [];
    const place = this.placeOf(key);
    const claimants = place === undefined ? [] : this.claims.claimants(place);
    return claimants.length > 1 ? claimants.filter((other) => other !== key) : [];
  }

  /** Who gets a name that several claim, asked again after the patches: the policy may have judged their result. */
  namesAfterPatches(facts: Facts): Pick<Facts, 'winner' | 'nameClash'> {
    return { winner: facts.winner && this.winnerOf(facts.key), nameClash: facts.nameClash && this.#nameClashOf(facts) };
  }

  /** The objects that may win or lose a name when this object may no longer, or may again, be on the host. */
  rivalsFor({ key, serviceKey }: Pick<Facts, 'key' | 'serviceKey'>): readonly Key[] {
    return [...this.rivalsOf(key), ...this.noteService(serviceKey)];
  }

  winnerOf(key: Key): Key | undefined {
    const place = this.placeOf(key);
    return place && this.#winnerAt(key, place);
  }

  /** Called when a host object came, changed or went; returns the keys that depend on it. */
  noteHost(hostKey: Key, how: { isOwnWrite?: boolean } = {}): Set<Key> {
    const place = splitKey(hostKey);
    const keys = new Set<Key>(this.claims.claimants(place));
    const annotated = this.windows.host.markOf(hostKey) || undefined;
    const mayBeStray = mayHoldStrays(place.namespace, this.#rules.translation.placement);
    if (annotated && (mayBeStray || isSamePlace(place as HostItem, this.placeOf(annotated)))) keys.add(annotated);
    if (mayBeStray) this.#copies.note(hostKey, annotated);
    for (const key of this.names.noteHost(hostKey, annotated, how)) keys.add(key);
    return keys;
  }

  /** The keys whose host name equals this host key. */
  claimantsOf(hostKey: Key): readonly Key[] {
    return this.claims.claimants(splitKey(hostKey));
  }

  placeOf(key: Key): HostPlace | undefined {
    return this.#rules.translation.placement.placeOf(key);
  }

  hostOf(place: HostPlace): HostItem | undefined {
    return this.windows.host.get(keyOf(place.namespace, place.name));
  }

  /** The place of the host object of this key, if the window does not watch it, so that every pass must read it again. */
  unseenOnHost(key: Key): HostPlace | undefined {
    if (this.windows.showsMarkedOnly !== true) return undefined;
    const place = this.placeOf(key);
    const host = place && this.hostOf(place);
    const isSeen = host?.labels?.[markerLabel] === this.#rules.translation.placement.virtualCluster;
    return host === undefined || isSeen ? undefined : place;
  }

  ownerState(): OwnerState {
    const known = this.knownOwner();
    if (known.kind !== 'present' || !this.isOwnerInDoubt) return known;
    const message = `Service "${known.name}", the owner of all host copies, is being checked: a host copy vanished or was refused`;
    return { kind: 'missing', message };
  }

  /** The owner according to the window, which may be outdated. */
  knownOwner(): OwnerState {
    const { placement } = this.#rules.translation;
    if (this.windows.owner === undefined) return { kind: 'none' };
    const { hostNamespace, virtualCluster } = placement;
    const service = this.windows.owner.get(keyOf(hostNamespace, virtualCluster));
    this.#wasOwnerThere ||= service !== undefined;
    return ownerStateOf(service, placement, { wasThere: this.#wasOwnerThere });
  }

  look(key: Key, circumstances: Circumstances): Facts {
    const { translation } = this.#rules;
    const virtual = this.windows.virtual.get(key);
    const serviceKey = serviceKeyOf(translation.kind, key, virtual);
    const service = serviceKey === undefined ? undefined : this.windows.services.get(serviceKey);
    const servicePlace = serviceKey === undefined ? undefined : this.placeOf(serviceKey);
    const place = this.placeOf(key);
    const host = place === undefined ? undefined : this.hostOf(place);
    const judged = this.candidates.judge(key, { virtual, service, isPlaced: place !== undefined });
    const wanted =
      judged.verdict.kind === 'eligible' && virtual && place ? this.candidates.draftOf(virtual, place) : undefined;
    const draft = wanted?.draft;
    return {
      ...circumstances,
      key,
      virtual,
      service,
      serviceKey,
      servicePlace,
      place,
      ...judged,
      host,
      hostService: servicePlace && this.windows.hostServices?.get(keyOf(servicePlace.namespace, servicePlace.name)),
      draft,
      patchFailure: undefined,
      reversed: undefined,
      strays: this.#straysOf(key, place),
      nameClash: this.#nameClashOf({ draft, place, serviceKey, servicePlace }),
      winner: draft === undefined || place === undefined ? undefined : this.#winnerAt(key, place),
      owner: this.ownerState(),
      refusals: wanted === undefined ? [] : this.candidates.refusalsOf(wanted),
    };
  }

  #winnerAt(key: Key, place: HostPlace): Key | undefined {
    if (this.claims.claimants(place).length < 2) return undefined;
    const host = this.hostOf(place);
    const claimants = this.#claimantsBeside(key, place);
    const eligible = claimants.flatMap((key) => this.candidates.claimantOf(key) ?? []);
    const incumbent = host === undefined ? undefined : incumbentOf(host, eligible, this.#rules.translation.placement);
    return chooseWinner(eligible, incumbent);
  }

  /** Without those of rival Services: their own clash has decided, and its loser would keep the name from its winner here. */
  #claimantsBeside(key: Key, place: HostPlace): readonly Key[] {
    const claimants = this.claims.claimants(place);
    if (this.#rules.translation.kind.needs === undefined) return claimants;
    return claimants.filter((other) => !this.names.areRivals(this.serviceKeyOf(key), this.serviceKeyOf(other)));
  }

  #nameClashOf({ draft, place, serviceKey, servicePlace }: ClashFacts): Facts['nameClash'] {
    if (draft === undefined || !place || !serviceKey || !servicePlace) return undefined;
    return this.names.clashOf(serviceKey, servicePlace, keyOf(place.namespace, place.name));
  }

  #incumbentAt(place: HostPlace, eligible: readonly Claimant[]): Key | undefined {
    const host = this.hostOf(place);
    const known = eligible.flatMap(({ key }) => this.candidates.claimantOf(key) ?? []);
    return host && incumbentOf(host, known, this.#rules.translation.placement);
  }

  #namedBy(hostKey: Key): Key | undefined {
    const host = this.windows.host.get(hostKey);
    const name = host && this.#rules.translation.kind.hostServiceOf?.(host);
    return name ? keyOf(splitKey(hostKey).namespace, name) : undefined;
  }

  #behindOf(hostKey: Key): Behind | undefined {
    const { kind, placement } = this.#rules.translation;
    const host = this.windows.host.get(hostKey);
    const copyOf = this.windows.host.markOf(hostKey);
    if (host === undefined || !copyOf || !isOursFor(host, copyOf, placement)) return undefined;
    const service = kind.hostServiceOf === undefined ? hostKey : this.#namedBy(hostKey);
    return service === undefined ? undefined : { service, copyOf };
  }

  #straysOf(key: Key, place: HostPlace | undefined): HostItem[] {
    const { placement } = this.#rules.translation;
    const strays: HostItem[] = [];
    for (const hostKey of this.#copies.objectsOf(key)) {
      const host = this.windows.host.get(hostKey);
      if (host === undefined || isSamePlace(host, place) || !canHaveBeenAt(host, key, placement)) continue;
      // Away from the key's own place the six are no proof without our marker: another virtual cluster writes them too.
      if (host.labels?.[markerLabel] === placement.virtualCluster && isOursFor(host, key, placement)) strays.push(host);
    }
    return strays;
  }
}
