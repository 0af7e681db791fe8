// Lets a connection follow its credentials to another server, proxy or CA only when the same cluster answers there: a typo that names
// an empty cluster must not look like a mass delete. In: what was read, and a way to ask there. Out: whether it may be used, and a
// sentence for people while it may not. Must never know what else is asked.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Answer } from '../answer.ts';
import type { ClusterAccess } from '../credentials/access.ts';
import { sameTarget } from '../credentials/access-cache.ts';
import { excerpt } from '../errors.ts';

/** The object whose uid tells one cluster from another. */
export interface ClusterIdentity {
  /** `/api/v1/namespaces/…`. */
  path: string;
  /** Undefined: it could not be read at the start, so nothing can be proved. */
  uid: string | undefined;
}

export interface AddressState {
  /** The server in use. */
  server: string;
  /** Wall time at which another server, proxy or CA was last taken. */
  takenAt: Date | undefined;
  /** Why what the credentials name now is not in use. */
  notTaken: string | undefined;
  /** Whether they cannot even be read. */
  isUnread: boolean;
  /** Whether writes must stop: what the credentials name has not proved to be the same cluster. */
  isInDoubt: boolean;
}

/** While servers and files rotate one after the other, the server that is known stays in use for so long. */
const graceMs = 30_000;
/** A file that is being written is whole at the next look. */
const unreadGraceMs = 5_000;

export interface SameClusterOptions {
  name: string;
  source: string;
  clock: Clock;
  log: Log;
  /** Asks the server that was read for the object at the path. */
  ask: (access: ClusterAccess, path: string) => Promise<Answer>;
}

type ClusterProof = { kind: 'same' } | { kind: 'another' | 'unknown'; message: string };

export class SameCluster {
  readonly #options: SameClusterOptions;
  #identity: ClusterIdentity | undefined;
  #waiting: { message: string; sinceMs: number; isAnother: boolean } | undefined;
  #unread: { reason: string; sinceMs: number } | undefined;
  #takenAt: Date | undefined;

  constructor(options: SameClusterOptions) {
    this.#options = options;
  }

  /** Before this call every server is taken. */
  pin(identity: ClusterIdentity): void {
    this.#identity = identity;
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined || this.#unread !== undefined;
  }

  /** The credentials cannot be read again. What they named before still decides whether anything may be written. */
  noteUnread(reason: string): void {
    this.#unread = { reason, sinceMs: this.#unread?.sinceMs ?? this.#options.clock.now() };
  }

  state(server: string): AddressState {
    const { clock, source } = this.#options;
    const [waiting, unread] = [this.#waiting, this.#unread];
    const isInDoubt = waiting !== undefined && (waiting.isAnother || clock.now() - waiting.sinceMs >= graceMs);
    const isUnread = unread !== undefined && (waiting !== undefined || clock.now() - unread.sinceMs >= unreadGraceMs);
    const stops = isInDoubt ? '; nothing is written until the file names the same cluster, or after a restart' : '';
    const found = [
      ...(isUnread ? [unread.reason] : []),
      ...(waiting
        ? [`${isUnread ? 'before that ' : ''}${source} ${isUnread ? 'named' : 'names'} ${waiting.message}`]
        : []),
    ];
    const stays = waiting ? `${server} stays in use${stops}` : 'what was read before stays in use';
    const notTaken = found.length === 0 ? undefined : `${found.join('; ')}; ${stays}`;
    return { server, takenAt: this.#takenAt, notTaken, isUnread, isInDoubt };
  }

  async admits(fresh: ClusterAccess, current: ClusterAccess): Promise<boolean> {
    const { name, source, log, clock } = this.#options;
    this.#unread = undefined;
    if (sameTarget(fresh, current)) {
      if (this.#waiting !== undefined)
        log.info({ cluster: name, source }, 'the credentials name the server in use again');
      this.#waiting = undefined;
      return true;
    }
    const named = differenceOf(fresh, current);
    const verdict = await this.#prove(fresh);
    if (verdict.kind === 'same') {
      this.#waiting = undefined;
      this.#takenAt = clock.wallTime();
      log.info({ cluster: name, server: fresh.server, was: current.server }, `${source} names ${named}: taken`);
      return true;
    }
    const message = `${named}, ${verdict.message}`;
    if (this.#waiting?.message !== message)
      log.error({ cluster: name, server: fresh.server }, `${source} names ${message}`);
    this.#waiting = {
      message,
      sinceMs: this.#waiting?.sinceMs ?? clock.now(),
      // A server that was another cluster once is believed to be one while it is silent.
      isAnother: verdict.kind === 'another' || this.#waiting?.isAnother === true,
    };
    return false;
  }

  async #prove(fresh: ClusterAccess): Promise<ClusterProof> {
    const identity = this.#identity;
    if (identity === undefined) return { kind: 'same' };
    if (identity.uid === undefined)
      return { kind: 'another', message: `which cannot prove anything: the uid of ${identity.path} is not known` };
    const answer = await this.#options.ask(fresh, identity.path);
    if (answer.kind === 'ok') {
      const uid = answer.object.kind === 'Namespace' ? answer.object.metadata?.uid : undefined;
      if (uid === identity.uid) return { kind: 'same' };
      const found = excerpt(String(uid ?? 'none'), 60);
      return {
        kind: 'another',
        message: `which is another cluster: ${identity.path} has the uid ${found}, wanted ${identity.uid}`,
      };
    }
    const why = 'message' in answer ? answer.message : answer.kind;
    const isSilent = answer.kind === 'failed' || answer.kind === 'throttled' || answer.kind === 'notSent';
    return { kind: isSilent ? 'unknown' : 'another', message: `which has not proved to be the same cluster: ${why}` };
  }
}

function differenceOf(fresh: ClusterAccess, current: ClusterAccess): string {
  if (fresh.server !== current.server) return `the server ${fresh.server}`;
  if (fresh.proxy?.url !== current.proxy?.url) return `another proxy to ${fresh.server}`;
  return `another CA for ${fresh.server}`;
}
