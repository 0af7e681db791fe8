// Keeps the access of one connection in step with its files: reads them at once when the server cannot be reached or says nothing, and
// again and again until it answers, takes what they name when it leads to the same cluster, and tells those who wait. Must never know a
// request.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Answer } from '../answer.ts';
import type { ClusterAccess, Credentials } from '../credentials/access.ts';
import { AccessCache, lookFloorMs } from '../credentials/access-cache.ts';
import type { Sign } from './explain.ts';
import { SameCluster } from './same-cluster.ts';

/** A plugin is a process of its own. */
const lookEveryPluginMs = 30_000;
/** An API server begins to answer within a second; one that says nothing for so long may not be the one that the files name. */
const patienceMs = 5_000;

export interface FollowedAccessOptions {
  name: string;
  credentials: Credentials;
  clock: Clock;
  log: Log;
  /** Asks the server of an access that is not in use yet. */
  ask: (access: ClusterAccess, path: string) => Promise<Answer>;
  /** Ends what waits for a server that says nothing, because another one is in use now. */
  giveUp: () => void;
}

export class FollowedAccess {
  readonly same: SameCluster;
  readonly #clock: Clock;
  readonly #cache: AccessCache;
  readonly #listeners = new Set<() => void>();
  /** The last connection could not be opened. */
  #isDown = false;
  /** The last request brought no answer of a living API server. */
  #isUnheard = false;
  /** Requests that wait for an answer. */
  #expected = 0;
  #patience: Timer | undefined;
  #look: Timer | undefined;
  #isStopped = false;

  constructor(options: FollowedAccessOptions) {
    const { credentials, clock, log } = options;
    this.#clock = clock;
    this.same = new SameCluster({ ...options, source: credentials.source });
    this.#cache = new AccessCache(credentials, clock, log, {
      admits: async (fresh, current) => {
        const isAdmitted = await this.same.admits(fresh, current);
        if (!isAdmitted) this.#lookLater(fresh.from);
        return isAdmitted;
      },
      changed: () => {
        if (this.#isUnheard) options.giveUp();
        this.#isUnheard = false;
        this.#tell();
      },
      unread: (reason, { from }) => {
        this.same.noteUnread(reason);
        this.#lookLater(from);
      },
    });
  }

  current(): ClusterAccess | Promise<ClusterAccess> {
    return this.#cache.current();
  }

  /** Called when the server answered 401, or when no connection could be opened with `used`. Undefined: there is no newer access. */
  renew(used: ClusterAccess): Promise<ClusterAccess | undefined> {
    return this.#cache.renew(used);
  }

  reread(): Promise<void> {
    return this.#cache.reread();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** True when no connection could be opened: what was to be sent may be sent to another server. */
  note(sign: Sign | undefined, used: ClusterAccess): boolean {
    if (sign === 'answered') this.#noteAnswered();
    // What was given up says nothing of the server in use.
    else if (sign !== undefined && this.#cache.isCurrent(used)) {
      if (sign === 'unopened') this.#isDown = true;
      else this.#lookNow(used.from);
      this.#lookLater(used.from);
    }
    return sign === 'unopened';
  }

  #noteAnswered(): void {
    this.#isUnheard = false;
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#tell();
  }

  /** A request goes out. Whoever sends it calls the result when it is answered or has failed. */
  expectAnswer({ from }: ClusterAccess): () => void {
    this.#expected++;
    this.#beginPatience(from);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#expected--;
      this.#patience?.cancel();
      this.#patience = undefined;
      if (this.#expected > 0) this.#beginPatience(from);
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#look?.cancel();
    this.#patience?.cancel();
  }

  #beginPatience(from: ClusterAccess['from']): void {
    if (this.#isStopped) return;
    this.#patience ??= this.#clock.after(patienceMs, () => {
      this.#patience = undefined;
      this.#lookNow(from);
      this.#lookLater(from);
    });
  }

  /** Files may be read at any time; a plugin has to wait. */
  #lookNow(from: ClusterAccess['from']): void {
    const isFirst = !this.#isUnheard && this.#look === undefined;
    this.#isUnheard = true;
    if (isFirst && from === 'files' && !this.#isStopped) void this.#cache.reread();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  get #mustLook(): boolean {
    return this.#isDown || this.#isUnheard || this.same.isWaiting;
  }

  #lookLater(from: ClusterAccess['from']): void {
    if (this.#look !== undefined || this.#isStopped) return;
    this.#look = this.#clock.after(from === 'plugin' ? lookEveryPluginMs : lookFloorMs, () => {
      this.#look = undefined;
      if (!this.#mustLook) return;
      void this.#cache.reread().then(() => {
        if (this.#mustLook) this.#lookLater(from);
      });
    });
  }
}
