// What sync can see of both clusters, put together for one key: the only place where the windows are read. In: windows and
// the rules in force. Out: facts. It must never write. What it remembers follows from the windows and the rules: which keys
// claim which host name, and what was worked out of an object that is looked at more than once.
import type { Window } from '../../cluster/window/window.ts';
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import type { AddressPolicy, AddressRefusal } from '../plan/address-policy.ts';
import { Claims, chooseWinner } from '../plan/claims.ts';
import { type Draft, draftHost, type Translation } from '../plan/draft.ts';
import type { HostItem, HostServiceItem, ServiceItem, VirtualItem } from '../plan/kind.ts';
import type { OwnerState } from '../plan/owner.ts';
import { annotatedKeyOf, isOursFor, isSamePlace, judgeOwnership } from '../plan/ownership.ts';
import type { Place } from '../plan/placement.ts';
import { markerLabel, objectKeys } from '../plan/reserved-keys.ts';
import type { Facts } from '../plan/step.ts';

export interface Windows {
  virtual: Window<VirtualItem>;
  services: Window<ServiceItem>;
  host: Window<HostItem>;
  /** The Service VC in HNS; undefined when no owner reference is written. */
  owner: Window<ServiceItem> | undefined;
  /** The host window shows only what bears our marker label: news of any other object does not come by itself. */
  showsMarkedOnly?: boolean;
  /** Services of the host namespaces that are mapped, where names are shared with the host's own people. */
  hostServices?: Window<HostServiceItem> | undefined;
}

export interface Rules {
  translation: Translation;
  policy: AddressPolicy;
  /** Patches decide which addresses are published, so the address policy is asked after them. */
  isPatched: boolean;
}

/** What the conductor knows beside the windows. */
export interface Circumstances {
  isDeleteWithheld: boolean;
  ignoreOrder: boolean;
  mayRemoveLabelsBack: boolean;
  backFlowWaitMs: number;
}

interface Wanted {
  rules: Rules;
  draft: Draft;
  /** Undefined until somebody asks. */
  refusals: readonly AddressRefusal[] | undefined;
}

export class World<R extends Rules = Rules> {
  readonly windows: Windows;
  readonly claims = new Claims();
  /** The owner in the window may be gone, and the host has been asked. */
  isOwnerInDoubt = false;
  /** Host objects by the key they say they are for; kept in namespace-mapping mode only, where a key can move. */
  readonly #hostByKey = new Map<Key, Set<Key>>();
  readonly #keyByHost = new Map<Key, Key>();
  /** What the address policy said after patches; of objects whose name others claim as well. */
  readonly #isRefused = new Map<Key, boolean>();
  readonly #wanted = new WeakMap<VirtualItem, Wanted>();
  #rules: R;

  constructor(windows: Windows, rules: R) {
    this.windows = windows;
    this.#rules = rules;
  }

  get rules(): R {
    return this.#rules;
  }

  /** New rules may move claims: they are counted anew. */
  setRules(rules: R): void {
    this.#rules = rules;
    this.#isRefused.clear();
    for (const key of this.windows.virtual.keys()) this.noteVirtual(key);
  }

  /** A virtual object came or went; returns the other keys whose chances this changes. */
  noteVirtual(key: Key): readonly Key[] {
    const place = this.placeOf(key);
    if (place === undefined) return [];
    const before = this.claims.claimants(place);
    if (this.windows.virtual.has(key)) this.claims.add(key, place);
    else {
      this.claims.remove(key, place);
      this.#isRefused.delete(key);
    }
    return before.length > 1 || this.claims.claimants(place).length > 1
      ? [...before, ...this.claims.claimants(place)].filter((other) => other !== key)
      : [];
  }

  rivalsOf(key: Key): readonly Key[] {
    if (!this.claims.areContested) return [];
    const place = this.placeOf(key);
    const claimants = place === undefined ? [] : this.claims.claimants(place);
    return claimants.length > 1 ? claimants.filter((other) => other !== key) : [];
  }

