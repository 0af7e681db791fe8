// What the kinds of one engine know together: which object claims which host name, what each object needs to know of others, and
// which objects have the host name of a Service. In: the views of the kinds that join. It must never know how many kinds
// there are, or which.
import { Claims } from '../plan/claims.ts';
import type { ObjectRef } from '../plan/kind.ts';
import { NeedsIndex } from './needs-index.ts';
import { type NameView, ServiceNames, type SharedNames } from './service-names.ts';
import type { Standing } from './standing.ts';

/** What is known of an object of any kind. */
export interface Standings {
  /** Unknown while a change of the object waits, because its patches may fail on it. */
  standingOf(object: ObjectRef): Standing;
  /** What its last pass found. */
  lastStandingOf(object: ObjectRef): Standing;
}

export class Registry implements SharedNames {
  readonly needs = new NeedsIndex();
  readonly standings: Standings;
  readonly #claims = new Map<string, Claims>();
  /** The kinds whose objects are named like their Services go first, so that all kinds decide alike. */
  all: readonly ServiceNames[] = [];
  readonly #awaited = new Set<string>();

  constructor(standings: Standings) {
    this.standings = standings;
  }

  /** Objects of different kinds may have one host name, so each kind has its own claims. */
  claimsOf(kind: string): Claims {
    const claims = this.#claims.get(kind) ?? new Claims();
    this.#claims.set(kind, claims);
    return claims;
  }

  /** A kind that is going to be synced: until it is, no name that two Services claim is given away. */
  await(kind: string): void {
    this.#awaited.add(kind);
  }

  /** An awaited kind is not going to be synced after all. */
  goOnWithout(kind: string): void {
    this.#awaited.delete(kind);
  }

  join(kind: string, view: NameView): ServiceNames {
    const names = new ServiceNames(view, this);
    this.#awaited.delete(kind);
    this.all = [...this.all, names].sort((a, b) => Number(b.isNamedLikeService) - Number(a.isNamedLikeService));
    return names;
  }

  get areAwaited(): boolean {
    return this.#awaited.size > 0;
  }
}
