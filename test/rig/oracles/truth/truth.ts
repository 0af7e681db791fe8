// What the daemon says of itself, held beside what the proxies saw, once a second of every run: the lag metric, whether it is in step, outages
// and leadership. The proxy knows when a change was delivered and when the write for it was answered. What is judged here is judged late, when
// the write has come: only then is it sure that the change needed one.

import type { LiveFault } from '../../faults/live-fault.ts';
import type { World, WorldEars } from '../../play/world.ts';
import type { OpenWatch } from '../../proxy/fault-proxy.ts';
import { isWrite, type Passing, type WatchedLine } from '../../proxy/passing.ts';
import { kindOfResource, type RigSide, registry } from '../../stage/rig-cluster.ts';
import type { DaemonStatus, RigDaemon } from '../../stage/rig-daemon.ts';
import { type Act, hostNamespace, leaseMsOf, type Synced, virtualCluster } from '../../traffic/acts.ts';
import type { Board } from '../board.ts';
import { type Marked, ownedUidOf, versionIn } from '../marks.ts';
import { OutageTruth } from './outage-truth.ts';

const everyMs = 1_000;
const quietEveryMs = 5_000;
/** `status` calls a change that is younger "on the way", and speaks of it once a second. */
const patienceMs = 5_000;
const toleranceMs = 2_000;
/** A copy that somebody has removed is made again within this time. */
const madeAgainWithinMs = 20_000;
/** So long a daemon waits for an answer. */
const givesUpMs = 30_000;
/** The lag of one change may differ by this much from what the proxy measured. */
const lagToleranceMs = 100;

interface Sample {
  atMs: number;
  state: string;
  /** Everything has crossed, and nothing is on its way. */
  isClean: boolean;
}

/** What is known about one process. */
interface Known {
  samples: Sample[];
  /** The last time it may have learned something new; what waits since then waits for no other reason. */
  newsMs: number;
  /** Lines that a fault kept back: from now on a proof may bring news. */
  withheld: number;
  /** By object, uid and version: when the line about it was delivered. */
  delivered: Map<string, number>;
  /** By resource and uid: objects of the tenant of whose removal it was told. */
  gone: Set<string>;
  /** A fault has touched one of its requests, so that it may have to wait. */
  isDisturbed: boolean;
  /** By resource and key of the host: when it was told that somebody has removed a copy. */
  removedMs: Map<string, number>;
  /** By path: the first failure of a write that has not succeeded since. */
  failedMs: Map<string, number>;
  /** Objects whose last write has failed: the path of a create is the same for all. */
  failing: Set<string>;
  /** Versions that have crossed; who writes one again mends an edit on the host. */
  brought: Set<string>;
  /** By path: the last write that brought a change across. */
  crossedMs: Map<string, number>;
  /** Writes whose answer has not come: a lag ends with it, also when a watch has shown the change before. */
  unanswered: Set<number>;
  /** By object: when a write was sent that nobody answers, and that the daemon waits for. */
  hungMs: Map<string, number>;
  /** When it sent the last request about its lease that was answered well. */
  provenMs: number;
  /** By kind: the lag that the proxy measured, of so many changes. */
  owed: Map<string, { ms: number; changes: number }>;
  /** By kind, at the last sample. */
  reported: ReadonlyMap<string, { ms: number; changes: number }>;
}

