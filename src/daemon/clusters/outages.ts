// Watches whether both API servers can be reached and written to. In: windows and the answers to writes. Out: the current
// outages for status and readiness, one log line at the start and one at the end, and a series.

import { lostNamespaces } from '../../cluster/permission.ts';
import { refusedRight } from '../../cluster/refused-right.ts';
import type { WindowTrouble } from '../../cluster/window/window.ts';
import { readSeries } from '../../metrics.ts';
import { type Outage, outageSentence } from '../../sync/report/verdict.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import type { OpenedWindow } from '../synced/windows.ts';
import { isFailure, isUnreachable, WriteOutage } from './write-outage.ts';
import type { RefusedWrite } from './write-rights.ts';

const sides = ['virtual', 'host'] as const;
type Side = (typeof sides)[number];

/** A watch that breaks and comes back at once is not an outage. */
const noticedAfterMs = 2_000;
/** Long enough for the restart of an API server. */
export const unreadyAfterMs = 30_000;
/** Nothing announces that a right was granted. */
const tryPauseMs = 5_000;

/** A right that is missing on one resource. */
export interface MissingRight {
  cluster: Side;
  /** The cluster, the resource and where in it. */
  window: string;
  isWrite?: true;
  /** Wall time, RFC 3339. */
  since: string;
  seconds: number;
  /** In the words of the server: the verb and the resource. */
  message: string;
  /** Where it is every right in that namespace. */
  lostNamespace?: string;
}

interface ForbiddenWindow {
  name: string;
  namespace: string | undefined;
  trouble: WindowTrouble;
}

export interface WatchedOutages {
  windows: () => readonly OpenedWindow[];
  /** Whether writes wait until a server has proved to be the same cluster. */
  isInDoubt: () => boolean;
  /** Called when an outage has ended: what failed during the outage may be tried again at once. */
  over: () => void;
  /** Called every few seconds while a right to write is missing: tries one of the objects that wait for it. */
  tryOne: () => void;
}

export class Outages {
  readonly writes: Readonly<Record<Side, WriteOutage>>;
  readonly #options: Pick<DaemonOptions, 'clock' | 'log'>;
  readonly #watched: WatchedOutages;
  readonly #logged = new Map<string, Outage>();
  #wasInDoubt = false;
  #triedMs = Number.NEGATIVE_INFINITY;

  constructor(options: Pick<DaemonOptions, 'clock' | 'log' | 'metrics'>, watched: WatchedOutages) {
    const { clock, metrics } = options;
    this.#options = options;
    this.#watched = watched;
    this.writes = { virtual: new WriteOutage(clock, isUnreachable), host: new WriteOutage(clock, isFailure) };
    for (const cluster of sides) {
      readSeries(metrics, {
        name: 'hostward_cluster_outage_seconds',
        help: 'How long the API server has been unreachable or has taken no write, 0 while it is fine',
        labels: { cluster },
        read: () => Math.max(0, ...this.current().map((one) => (one.cluster === cluster ? one.seconds : 0))),
      });
      readSeries(metrics, {
        name: 'hostward_missing_rights',
        help: 'Rights that the API server refuses, while it allows others',
        labels: { cluster },
        read: () => this.#missingRightsOf(cluster).length,
      });
    }
  }

  current(): Outage[] {
    return sides.flatMap((cluster) => {
      const unread = this.#unread(cluster);
      // An unreachable server takes no writes either, so one sentence is enough.
      if (unread?.kind === 'unreachable') return [unread];
      return [...(unread === undefined ? [] : [unread]), ...this.#unwritable(cluster)];
    });
  }

  /** A write in a namespace that is lost says nothing of the cluster. */
  #unwritable(cluster: Side): Outage[] {
    const { current } = this.writes[cluster];
    if (current === undefined) return [];
    const namespace = refusedRight(current.message)?.namespace;
    const isLost = namespace !== undefined && this.#lostNamespaces(cluster).has(namespace);
    return isLost ? [] : this.#outage(cluster, 'unwritable', current);
  }

  /** Clusters that refuse every read. */
  shut(): Outage[] {
    return this.current().filter(({ isShut }) => isShut);
  }

