// Keys of others of which a user who has left knows a valid value: they outlive whoever was shown them. The maker of a team's key has left who
// is missing or disabled, is another person of that name by now, or is in the team no more; the maker of another user's key, an
// administrator, also who is one no more. Pure but for the log.
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { firstFew } from '../../../object/text/in-words.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import { deadByItself, type KeyWorld } from './credential.ts';
import type { KeyFacts } from './key-facts.ts';

export interface LeaversKeys {
  user: string;
  /** Empty for keys of users and subjects. */
  team: string;
  /** Names of keys that are alive, in their order. */
  keys: readonly string[];
}

export function keysOfLeavers(facts: Iterable<KeyFacts>, world: KeyWorld, nowMs: number): LeaversKeys[] {
  const found = new Map<string, { user: string; team: string; keys: string[] }>();
  const known = new Map<string, boolean>();
  for (const one of facts) {
    const { subject } = one.record;
    const team = subject.kind === 'team' ? subject.name : '';
    for (const holder of holdersOf(one.record, nowMs)) {
      if (subject.kind === 'user' && subject.name === holder.name) continue;
      const id = JSON.stringify([holder.name, team]);
      const asked = `${id} ${holder.uid}`;
      const hasLeft = known.get(asked) ?? isGone(holder, team, world);
      known.set(asked, hasLeft);
      if (!hasLeft || deadByItself(one, world, nowMs) !== undefined) continue;
      const group = found.get(id) ?? { user: holder.name, team, keys: [] };
      if (group.keys.at(-1) !== one.name) group.keys.push(one.name);
      found.set(id, group);
    }
  }
  return [...found.values()].map((group) => ({ ...group, keys: group.keys.sort() }));
}

/** Who was shown the present value, and while it is valid the one that a rotation left. */
function holdersOf({ holder, formerHolder, secrets: [, former] }: KeyRecord, nowMs: number): Holder[] {
  const isLeft = former?.validUntilMs !== undefined && nowMs < former.validUntilMs;
  return [holder, isLeft ? formerHolder : undefined].filter((one) => one !== undefined);
}

type Holder = NonNullable<KeyRecord['holder']>;

function isGone(holder: Holder, team: string, { directory, subjectUid }: KeyWorld): boolean {
  const resolved = directory.resolve({ kind: 'user', name: holder.name });
  if (resolved.kind !== 'here' || subjectUid('user', holder.name) !== holder.uid) return true;
  // An administrator may make keys of every team, and needs to be in none.
  return !resolved.subject.teams.has(team) && !resolved.subject.isAdministrator;
}

/** For the first line of `hostward status` and for the log. */
export function leaverSentence({ user, team, keys }: LeaversKeys): string {
  const names = `access ${keys.length === 1 ? 'key' : 'keys'} ${firstFew(keys, shownKeys)}`;
  const why =
    team === ''
      ? `is no administrator any more and knows the ${names} of others`
      : `is not in the team ${team} by the configuration and knows its ${names}`;
  return `${user} ${why}; rotate them without --overlap, or revoke them (hostward keys list --made-by ${user})`;
}

/** The list of the command has the others. */
const shownKeys = 5;

/** Says them in the log, once for each change. */
export class SaidLeavers {
  readonly #options: { clock: Clock; log: Log };
  #said: ReadonlySet<string> = new Set();

  constructor(options: { clock: Clock; log: Log }) {
    this.#options = options;
  }

  look({ book, world }: { book: { heldByOthers(): Iterable<KeyFacts> }; world: KeyWorld }): void {
    const { clock, log } = this.#options;
    const said = keysOfLeavers(book.heldByOthers(), world, clock.wallTime().getTime()).map(leaverSentence);
    for (const line of said) if (!this.#said.has(line)) log.warn({ component: 'management' }, line);
    this.#said = new Set(said);
  }
}