export class Truth implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #known = new Map<string, Known>();
  readonly #faults: readonly LiveFault[];
  readonly #outages: OutageTruth;
  #sampledMs = 0;
  /** How much has happened besides looks of the daemons that found nothing, and at the last sample. */
  #stirs = 0;
  #sampledStirs = 0;
  #wasZero = false;
  /** The last time a daemon with the right to write said that nothing waits. */
  #zeroMs = 0;

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
    this.#outages = new OutageTruth(world, board);
  }

  #of(daemon: string): Known {
    const known = this.#known.get(daemon) ?? {
      samples: [],
      newsMs: this.#world.clock.now(),
      withheld: 0,
      delivered: new Map(),
      gone: new Set(),
      isDisturbed: false,
      removedMs: new Map(),
      failedMs: new Map(),
      brought: new Set(),
      unanswered: new Set(),
      hungMs: new Map(),
      failing: new Set(),
      crossedMs: new Map(),
      provenMs: Number.NEGATIVE_INFINITY,
      owed: new Map(),
      reported: new Map(),
    };
    this.#known.set(daemon, known);
    return known;
  }

  acted({ do: what }: Act): void {
    if (what === 'wait' || what === 'calm' || what === 'lastChance') return;
    this.#stirs++;
    for (const known of this.#known.values()) known.newsMs = this.#world.clock.now();
    if (what === 'reload') this.#outages.reset();
  }

  event({ passing }: OpenWatch, { type }: WatchedLine): void {
    if (type !== 'BOOKMARK') this.#stirs++;
    this.#of(passing.daemon).withheld++;
  }

  delivered(watch: OpenWatch, { resource, key, revision, type }: WatchedLine): void {
    const { side, daemon } = watch.passing;
    this.#outages.heard(watch);
    const known = this.#of(daemon);
    known.withheld--;
    if (type === 'BOOKMARK') return;
    const change = this.#written(side, resource, key, revision);
    if (change?.by?.daemon === daemon) return;
    known.newsMs = this.#world.clock.now();
    if (side === 'host' && type === 'DELETED') known.removedMs.set(`${resource} ${key}`, known.newsMs);
    const uid = (change?.before as Marked | undefined)?.metadata.uid;
    if (side === 'virtual' && type === 'DELETED') known.gone.add(`${resource} ${uid}`);
    const version = versionIn(change?.after as Marked | undefined);
    if (side !== 'virtual' || version === undefined) return;
    const id = `${resource} ${change?.after?.metadata.uid} ${version}`;
    if (!known.delivered.has(id)) known.delivered.set(id, this.#world.clock.now());
  }

  #written(side: RigSide, resource: string, key: string, revision: string) {
    const stored = `${registry[resource as keyof typeof registry]}/${key}`;
    return this.#world.clusters[side].store.written.findLast(
      (one) => String(one.revision) === revision && one.key === stored,
    );
  }

  passed(passing: Passing): void {
    if (!isLook(passing)) this.#stirs++;
    if (!isWrite(passing)) return;
    const known = this.#of(passing.daemon);
    known.unanswered.add(passing.id);
    known.hungMs.delete(objectOf(passing));
  }

  opened(passing: Passing): void {
    this.#outages.opened(passing);
  }

  given(passing: Passing, status = 0): void {
    const known = this.#of(passing.daemon);
    known.unanswered.delete(passing.id);
    if (passing.verb === 'lease' && passing.method !== 'GET' && status >= 200 && status < 300)
      known.provenMs = Math.max(known.provenMs, passing.atMs);
  }

  madeUp(passing: Passing, status: number): void {
    this.#stirs++;
    this.given(passing);
    this.#of(passing.daemon).isDisturbed = true;
    if (isWrite(passing) && passing.fate === 'hang')
      this.#of(passing.daemon).hungMs.set(objectOf(passing), this.#world.clock.now());
    this.#outages.failed(passing, status);
    if (isWrite(passing)) this.#failed(passing, status);
  }

  #failed(passing: Passing, status: number): void {
    if (status === 404 || status === 409) return;
    const { failedMs, failing } = this.#of(passing.daemon);
    const path = bare(passing.path);
    if (!failedMs.has(path)) failedMs.set(path, this.#world.clock.now());
    failing.add(objectOf(passing));
  }

  answered(passing: Passing, status: number): void {
    const { daemon } = passing;
    if (passing.fate !== undefined || status >= 400) this.#stirs++;
    const isWhole = passing.fate === undefined || passing.fate === 'delay';
    if (isWhole) this.#outages.answered(passing, status);
    const known = this.#of(daemon);
    known.isDisturbed ||= passing.fate !== undefined;
    if (isNews(passing, known.withheld)) known.newsMs = this.#world.clock.now();
    if (!isWrite(passing)) return;
    if (status >= 400 || !isWhole) this.#failed(passing, isWhole ? status : 0);
    else {
      this.#crossed(passing, known);
      known.failedMs.delete(bare(passing.path));
      known.failing.delete(objectOf(passing));
    }
  }

  /** A write has been answered. Until then the daemon had to say that something waits. */
  #crossed(passing: Passing, known: Known): void {
    const { daemon, side, resource, path, id } = passing;
    if (side !== 'host' || !isSynced(resource)) return;
    const nowMs = this.#world.clock.now();
    const failedMs = known.failedMs.get(bare(path));
    if (failedMs !== undefined && known.newsMs <= failedMs) {
      const liedMs = known.samples.find(({ atMs, isClean }) => atMs > failedMs + toleranceMs && isClean)?.atMs;
      if (liedMs !== undefined)
        this.#say(
          'a failed write',
          `${daemon} said at ${liedMs / 1000} s that all has crossed: ${path} had failed at ${failedMs / 1000} s`,
        );
    }
    const done = this.#world.clusters.host.store.written.findLast(
      ({ by }) => by?.request === id && by.daemon === daemon,
    );
    const copy = done?.after as Marked | undefined;
    this.#madeAgain(passing, known, copy);
    const version = versionIn(copy);
    if (copy === undefined) return;
    const change = `${resource} ${ownedUidOf(copy)} ${version}`;
    const wasBrought = known.brought.has(change) || versionIn(done?.before as Marked | undefined) === version;
    known.brought.add(change);
    const deliveredMs = known.delivered.get(change);
    if (wasBrought || deliveredMs === undefined) return;
    const sinceMs = Math.max(deliveredMs, known.newsMs);
    const isLie = ({ atMs, state }: Sample): boolean =>
      atMs > sinceMs + patienceMs + toleranceMs && atMs < nowMs && state === 'inStep';
    const lie = known.samples.find(isLie);
    if (lie !== undefined)
      this.#say(
        'in step',
        `${daemon} said so at ${lie.atMs / 1000} s: a change delivered at ${deliveredMs / 1000} s was written at ${nowMs / 1000} s`,
      );
    // What came while an earlier change was on its way is one lag with that one, and a standby may have become the leader since the last look.
    const isJoined = deliveredMs <= (known.crossedMs.get(bare(path)) ?? Number.NEGATIVE_INFINITY);
    known.crossedMs.set(bare(path), nowMs);
    // What a fault has kept back is learned when a proof mends it, five seconds after its list.
    // What was removed while it crossed has no lag: the daemon measures how long a copy took to be right.
    const isGone = known.gone.has(`${resource} ${ownedUidOf(copy)}`);
    const isFailing = failedMs !== undefined || known.failing.has(objectOf(passing));
    if (isJoined || isGone || isFailing || known.withheld > 0 || nowMs - sinceMs < toleranceMs) return;
    const { kind } = kindOfResource[resource];
    const owed = known.owed.get(kind) ?? { ms: 0, changes: 0 };
    known.owed.set(kind, { ms: owed.ms + nowMs - sinceMs, changes: owed.changes + 1 });
  }

  /** A copy that somebody has removed is made again because of that event, and not because a proof of the caches comes by. */
  #madeAgain({ verb, resource, daemon }: Passing, known: Known, copy: Marked | undefined): void {
    if (verb !== 'create' || copy === undefined) return;
    const id = `${resource} ${copy.metadata.namespace}/${copy.metadata.name}`;
    const removedMs = known.removedMs.get(id);
    known.removedMs.delete(id);
    if (removedMs === undefined || known.isDisturbed || known.withheld > 0) return;
    const nowMs = this.#world.clock.now();
    if (nowMs > Math.max(removedMs, known.newsMs) + madeAgainWithinMs)
      this.#say(
        'made again late',
        `${daemon} made ${id} at ${nowMs / 1000} s; it was removed at ${removedMs / 1000} s`,
      );
  }

  still(): void {
    const nowMs = this.#world.clock.now();
    // Where nothing goes on and nothing waits, only time can change what a daemon says of itself.
    const stirs = this.#faults.reduce((sum, { struck }) => sum + struck, this.#stirs);
    const isStruck = this.#faults.some(({ isLasting }) => isLasting);
    const isQuiet = this.#wasZero && stirs === this.#sampledStirs && !isStruck;
    if (isQuiet) this.#zeroMs = nowMs;
    if (nowMs < this.#sampledMs + (isQuiet ? quietEveryMs : everyMs)) return;
    this.#sampledMs = nowMs;
    this.#sampledStirs = stirs;
    let isZero = false;
    let isAway = false;
    for (const daemon of this.#world.daemons) {
      const known = this.#of(daemon.name);
      if (daemon.state !== 'running' || daemon.isHeld) {
        isAway = true;
        known.newsMs = nowMs;
        this.#outages.silent(daemon.name);
        continue;
      }
      const { status } = daemon;
      const isClean = status.verdict.state === 'inStep' && !/ on the way/.test(status.verdict.sentence);
      known.samples.push({ atMs: nowMs, state: status.verdict.state, isClean });
      // A lag counts from the moment when the process may write. While its host is down, a process without the lease names that outage
      // instead of calling itself a standby.
      if (!mayWrite(status.leadership) || status.verdict.state === 'starting') known.newsMs = nowMs;
      this.#leadership(daemon, status);
      this.#outages.judge(daemon, status);
      this.#lag(daemon, known, isClean);
      const isHung = [...known.hungMs.values()].some((atMs) => nowMs - atMs < givesUpMs);
      isZero ||= isClean && known.unanswered.size === 0 && !isHung;
    }
    this.#wasZero = isZero && !isAway && !isStruck;
    if (isZero) this.#zeroMs = nowMs;
  }

  /** A change that nobody had to wait for before the last moment at which nothing waited cannot have waited longer. */
  #lag(daemon: RigDaemon, known: Known, isClean: boolean): void {
    const nowMs = this.#world.clock.now();
    const reported = daemon.lags();
    for (const [kind, { ms, changes }] of reported) {
      const before = known.reported.get(kind) ?? { ms: 0, changes: 0 };
      const [moreMs, more] = [ms - before.ms, changes - before.changes];
      const mostMs = nowMs - this.#zeroMs + toleranceMs;
      if (moreMs > more * mostMs + lagToleranceMs)
        this.#say(
          'lag too long',
          `${daemon.name} reports ${Math.round(moreMs)} ms for ${more} ${kind}; nothing waited ${mostMs} ms ago`,
        );
      const owed = known.owed.get(kind);
      if (isClean && owed !== undefined && ms < owed.ms - owed.changes * lagToleranceMs)
        this.#say(
          'lag too short',
          `${daemon.name} reports ${Math.round(ms)} ms for ${kind} in all; ${owed.changes} changes waited ${Math.round(owed.ms)} ms`,
        );
    }
    known.reported = reported;
  }

  /** Nobody says that it leads against the lease that is there, or longer than its last answered renewal carries. */
  #leadership({ name }: RigDaemon, { leadership }: DaemonStatus): void {
    if (leadership !== 'leading') return;
    const key = `${registry.leases}/${hostNamespace}/hostward-${virtualCluster}`;
    const { written } = this.#world.clusters.host.store;
    const nowMs = this.#world.clock.now();
    const isOwn = ({ after }: (typeof written)[number]): boolean => {
      const { holderIdentity = '' } = (after?.['spec'] ?? {}) as { holderIdentity?: string };
      return holderIdentity.startsWith(`${name}_`);
    };
    const renewed = written.findLast((one) => one.key === key && isOwn(one));
    if (renewed === undefined || nowMs - renewed.atMs > leaseMsOf(this.#world.configuration))
      this.#say('leading', `${name} says that it leads; it renewed its lease at ${(renewed?.atMs ?? 0) / 1000} s last`);
    const { provenMs } = this.#of(name);
    if (nowMs - provenMs > leaseMsOf(this.#world.configuration))
      this.#say(
        'leading unproven',
        `${name} says that it leads; the last renewal that was answered was sent at ${provenMs / 1000} s`,
      );
  }

  #say(kind: string, what: string): void {
    this.#board.say('truth', kind, what);
  }
}

/** The path of a create does not name its object. */
function objectOf({ verb, path, body }: Passing): string {
  const name = verb === 'create' ? (/"name":"([^"]*)"/.exec(body)?.[1] ?? '') : '';
  return `${bare(path)} ${name}`;
}

function bare(path: string): string {
  return path.split('?')[0] ?? '';
}

function isSynced(resource: string): resource is Synced {
  return resource === 'endpoints' || resource === 'endpointslices';
}

/** An answer by which the daemon may learn of a change. The read of an object before a repeated write does not count. */
function isNews({ verb, resource, isProof, query }: Passing, withheld: number): boolean {
  // Its namespace on the host is looked at each minute, and stays.
  if (verb === 'get') return !isSynced(resource) && resource !== 'namespaces';
  return verb === 'list' && query.get('limit') !== '1' && (!isProof || withheld > 0);
}

/** By which a daemon only sees that nothing has changed: its lease, a proof of its windows, and whether a server went back. */
function isLook({ verb, isProof, query }: Passing): boolean {
  return verb === 'lease' || isProof || (verb === 'list' && query.get('limit') === '1');
}

function mayWrite(leadership: string): boolean {
  return leadership === 'leading' || leadership === 'alone';
}