  /** Write outages that last so long that the daemon is not ready. */
  unwritable(): Outage[] {
    const all = sides.flatMap((cluster) => this.#unwritable(cluster));
    return all.filter(({ seconds }) => seconds * 1000 >= unreadyAfterMs);
  }

  /** Called every second. */
  update({ areWritesWanted }: { areWritesWanted: boolean }): void {
    if (!areWritesWanted) for (const side of sides) this.writes[side].clear();
    const isInDoubt = this.#watched.isInDoubt();
    if (this.#wasInDoubt && !isInDoubt) this.#watched.over();
    this.#wasInDoubt = isInDoubt;
    this.#tryRights();
    const { log } = this.#options;
    const now = new Map(this.current().map((outage) => [`${outage.cluster} ${outage.kind}`, outage]));
    for (const [name, outage] of now) {
      if (this.#logged.has(name)) continue;
      this.#logged.set(name, outage);
      const { cluster, kind, since, message } = outage;
      log.error({ component: 'main', cluster, kind, since, trouble: message }, 'an api server has an outage');
    }
    for (const [name, { cluster, kind, since }] of this.#logged) {
      if (now.has(name)) continue;
      this.#logged.delete(name);
      log.info({ component: 'main', cluster, kind, since }, 'the outage of an api server is over');
      this.#watched.over();
    }
  }

  #tryRights(): void {
    const rights = sides.map((side) => this.writes[side].rights);
    for (const one of rights) one.forgetOld();
    if (sides.map((side) => this.writes[side].takeGranted()).includes(true)) this.#watched.over();
    const now = this.#options.clock.now();
    if (now - this.#triedMs < tryPauseMs || !rights.some(({ areAnyRefused }) => areAnyRefused)) return;
    this.#triedMs = now;
    this.#watched.tryOne();
  }

  /** What one server does not let us read or write, while it lets us do something else. */
  missingRights(): MissingRight[] {
    return sides.flatMap((cluster) => this.#missingRightsOf(cluster));
  }

  /** Several windows may look at one resource, and lack the same right. */
  #missingRightsOf(cluster: Side): MissingRight[] {
    const refused: readonly RefusedWrite[] = this.writes[cluster].rights.missing;
    const forbidden = this.#forbidden(cluster);
    // The status and the verdict ask several times a second, and rights are seldom missing.
    if (refused.length === 0 && forbidden.length === 0) return [];
    const lost = this.#lostNamespaces(cluster);
    const isLost = (namespace: string | undefined) => namespace !== undefined && lost.has(namespace);
    const single = forbidden.filter(({ namespace }) => !isLost(namespace));
    const byRight = Map.groupBy(single, ({ trouble: { message } }) => rightIn(message));
    const reads = [...byRight.values()].map((same) => {
      const { name, trouble } = oldestOf(same);
      return { about: { window: name }, trouble };
    });
    const writes = refused
      .filter(({ message }) => !isLost(refusedRight(message)?.namespace))
      .map((trouble) => ({ about: { window: `${cluster} ${trouble.resource}`, isWrite: true as const }, trouble }));
    const namespaces = [...lost].map(([namespace, windows]) => {
      const { trouble } = oldestOf(windows);
      const about = { window: `${cluster} objects in ${namespace}`, lostNamespace: namespace };
      return { about, trouble: { ...trouble, message: lostText(namespace) } };
    });
    return [...namespaces, ...reads, ...writes].flatMap(({ about, trouble }) =>
      this.#outage(cluster, 'unreadable', trouble).map(({ since, seconds, message }) => ({
        ...{ cluster, ...about, since, seconds, message },
      })),
    );
  }

  /** Those whose windows are all forbidden, where others are not: one that is being deleted, or has no Role for us. */
  #lostNamespaces(cluster: Side): ReadonlyMap<string, readonly ForbiddenWindow[]> {
    const forbidden = new Map(this.#forbidden(cluster).map((one) => [one.name, one]));
    const lost = lostNamespaces(this.#windowsOf(cluster), ({ name }) => forbidden.has(name));
    // With one window it is simply the right that is missing.
    const whole = [...lost].filter(([, windows]) => windows.length > 1);
    return new Map(whole.map(([namespace, all]) => [namespace, all.flatMap(({ name }) => forbidden.get(name) ?? [])]));
  }

  /** The windows whose reads are forbidden; none where that is so for all of a cluster, which is an outage. */
  #forbidden(cluster: Side): ForbiddenWindow[] {
    const windows = this.#windowsOf(cluster);
    const found = windows.flatMap(({ name, namespace, window: { trouble } }) =>
      trouble?.isForbidden ? [{ name, namespace, trouble }] : [],
    );
    return found.length < windows.length ? found : [];
  }

