// Judges which objects may be on the host, without regard to their rivals for a name. In: the windows, the rules, and what the
// address policy said about patched objects. It must never know who wins a name.
import type { Key } from '../../object/meta/object.ts';
import type { AddressRefusal } from '../plan/address-policy.ts';
import type { Claimant } from '../plan/claims.ts';
import { type Draft, draftHost } from '../plan/draft.ts';
import { type EligibilityVerdict, needsOf, type ObjectRef, type ServiceItem, type VirtualItem } from '../plan/kind.ts';
import type { HostPlace } from '../plan/placement.ts';
import type { Standings } from './registry.ts';
import type { Rules, Windows } from './sources.ts';
import type { Standing } from './standing.ts';

export interface Judged {
  verdict: EligibilityVerdict;
  /** Nobody knows yet whether the object that this one was made from may be on the host. */
  isSourcePending: boolean;
}

interface JudgedBy {
  virtual: VirtualItem | undefined;
  service: ServiceItem | undefined;
  isPlaced: boolean;
}

/** The host object that a virtual object asks for. */
interface Wanted {
  rules: Rules;
  draft: Draft;
  /** Undefined until the address policy is asked. */
  refusals: readonly AddressRefusal[] | undefined;
}

export class Candidates {
  readonly #windows: Windows;
  readonly #rules: () => Rules;
  readonly #standings: Standings;
  /** Objects whose patched addresses the policy refuses. */
  readonly #refused = new Set<Key>();
  /** Objects that have left their host names to rivals. */
  readonly #givenUp = new Set<Key>();
  readonly #wanted = new WeakMap<VirtualItem, Wanted>();

  constructor(windows: Windows, rules: () => Rules, standings: Standings) {
    this.#windows = windows;
    this.#rules = rules;
    this.#standings = standings;
  }

  /** Called when the patches of an object have run. */
  noteVerdict(key: Key, isRefused: boolean): void {
    if (isRefused) this.#refused.add(key);
    else this.#refused.delete(key);
  }

  /** Called when a pass has decided whether an object leaves its host names to rivals; returns whether that is news for them. */
  noteGivenUp(key: Key, isGivenUp: boolean): boolean {
    const isNews = this.#givenUp.has(key) !== isGivenUp;
    if (isGivenUp) this.#givenUp.add(key);
    else this.#givenUp.delete(key);
    return isNews;
  }

  /** Called for an object that is gone, or for all objects when the rules are new. */
  forget(key?: Key): void {
    for (const keys of [this.#refused, this.#givenUp])
      if (key === undefined) keys.clear();
      else keys.delete(key);
  }

  judge(key: Key, facts: JudgedBy): Judged {
    return this.#judge(key, facts, (source) => this.#standings.standingOf(source));
  }

  #judge(key: Key, facts: JudgedBy, standingOf: (source: ObjectRef) => Standing): Judged {
    const { kind } = this.#rules().translation;
    const verdict = kind.judge(key, facts);
    const source = verdict.kind === 'eligible' ? needsOf(kind, key, facts.virtual).source : undefined;
    if (!source) return { verdict, isSourcePending: false };
    // An object that was made from another one goes with that one; otherwise its values would reach the host after all.
    const standing = standingOf(source);
    if (standing.kind !== 'fails') return { verdict, isSourcePending: standing.kind === 'unknown' };
    const sentence = `the ${source.kind} "${source.key}" that it was made from has no current copy on the host: ${standing.why}`;
    return { verdict: { kind: 'ineligible', reason: 'SourceFails', sentence }, isSourcePending: false };
  }

  /** The object, if it may be on the host. With patches it may until the policy has seen their result. */
  claimantOf(key: Key): (Claimant & { uid: string }) | undefined {
    const virtual = this.#windows.virtual.get(key);
    const { translation, isPatched } = this.#rules();
    const place = translation.placement.placeOf(key);
    if (virtual === undefined || place === undefined || this.#refused.has(key)) return undefined;
    const serviceKey = needsOf(translation.kind, key, virtual).service;
    const service = serviceKey === undefined ? undefined : this.#windows.services.get(serviceKey);
    // While a change of its source waits, what was known before counts: the rivals hear of the outcome, not of the wait.
    const lastStanding = (source: ObjectRef): Standing => this.#standings.lastStandingOf(source);
    const { verdict, isSourcePending } = this.#judge(key, { virtual, service, isPlaced: true }, lastStanding);
    if (verdict.kind !== 'eligible' || (isSourcePending && this.#givenUp.has(key))) return undefined;
    if (!isPatched && this.refusalsOf(this.draftOf(virtual, place)).length > 0) return undefined;
    return { key, creationTimestamp: virtual.creationTimestamp, uid: virtual.uid };
  }

  /** Remembered, because objects are looked at again after host edits and for their rivals: it depends on object and rules alone. */
  draftOf(virtual: VirtualItem, place: HostPlace): Wanted {
    const rules = this.#rules();
    const known = this.#wanted.get(virtual);
    if (known?.rules === rules) return known;
    const wanted = { rules, draft: draftHost(virtual, place, rules.translation), refusals: undefined };
    this.#wanted.set(virtual, wanted);
    return wanted;
  }

  /** Used without patches only: the results of patches are judged after they have run. */
  refusalsOf(wanted: Wanted): readonly AddressRefusal[] {
    if (this.#rules().isPatched) return [];
    const { policy, translation } = wanted.rules;
    wanted.refusals ??= policy.refusals(translation.kind.addressesOf(wanted.draft.payload));
    return wanted.refusals;
  }
}
