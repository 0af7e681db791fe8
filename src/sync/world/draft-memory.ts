// Remembers the drafts of the virtual objects, because objects are looked at again after host edits and for their rivals. A draft
// depends on the virtual object and on the rules alone.
import type { AddressPolicy, AddressRefusal } from '../plan/address-policy.ts';
import { type Draft, draftHost, type Translation } from '../plan/draft.ts';
import type { VirtualItem } from '../plan/kind.ts';
import type { Place } from '../plan/placement.ts';

interface DraftRules {
  translation: Translation;
  policy: AddressPolicy;
}

export interface Wanted {
  rules: DraftRules;
  draft: Draft;
  /** Undefined until the address policy is asked. */
  refusals: readonly AddressRefusal[] | undefined;
}

export class DraftMemory {
  readonly #wanted = new WeakMap<VirtualItem, Wanted>();

  of(virtual: VirtualItem, place: Place, rules: DraftRules): Wanted {
    const known = this.#wanted.get(virtual);
    if (known?.rules === rules) return known;
    const wanted = { rules, draft: draftHost(virtual, place, rules.translation), refusals: undefined };
    this.#wanted.set(virtual, wanted);
    return wanted;
  }

  refusalsOf(wanted: Wanted): readonly AddressRefusal[] {
    const { policy, translation } = wanted.rules;
    wanted.refusals ??= policy.refusals(translation.kind.addressesOf(wanted.draft.payload));
    return wanted.refusals;
  }
}