  #windowsOf(cluster: Side): readonly OpenedWindow[] {
    return this.#watched.windows().filter(({ name }) => name.startsWith(`${cluster} `));
  }

  /** A line for each window; of a namespace in which every read is refused one sentence tells more than its windows. */
  windowLines(): string[] {
    const lost = this.missingRights().filter(({ lostNamespace }) => lostNamespace !== undefined);
    const isSaid = (namespace: string | undefined) => lost.some(({ lostNamespace }) => lostNamespace === namespace);
    const lines = this.#watched.windows().map(({ name, namespace, window: { state, trouble } }) => {
      return `${name}: ${state}${trouble === undefined || isSaid(namespace) ? '' : ` (${trouble.message})`}`;
    });
    return [...lines, ...lost.map(({ cluster, since, message }) => `${cluster} cluster since ${since}: ${message}`)];
  }

  sentences(): string[] {
    return this.current().map(outageSentence);
  }

  /** The oldest trouble of the windows. A server that answers one of them can be reached, although others wait for their next try. */
  #unread(cluster: Side): Outage | undefined {
    const all = this.#windowsOf(cluster).map(({ window }) => window);
    if (all.every(({ trouble }) => trouble === undefined)) return undefined;
    const missing = new Set(this.#forbidden(cluster).map(({ trouble }) => trouble));
    // One kind that a server does not know is no outage: the daemon goes on without it.
    const served = all.filter(({ trouble }) => !trouble?.isUnserved);
    const windows = served.length > 0 ? served : all;
    const troubles = windows.flatMap(({ trouble }) => (trouble === undefined || missing.has(trouble) ? [] : trouble));
    const oldest = troubles.toSorted((a, b) => a.sinceMs - b.sinceMs)[0];
    if (oldest === undefined) return undefined;
    const isReached = windows.some(({ trouble, lastHeardMs }) => trouble?.isAnswered ?? lastHeardMs > oldest.sinceMs);
    const [outage] = this.#outage(cluster, isReached ? 'unreadable' : 'unreachable', oldest);
    const isShut = windows.every(({ trouble }) => trouble?.isForbidden);
    if (outage === undefined || !isShut) return outage;
    const namespace = refusedRight(oldest.message)?.namespace;
    const message = namespace === undefined ? oldest.message : `${shutText(namespace)}: ${oldest.message}`;
    return { ...outage, message, isShut };
  }

  /** A trouble that follows another one at once is reported at once: the outage goes on. */
  #outage(
    cluster: Side,
    kind: Outage['kind'],
    { sinceMs, message, unservedMs = sinceMs }: { sinceMs: number; message: string; unservedMs?: number },
  ): Outage[] {
    const { clock } = this.#options;
    const now = clock.now();
    const agoMs = now - sinceMs;
    if (now - unservedMs < noticedAfterMs) return [];
    const since = new Date(clock.wallTime().getTime() - agoMs).toISOString().replace(/\.\d+Z$/, 'Z');
    return [{ cluster, kind, since, seconds: Math.round(agoMs / 100) / 10, message }];
  }
}

/** In the words of the server, where it says them: the request around them differs. */
function rightIn(message: string): string {
  return /cannot \w+ resource .*$/.exec(message)?.[0] ?? message;
}

/** In the words of a start. */
function lostText(namespace: string): string {
  return `every read in namespace "${namespace}" is refused: it is being deleted or does not exist, or it has no Role for this account (kubectl get namespace ${namespace})`;
}

/** A namespace that is being deleted loses its Roles before it ends. */
function shutText(namespace: string): string {
  return `every read is refused, so namespace "${namespace}" or the Role in it is perhaps being deleted (kubectl get namespace ${namespace})`;
}

function oldestOf(all: readonly ForbiddenWindow[]): ForbiddenWindow {
  return all.toSorted((one, other) => one.trouble.sinceMs - other.trouble.sinceMs)[0] as ForbiddenWindow;
}
