// What failed, or was to be written, while the host answered nothing for long is written soon after it answers again, however far back-off has grown. In:
// requests, answers and lines of watches. Judged when the write comes. What failed without the proxy, as nobody took its connection, counts too.
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World, WorldEars } from '../../play/world.ts';
import type { OpenWatch } from '../../proxy/fault-proxy.ts';
import { isWrite, type Passing, type WatchedLine } from '../../proxy/passing.ts';
import { registry } from '../../stage/rig-cluster.ts';
import type { Act } from '../../traffic/acts.ts';
import type { Board } from '../board.ts';
import { type Marked, virtualKeyOf } from '../marks.ts';

/** So long without any answer is an outage. */
const outageMs = 20_000;
/** The daemon looks whether an outage is over once a second, and its windows come back one after the other. */
const triedAgainWithinMs = 10_000;
const toleranceMs = 2_000;
/** A write that nobody answers is given up after this time, and only then tried again. */
const givenUpAfterMs = 30_000;

/** What is known about one process. */
interface Known {
  /** Since when no request of its host has been answered. */
  silentSinceMs: number | undefined;
  outage: { fromMs: number; untilMs: number } | undefined;
  /** The last time it was told of anything: what waits since then may wait for that. */
  toldMs: number;
  /** By path: the first failure of a write that has not succeeded since. */
  failedMs: Map<string, number>;
  /** By path: when the last write was sent, and the one before it. */
  attempts: Map<string, { atMs: number; beforeMs: number }>;
  /** By resource and key of the tenant's object: when a change was delivered that has not been written since. */
  owedMs: Map<string, number>;
}

export class AfterOutage implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  readonly #known = new Map<string, Known>();

  constructor(world: World, board: Board, faults: readonly LiveFault[] = []) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  #of(daemon: string): Known {
    const known: Known = this.#known.get(daemon) ?? {
      ...{ silentSinceMs: undefined, outage: undefined, toldMs: this.#world.clock.now() },
      ...{ failedMs: new Map(), attempts: new Map(), owedMs: new Map() },
    };
    this.#known.set(daemon, known);
    return known;
  }

  acted({ do: what }: Act): void {
    if (what === 'wait' || what === 'calm' || what === 'lastChance') return;
    for (const known of this.#known.values()) known.toldMs = this.#world.clock.now();
  }

  delivered({ passing: { side, daemon } }: OpenWatch, { resource, key, revision, type }: WatchedLine): void {
    if (type === 'BOOKMARK') return;
    const stored = `${registry[resource as keyof typeof registry]}/${key}`;
    const { written } = this.#world.clusters[side].store;
    const change = written.findLast((one) => String(one.revision) === revision && one.key === stored);
    if (change?.by?.daemon === daemon) return;
    const known = this.#of(daemon);
    known.toldMs = this.#world.clock.now();
    if (side === 'virtual') known.owedMs.set(`${resource} ${key}`, known.toldMs);
  }

  passed(passing: Passing): void {
    if (!isWrite(passing)) return;
    const { attempts } = this.#of(passing.daemon);
    const beforeMs = attempts.get(pathOf(passing))?.atMs ?? Number.NEGATIVE_INFINITY;
    attempts.set(pathOf(passing), { atMs: this.#world.clock.now(), beforeMs });
  }

  madeUp(passing: Passing, status: number): void {
    if (passing.side !== 'host') return;
    const known = this.#of(passing.daemon);
    if (status === 0) known.silentSinceMs ??= this.#world.clock.now();
    if (isWrite(passing)) noteFailed(known, pathOf(passing), { status, nowMs: this.#world.clock.now() });
  }

  opened({ side, daemon }: Passing): void {
    if (side === 'host') this.#heard(this.#of(daemon));
  }

  #heard(known: Known): void {
    const [fromMs, untilMs] = [known.silentSinceMs, this.#world.clock.now()];
    known.silentSinceMs = undefined;
    if (fromMs !== undefined && untilMs - fromMs >= outageMs) known.outage = { fromMs, untilMs };
  }

  answered(passing: Passing, status: number): void {
    const known = this.#of(passing.daemon);
    const nowMs = this.#world.clock.now();
    const isWhole = passing.fate === undefined || passing.fate === 'delay';
    if (isWhole && passing.side === 'host') this.#heard(known);
    if (passing.verb === 'list' && !passing.isProof && passing.query.get('limit') !== '1') known.toldMs = nowMs;
    if (passing.side !== 'host' || !isWrite(passing)) return;
    if (status >= 400 || !isWhole) {
      noteFailed(known, pathOf(passing), { status: isWhole ? status : 0, nowMs });
      return;
    }
    const owed = this.#owedBy(passing);
    const sinceMs = known.failedMs.get(pathOf(passing)) ?? known.owedMs.get(owed);
    known.failedMs.delete(pathOf(passing));
    known.owedMs.delete(owed);
    if (sinceMs !== undefined) this.#judge(passing, known, sinceMs);
  }

  #judge(passing: Passing, { outage, toldMs, attempts }: Known, sinceMs: number): void {
    if (outage === undefined || sinceMs < outage.fromMs || sinceMs > outage.untilMs) return;
    const { beforeMs = 0 } = attempts.get(pathOf(passing)) ?? {};
    const nowMs = this.#world.clock.now();
    // A kept connection that has died in silence takes a write of which the proxy sees nothing.
    const sentMs = this.#hasDeadConnections ? Math.max(outage.untilMs, beforeMs) : beforeMs;
    const mayTryMs = Math.max(outage.untilMs, sentMs + givenUpAfterMs);
    if (toldMs > outage.untilMs + toleranceMs || nowMs <= mayTryMs + triedAgainWithinMs) return;
    this.#board.say(
      'truth',
      'tried again late',
      `${passing.daemon} wrote ${passing.path} at ${nowMs / 1000} s; its host answers again since ${outage.untilMs / 1000} s`,
    );
  }

  get #hasDeadConnections(): boolean {
    return this.#faults.some(
      ({ recipe, placed, hasStruck }) => hasStruck && placed.side === 'host' && recipe.effect === 'blackhole',
    );
  }

  /** The tenant's object that the written copy is of. */
  #owedBy({ id, daemon, resource }: Passing): string {
    const { written } = this.#world.clusters.host.store;
    const done = written.findLast(({ by }) => by?.request === id && by.daemon === daemon);
    const copy = (done?.after ?? done?.before) as Marked | undefined;
    return `${resource} ${(copy && virtualKeyOf(copy)) ?? ''}`;
  }
}

function noteFailed({ failedMs }: Known, path: string, { status, nowMs }: { status: number; nowMs: number }): void {
  if (status !== 404 && status !== 409 && !failedMs.has(path)) failedMs.set(path, nowMs);
}

/** A create names its object in the body. */
function pathOf({ method, path, body }: Passing): string {
  const name = method === 'POST' ? (/"name":"([^"]*)"/.exec(body)?.[1] ?? '') : '';
  return `${path.split('?')[0]} ${name}`;
}
