// Keeps the last credentials and decides when to read them again: once a minute for files, shortly before a plugin's
// credential expires, and after a 401. Only one reading runs at a time; a failed reading leaves the old credentials.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { messageOf } from '../errors.ts';
import type { ClusterAccess, Credentials } from './access.ts';

/** The interval of client-go; a projected token is replaced long before it expires. */
const rereadFilesMs = 60_000;
/** A faulty server may answer every request with 401; without this pause each request would start the plugin. */
const renewFloorMs = 5_000;
/** However many requests fail, and as long as a server cannot be reached or used, files are read again this often. */
export const lookFloorMs = 2_000;
/** A plugin's credential is renewed this long before it expires; a short-lived one in the last fifth of its life. */
const renewAheadMs = 60_000;

export interface AccessWatch {
  /** Whether the fresh access may replace the current one. */
  admits(fresh: ClusterAccess, current: ClusterAccess): Promise<boolean>;
  /** Another access is in use now. */
  changed(): void;
  /** What is known stays in use, because nothing newer can be read. */
  unread(reason: string, known: ClusterAccess): void;
}

export class AccessCache {
  #credentials: Credentials;
  #clock: Clock;
  #log: Log;
  readonly #watch: AccessWatch | undefined;
  #warned = '';
  #access: ClusterAccess | undefined;
  #readAtMs = 0;
  #rereadAtMs = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<ClusterAccess> | undefined;

  constructor(credentials: Credentials, clock: Clock, log: Log, watch?: AccessWatch) {
    this.#watch = watch;
    this.#credentials = credentials;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns a promise only in the first call or after an expiry: every request calls this method. */
  current(): ClusterAccess | Promise<ClusterAccess> {
    if (this.#access === undefined) return this.#read();
    if (this.#clock.now() >= this.#rereadAtMs) {
      const reading = this.#read();
      if (this.#isExpired(this.#access)) return reading.catch(() => this.#access as ClusterAccess);
      reading.catch(() => undefined);
    }
    return this.#access;
  }

  isCurrent(access: ClusterAccess): boolean {
    return this.#access === access;
  }

  /** Reads again, whatever is known; resolves when what was read is in use or refused. */
  async reread(): Promise<void> {
    await this.#read().catch(() => undefined);
  }

  /** After a request without an answer of a living server: files may name another one. A plugin has to wait. */
  look(used: ClusterAccess): void {
    if (used !== this.#access || used.from === 'plugin' || this.#clock.now() - this.#lookedAtMs < lookFloorMs) return;
    this.#lookedAtMs = this.#clock.now();
    void this.reread();
  }

  /** After a 401, a refused connection or a certificate error with `used`: the newer credentials, or undefined when there are no newer ones. */
  async renew(used: ClusterAccess): Promise<ClusterAccess | undefined> {
    if (this.#access !== used) return this.#access;
    if (this.#reading === undefined && this.#clock.now() - this.#readAtMs < renewFloorMs) {
      // A plugin is not run again so soon. Files are always read again, so that a rotated token is found at once.
      if (used.from === 'plugin') return undefined;
    }
    const renewed = await this.#read().catch(() => undefined);
    return renewed === undefined || sameAccess(renewed, used) ? undefined : renewed;
  }

  #read(): Promise<ClusterAccess> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<ClusterAccess> {
    try {
      const fresh = await this.#credentials.read();
      // An equal value keeps its identity, so that a comparison by identity reports only real changes.
      const known = this.#access;
      if (known === undefined) this.#access = fresh;
      else if (!sameAccess(known, fresh)) {
        if (this.#watch === undefined || (await this.#watch.admits(fresh, known))) {
          this.#access = fresh;
          this.#watch?.changed();
        }
      } else {
        await this.#watch?.admits(fresh, known);
        if (fresh.expiresAtMs !== undefined) known.expiresAtMs = fresh.expiresAtMs;
      }
      this.#warned = '';
      this.#readAtMs = this.#clock.now();
      this.#rereadAtMs = this.#readAtMs + this.#keepMs(fresh);
      return this.#access ?? fresh;
    } catch (error) {
      this.#rereadAtMs = this.#clock.now() + renewFloorMs;
      const reason = messageOf(error);
      // They are read every few seconds while the server cannot be reached.
      if (reason !== this.#warned)
        this.#log.warn({ source: this.#credentials.source, reason }, 'credentials cannot be read again');
      this.#warned = reason;
      if (this.#access !== undefined) this.#watch?.unread(reason, this.#access);
      throw error;
    }
  }

  #keepMs(access: ClusterAccess): number {
    if (access.expiresAtMs === undefined) return access.from === 'files' ? rereadFilesMs : Number.POSITIVE_INFINITY;
    const lifeMs = Math.max(0, access.expiresAtMs - this.#clock.wallTime().getTime());
    return Math.max(renewFloorMs, lifeMs - Math.min(renewAheadMs, lifeMs / 5));
  }

  #isExpired(access: ClusterAccess): boolean {
    return access.expiresAtMs !== undefined && this.#clock.wallTime().getTime() >= access.expiresAtMs;
  }
}

function sameAccess(a: ClusterAccess, b: ClusterAccess): boolean {
  return sameTarget(a, b) && sameTls(a, b) && JSON.stringify(a.headers) === JSON.stringify(b.headers);
}

/** Whether both lead to the same server in the same way. Who the user is does not matter here. */
export function sameTarget(a: ClusterAccess, b: ClusterAccess): boolean {
  return (
    a.server === b.server &&
    a.proxy?.url === b.proxy?.url &&
    a.tls.ca === b.tls.ca &&
    a.tls.servername === b.tls.servername &&
    a.tls.rejectUnauthorized === b.tls.rejectUnauthorized
  );
}

export function sameTls(a: ClusterAccess, b: ClusterAccess): boolean {
  return (
    a.tls.ca === b.tls.ca &&
    a.tls.cert === b.tls.cert &&
    a.tls.key === b.tls.key &&
    a.tls.servername === b.tls.servername &&
    a.tls.rejectUnauthorized === b.tls.rejectUnauthorized
  );
}
