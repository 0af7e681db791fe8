// Rule 12: from the fifth write on that undoes what people of the host have done to one object within ten seconds, one a second. Only writes are
// counted for which nothing but such a deed is a reason: the tenant, the operator and the process have been still since the daemon's last write, and
// what it writes is what was there before, so no late change of the tenant is in it. The daemon does not know of a write without an answer.
import type { World, WorldEars } from '../play/world.ts';
import { isWrite, type Passing } from '../proxy/passing.ts';
import type { Written } from '../stage/replayed-store.ts';
import { type RigResource, registry } from '../stage/rig-cluster.ts';
import type { Act } from '../traffic/acts.ts';
import type { Board } from './board.ts';

const synced: readonly string[] = ['endpoints', 'endpointslices'];
/** After these a write of the daemon still undoes what people of the host have done. */
const leave: ReadonlySet<Act['do']> = new Set(['payload', 'edit', 'wait', 'damage', 'lastChance']);
const windowMs = 10_000;
const freeRepairs = 4;
/** A second, less than the time that one request may take on its way. */
const leastPauseMs = 900;

export class Repairs implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  /** By daemon and object: when it repaired it. */
  readonly #repairsMs = new Map<string, number[]>();
  /** By daemon and object: how much both stores had seen at its last write. */
  readonly #seen = new Map<string, { virtual: number; host: number }>();

  constructor(world: World, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  acted({ do: what }: Act): void {
    if (!leave.has(what)) this.#seen.clear();
  }

  answered(passing: Passing, status: number): void {
    const { side, resource, namespace, name, daemon, verb } = passing;
    if (side !== 'host' || !isWrite(passing) || verb !== 'update' || status >= 300 || !synced.includes(resource))
      return;
    const id = `${daemon} ${resource} ${namespace}/${name}`;
    const { virtual, host } = this.#world.clusters;
    const seen = this.#seen.get(id);
    this.#seen.set(id, { virtual: virtual.store.written.length, host: host.store.written.length });
    if (seen === undefined) return;
    const key = `${registry[resource as RigResource]}/${namespace}/${name}`;
    const deeds = host.store.written.slice(seen.host).filter((one) => one.key === key && one.by?.daemon === undefined);
    const isUndone =
      deeds.length > 0 && deeds.every(({ before, after }) => before !== undefined && after !== undefined);
    const isStill = virtual.store.written.slice(seen.virtual).every(({ key: of }) => of.includes('/events/'));
    const done = host.store.written.findLast(({ by }) => by?.request === passing.id && by.daemon === daemon);
    const isAnswered = passing.fate === undefined || passing.fate === 'delay';
    if (!isUndone || !isStill || !isAnswered || done === undefined) return;
    if (contentOf(done.after) !== contentOf(deeds[0]?.before)) return;
    const nowMs = this.#world.clock.now();
    const recent = (this.#repairsMs.get(id) ?? []).filter((atMs) => nowMs - atMs < windowMs);
    const lastMs = recent.at(-1) ?? Number.NEGATIVE_INFINITY;
    this.#repairsMs.set(id, [...recent, nowMs]);
    if (recent.length >= freeRepairs && nowMs - lastMs < leastPauseMs)
      this.#board.say(
        'rule 12',
        'fights',
        `${daemon} has repaired ${resource} ${namespace}/${name} ${recent.length + 1} times in ${windowMs / 1000} s, the last time after ${nowMs - lastMs} ms`,
      );
  }
}

/** Without what moves by itself: the daemon's own note, and who has written what. */
function contentOf(object: Written['after']): string {
  const { metadata, ...payload } = object ?? { metadata: {} };
  const { labels = {}, annotations = {} } = metadata;
  const { 'hostward.dev/base': _, ...own } = annotations;
  return JSON.stringify([payload, Object.entries(labels).sort(), Object.entries(own).sort()]);
}
