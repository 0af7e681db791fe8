// Whether the outages that `status` names are those that the proxy saw: an outage is told soon after reads have begun to fail without any answer,
// and "unreachable" is never said of a server that has answered since.

import type { World } from '../../play/world.ts';
import type { OpenWatch } from '../../proxy/fault-proxy.ts';
import type { Passing } from '../../proxy/passing.ts';
import { type RigSide, rigSides } from '../../stage/rig-cluster.ts';
import type { DaemonStatus, RigDaemon } from '../../stage/rig-daemon.ts';
import type { Board } from '../board.ts';

/** A watch that comes back sooner is no outage; the next look comes within a second. */
const toldWithinMs = 2_000 + 1_500;
/** The daemon looks once a second. */
const lookMs = 1_000;
/** The windows that every daemon has while its kind is switched on. */
const judged: Readonly<Record<RigSide, readonly string[]>> = { virtual: ['services'], host: [] };

interface SeenSide {
  /** By resource: since when all reads have failed. */
  failedMs: Map<string, number>;
  /** The last line of a watch that arrived, and when. */
  good: { watch: OpenWatch; atMs: number } | undefined;
}

export class OutageTruth {
  readonly #world: World;
  readonly #board: Board;
  readonly #seen = new Map<string, SeenSide>();

  constructor(world: World, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  #of(daemon: string, side: RigSide): SeenSide {
    const key = `${daemon} ${side}`;
    const seen = this.#seen.get(key) ?? { failedMs: new Map(), good: undefined };
    this.#seen.set(key, seen);
    return seen;
  }

  reset(): void {
    this.#seen.clear();
  }

  silent(daemon: string): void {
    for (const side of rigSides) this.#seen.delete(`${daemon} ${side}`);
  }

  heard(watch: OpenWatch): void {
    const { daemon, side, resource } = watch.passing;
    const seen = this.#of(daemon, side);
    seen.good = { watch, atMs: this.#world.clock.now() };
    seen.failedMs.delete(resource);
  }

  /** A list of one asks whether the server went back, and is no look at the objects. */
  answered({ daemon, side, verb, resource, isProof, query }: Passing, status: number): void {
    if (!isProof && status < 300 && verb === 'list' && query.get('limit') !== '1')
      this.#of(daemon, side).failedMs.delete(resource);
  }

  /** A watch that is cut again before the next look has been answered all the same. */
  opened({ daemon, side, resource }: Passing): void {
    this.#of(daemon, side).failedMs.delete(resource);
  }

  /** A request that hangs has not failed yet. */
  failed({ daemon, side, verb, resource, isProof, fate }: Passing, status: number): void {
    if (isProof || (verb !== 'list' && verb !== 'watch') || fate === 'hang') return;
    if (status !== 0 && status < 500) return;
    const { failedMs } = this.#of(daemon, side);
    if (!failedMs.has(resource)) failedMs.set(resource, this.#world.clock.now());
  }

  judge({ name }: RigDaemon, { outages = [] }: DaemonStatus): void {
    const nowMs = this.#world.clock.now();
    for (const side of rigSides) {
      const { failedMs, good } = this.#of(name, side);
      const { watches } = this.#world.proxies[side];
      const told = outages.filter(({ cluster }) => cluster === side);
      for (const { passing } of watches) if (passing.daemon === name) failedMs.delete(passing.resource);
      for (const resource of judged[side]) {
        const sinceMs = failedMs.get(resource);
        if (sinceMs !== undefined && nowMs - sinceMs > toldWithinMs && told.length === 0)
          this.#board.say(
            'truth',
            'no outage',
            `${name} names none of the ${side} cluster: its reads of ${resource} fail since ${sinceMs / 1000} s`,
          );
      }
      // A server that went down again since then is another story.
      if (good === undefined || !watches.has(good.watch)) continue;
      const lie = told.find(
        ({ kind, seconds }) => kind === 'unreachable' && good.atMs > nowMs - seconds * 1000 + lookMs,
      );
      if (lie !== undefined && good.atMs < nowMs - lookMs)
        this.#board.say(
          'truth',
          'unreachable',
          `${name} cannot reach the ${side} cluster for ${lie.seconds} s; a watch of it brought a line at ${good.atMs / 1000} s`,
        );
    }
  }
}