  /** Patches have run and the policy has judged what they made; returns the rivals whose chances this changes. */
  noteVerdict(key: Key, isRefused: boolean): readonly Key[] {
    const rivals = this.rivalsOf(key);
    if (rivals.length === 0) this.#isRefused.delete(key);
    if (rivals.length === 0 || this.#isRefused.get(key) === isRefused) return [];
    this.#isRefused.set(key, isRefused);
    return rivals;
  }

  winnerOf(key: Key): Key | undefined {
    const place = this.placeOf(key);
    return place && this.#winnerAt(place, this.hostOf(place));
  }

  /** A host object came, changed or went; returns the keys that must look at it. */
  noteHost(hostKey: Key): Set<Key> {
    const place = splitKey(hostKey);
    const keys = new Set<Key>(this.claims.claimants(place));
    const annotated = this.windows.host.markOf(hostKey) || undefined;
    if (annotated !== undefined && (isSamePlace(place as HostItem, this.placeOf(annotated)) || this.#isMapped())) {
      keys.add(annotated);
    }
    if (this.#isMapped()) this.#indexHost(hostKey, annotated);
    return keys;
  }

  /** A Service of the host came, changed or went: who would have its name. */
  claimantsOf(hostKey: Key): readonly Key[] {
    return this.claims.claimants(splitKey(hostKey));
  }

  placeOf(key: Key): Place | undefined {
    return this.#rules.translation.placement.placeOf(key);
  }

  hostOf(place: Place): HostItem | undefined {
    return this.windows.host.get(keyOf(place.namespace, place.name));
  }

  /** Known from a read alone: a pass that rests on it reads it again. */
  isHostUnseen(key: Key): boolean {
    if (this.windows.showsMarkedOnly !== true) return false;
    const place = this.placeOf(key);
    const host = place && this.hostOf(place);
    return host !== undefined && host.labels?.[markerLabel] !== this.#rules.translation.placement.virtualCluster;
  }

  ownerState(): OwnerState {
    const known = this.knownOwner();
    if (known.kind !== 'present' || !this.isOwnerInDoubt) return known;
    const message = `Service "${known.name}", the owner of all host copies, is being looked for: a copy vanished or was refused`;
    return { kind: 'missing', message };
  }

  /** What the window shows, which may be behind. */
  knownOwner(): OwnerState {
    const { placement } = this.#rules.translation;
    if (this.windows.owner === undefined) return { kind: 'none' };
    const { hostNamespace, virtualCluster } = placement;
    const service = this.windows.owner.get(keyOf(hostNamespace, virtualCluster));
    const name = `Service "${virtualCluster}" in host namespace "${hostNamespace}"`;
    if (service === undefined)
      return { kind: 'missing', message: `${name}, the owner of all host copies, does not exist` };
    if (service.isDeleting)
      return { kind: 'missing', message: `${name}, the owner of all host copies, is being deleted` };
    return { kind: 'present', name: virtualCluster, uid: service.uid };
  }

  look(key: Key, circumstances: Circumstances): Facts {
    const { translation } = this.#rules;
    const virtual = this.windows.virtual.get(key);
    const service = this.windows.services.get(key);
    const place = this.placeOf(key);
    const host = place === undefined ? undefined : this.hostOf(place);
    const verdict = translation.kind.judge(key, { virtual, service, isPlaced: place !== undefined });
    const wanted = verdict.kind === 'eligible' && virtual && place ? this.#wantedOf(virtual, place) : undefined;
    const draft = wanted?.draft;
    return {
      ...circumstances,
      key,
      virtual,
      service,
      place,
      verdict,
      host,
      hostService: place && this.windows.hostServices?.get(keyOf(place.namespace, place.name)),
      draft,
      patchFailure: undefined,
      reversed: undefined,
      strays: this.#straysOf(key, place),
      winner: draft === undefined || place === undefined ? undefined : this.#winnerAt(place, host),
      owner: this.ownerState(),
      // With patches it is what they make that is judged, when they have run.
      refusals: wanted === undefined || this.#rules.isPatched ? [] : this.#refusalsOf(wanted),
    };
  }

  /** What follows from the virtual object alone; a look after an edit on the host, or by a rival, is one at the same. */
  #wantedOf(virtual: VirtualItem, place: Place): Wanted {
    const known = this.#wanted.get(virtual);
    if (known?.rules === this.#rules) return known;
    const draft = draftHost(virtual, place, this.#rules.translation);
    const wanted = { rules: this.#rules, draft, refusals: undefined };
    this.#wanted.set(virtual, wanted);
    return wanted;
  }

  #refusalsOf(wanted: Wanted): readonly AddressRefusal[] {
    const { policy, translation } = wanted.rules;
    wanted.refusals ??= policy.refusals(translation.kind.addressesOf(wanted.draft.payload));
    return wanted.refusals;
  }

  #winnerAt(place: Place, host: HostItem | undefined): Key | undefined {
    const claimants = this.claims.claimants(place);
    if (claimants.length < 2) return undefined;
    const { translation } = this.#rules;
    const eligible = claimants.flatMap((key) => {
      const virtual = this.windows.virtual.get(key);
      const service = this.windows.services.get(key);
      if (
        virtual === undefined ||
        translation.kind.judge(key, { virtual, service, isPlaced: true }).kind !== 'eligible'
      )
        return [];
      if (this.#isRefused.get(key) ?? this.#refusalsOf(this.#wantedOf(virtual, place)).length > 0) return [];
      return [{ key, creationTimestamp: virtual.creationTimestamp, uid: virtual.uid }];
    });
    const incumbent = host === undefined ? undefined : incumbentOf(host, eligible, translation.placement);
    return chooseWinner(eligible, incumbent);
  }

  #straysOf(key: Key, place: Place | undefined): HostItem[] {
    const { placement } = this.#rules.translation;
    const strays: HostItem[] = [];
    for (const hostKey of this.#hostByKey.get(key) ?? []) {
      const host = this.windows.host.get(hostKey);
      if (host === undefined || isSamePlace(host, place)) continue;
      // Elsewhere than at the key's own place all six alone prove nothing: another virtual cluster writes them too.
      if (host.labels?.[markerLabel] === placement.virtualCluster && isOursFor(host, key, placement)) strays.push(host);
    }
    return strays;
  }

  #indexHost(hostKey: Key, annotated: Key | undefined): void {
    const before = this.#keyByHost.get(hostKey);
    if (before !== undefined && before !== annotated) {
      const held = this.#hostByKey.get(before);
      held?.delete(hostKey);
      if (held?.size === 0) this.#hostByKey.delete(before);
      this.#keyByHost.delete(hostKey);
    }
    if (annotated === undefined) return;
    this.#keyByHost.set(hostKey, annotated);
    const held = this.#hostByKey.get(annotated) ?? new Set();
    this.#hostByKey.set(annotated, held.add(hostKey));
  }

  #isMapped(): boolean {
    return this.#rules.translation.placement.mode === 'mapped';
  }
}

/** Whose copy it is. A damaged one belongs to the claimant that nothing on it contradicts. */
function incumbentOf(
  host: HostItem,
  claimants: readonly { key: Key; uid: string }[],
  placement: Translation['placement'],
): Key | undefined {
  const annotated = annotatedKeyOf(host);
  if (annotated !== undefined && isOursFor(host, annotated, placement)) return annotated;
  const possible = claimants.filter(({ key }) => judgeOwnership(host, key, placement).kind === 'ours');
  const holder = possible.find(({ uid }) => uid === host.annotations?.[objectKeys.uid]);
  return (holder ?? (possible.length === 1 ? possible[0] : undefined))?.key;
}
