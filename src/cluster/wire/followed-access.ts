// Keeps the access of one connection in step with its files: reads them at once when no connection can be opened, and again and again
// until one can, takes what they name when it leads to the same cluster, and tells those who wait. Must never know a request.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Answer } from '../answer.ts';
import type { ClusterAccess, Credentials } from '../credentials/access.ts';
import { AccessCache } from '../credentials/access-cache.ts';
import { SameCluster } from './same-cluster.ts';

/** While a server cannot be reached or used, its files are read this often. */
const lookEveryMs = 2_000;
/** A plugin is a process of its own. */
const lookEveryPluginMs = 30_000;

export interface FollowedAccessOptions {
  name: string;
  credentials: Credentials;
  clock: Clock;
  log: Log;
  /** Asks the server of an access that is not in use yet. */
  ask: (access: ClusterAccess, path: string) => Promise<Answer>;
}

export class FollowedAccess {
  readonly same: SameCluster;
  readonly #clock: Clock;
  readonly #cache: AccessCache;
  readonly #listeners = new Set<() => void>();
  /** The last connection could not be opened. */
  #isDown = false;
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
      changed: () => this.#tell(),
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

  noteUnopened({ from }: ClusterAccess): void {
    this.#isDown = true;
    this.#lookLater(from);
  }

  noteAnswered(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#tell();
  }

  stop(): void {
    this.#isStopped = true;
    this.#look?.cancel();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  get #mustLook(): boolean {
    return this.#isDown || this.same.isWaiting;
  }

  #lookLater(from: ClusterAccess['from']): void {
    if (this.#look !== undefined || this.#isStopped) return;
    this.#look = this.#clock.after(from === 'plugin' ? lookEveryPluginMs : lookEveryMs, () => {
      this.#look = undefined;
      if (!this.#mustLook) return;
      void this.#cache.reread().then(() => {
        if (this.#mustLook) this.#lookLater(from);
      });
    });
  }
}
