// Records which virtual objects claim which host name. Two of them may claim one ("api-x-default" in "default" and "api" in
// "default-x-default"). The winner is the same after every restart, and when it goes, the losers can be found here.
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { HostPlace } from './placement.ts';

export class Claims {
  /** A single key costs less memory than a set, and a name almost always has only one claimant. */
  readonly #byPlace = new Map<string, Key | Set<Key>>();
  /** Number of places with several claimants; zero in most clusters. */
  #clashes = 0;

  add(key: Key, place: HostPlace): void {
    const at = placeText(place);
    const held = this.#byPlace.get(at);
    if (held === undefined || held === key) this.#byPlace.set(at, key);
    else if (typeof held === 'string') {
      this.#byPlace.set(at, new Set([held, key]));
      this.#clashes++;
    } else held.add(key);
  }

  remove(key: Key, place: HostPlace): void {
    const at = placeText(place);
    const held = this.#byPlace.get(at);
    if (held === key) this.#byPlace.delete(at);
    if (!(held instanceof Set)) return;
    held.delete(key);
    const [last] = held;
    if (held.size !== 1 || last === undefined) return;
    this.#byPlace.set(at, last);
    this.#clashes--;
  }

  get haveClashes(): boolean {
    return this.#clashes > 0;
  }

  claimants(place: HostPlace): readonly Key[] {
    const held = this.#byPlace.get(placeText(place));
    if (held === undefined) return [];
    return typeof held === 'string' ? [held] : [...held];
  }

  get size(): number {
    return this.#byPlace.size;
  }
}

export interface Claimant {
  key: Key;
  creationTimestamp: string;
}

/** An eligible incumbent keeps the name. Without an incumbent the oldest claimant wins; among claimants of one age the smallest key wins. */
export function chooseWinner(eligible: readonly Claimant[], incumbent: Key | undefined): Key | undefined {
  if (incumbent !== undefined && eligible.some((claimant) => claimant.key === incumbent)) return incumbent;
  let winner: Claimant | undefined;
  for (const claimant of eligible) if (winner === undefined || isBefore(claimant, winner)) winner = claimant;
  return winner?.key;
}

function isBefore(one: Claimant, other: Claimant): boolean {
  // RFC 3339 in UTC with whole seconds sorts as text.
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp;
  return one.key < other.key;
}

function placeText(place: HostPlace): string {
  return keyOf(place.namespace, place.name);
}
