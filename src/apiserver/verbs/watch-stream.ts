// One watch: the present state if it is asked for, then every change, as lines of JSON on an open answer. In: the store's
// events. Out: frames that are made once for all watchers of a form. A client that does not read is let go.
import type { ServerResponse } from 'node:http';
import type { Timer } from '../../clock.ts';
import { expired, tooLargeResourceVersion, tooOldResourceVersion } from '../../object/meta/status.ts';
import type { StoreEvent, StoreWatch } from '../../store/store.ts';
import { isBeforeView } from '../caller/visibility.ts';
import type { Call } from '../kinds/kit.ts';
import type { User } from '../request/identity.ts';
import { StatusFault } from '../request/status-fault.ts';
import { drained } from '../wire/respond.ts';
import { storageKey, storagePrefix } from '../wire/stored-text.ts';
import { collect } from './collect-records.ts';
import { notOlderThan, type WatchQuery, watchQuery } from './revision-query.ts';
import { type Selection, selectionOf } from './selection.ts';
import { WatchFrames } from './watch-frames.ts';

export interface WatchSettings {
  /** Between two bookmarks of a quiet watch; the real server sends one about every minute. */
  bookmarkIntervalMs: number;
  /** Without timeoutSeconds a watch ends by itself after this long. */
  maxWatchMs: number;
}

/** What may lie unsent for one client before it is let go: it will come back, and that is cheaper than this memory. */
export const maxUnsentBytes = 4 * 1024 * 1024;

/** Of a long batch, so much is handed to the socket before the client has to take some of it. */
const aheadBytes = 1024 * 1024;
/** A client that has not taken that within so long does not read. */
const stalledMs = 30_000;

export class WatchStream {
  #call: Call;
  #response: ServerResponse;
  #settings: WatchSettings;
  #query: WatchQuery;
  #selection: Selection;
  #frames: WatchFrames;
  #watch: StoreWatch | undefined;
  #timers = new Set<Timer>();
  #lastRevision = 0;
  #sentBytes = 0;
  #isExpired = false;
  /** Something that happened up to now has yet to be written: no bookmark may pass it by. */
  #isBehind = true;
  #state: 'starting' | 'open' | 'ended' = 'starting';

  constructor(call: Call, response: ServerResponse, settings: WatchSettings) {
    this.#call = call;
    this.#response = response;
    this.#settings = settings;
    this.#query = watchQuery(call.target.query);
    this.#selection = selectionOf(call);
    this.#frames = new WatchFrames(call, this.#selection);
  }

  /** Resolves when the watch is over. Throws a StatusFault only while nothing has been sent. */
  async run(headers: Record<string, string | string[]>): Promise<void> {
    const { kit, target } = this.#call;
    const current = await kit.store.currentRevision();
    const wanted = notOlderThan(target.query);
    if (this.#query.sendInitialEvents === true && wanted > current) {
      throw new StatusFault(tooLargeResourceVersion(wanted, current));
    }
    const fromState = this.#query.after === undefined && this.#query.sendInitialEvents !== false;
    const after = this.#query.after ?? current;
    const opened = isBeforeView(this.#call, after)
      ? { kind: 'compacted' as const, compactedRevision: this.#call.visibility?.since ?? after }
      : await kit.store.watch(watchedPrefix(this.#call, this.#selection), after);
    this.#begin(headers);
    if (this.#isOver()) {
      // The client left while we were getting ready.
      if ('close' in opened) opened.close();
      return;
    }
    if (this.#isExpired) {
      if ('close' in opened) opened.close();
      this.expire();
      return;
    }
    if ('kind' in opened) {
      this.#send(this.#frames.error(tooOldResourceVersion(after, opened.compactedRevision + 1)));
      this.end();
      return;
    }
    this.#watch = opened;
    this.#lastRevision = after;
    try {
      if (fromState) await this.#sendState(after);
      await this.#follow(opened);
    } catch (error) {
      // The answer has begun: what is wrong is told in it.
      if (!(error instanceof StatusFault)) throw error;
      this.#send(this.#frames.error(error.statusIn(this.#call.kit.dialect)));
    } finally {
      opened.close();
      this.end();
    }
  }

  /** As much as was handed to the client's connection. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  get user(): User {
    return this.#call.user;
  }

  /** The client is told to list again. */
  expire(): void {
    // Said once the answer has begun.
    if (this.#state === 'starting') {
      this.#isExpired = true;
      return;
    }
    this.#send(this.#frames.error(expired('What you may see has changed: list again.')));
    this.end();
  }

  /** Ends the answer as a server that is done: a whole last line, a clean end of the stream. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#watch?.close();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#response.end();
    if (this.#response.writableFinished || this.#response.destroyed) return;
    // The end stands behind what is unsent: who does not take it would hold all of it for ever.
    const timer = this.#call.kit.clock.after(stalledMs, () => this.#letGo());
    this.#response.once('close', () => timer.cancel());
  }

  #begin(headers: Record<string, string | string[]>): void {
    this.#response.writeHead(200, headers);
    this.#response.flushHeaders();
    this.#response.on('close', () => this.end());
    if (this.#response.destroyed) this.end();
    if (this.#isOver()) return;
    this.#state = 'open';
    const { clock } = this.#call.kit;
    const { timeoutSeconds } = this.#query;
    const lifeMs = timeoutSeconds === undefined ? this.#settings.maxWatchMs : timeoutSeconds * 1000;
    this.#timers.add(clock.after(lifeMs, () => this.end()));
    if (this.#query.bookmarks)
      this.#scheduleBookmark(Math.min(this.#settings.bookmarkIntervalMs, lifeMs - lastBookmarkMs));
  }

  async #sendState(atRevision: number): Promise<void> {
    const { kind, target } = this.#call;
    const prefix = storagePrefix(kind, target.namespace);
    // Told in steps at one revision, so that a large state neither stalls the loop nor piles up unsent.
    let afterKey: string | undefined;
    for (;;) {
      const place = afterKey === undefined ? {} : { afterKey };
      const listed = await collect(this.#call, this.#selection, { prefix, limit: stateStep, atRevision, ...place });
      this.#response.cork();
      for (const record of listed.records) {
        if (this.#isAhead && !(await this.#taken())) return;
        this.#send(this.#frames.initial(record));
      }
      this.#response.uncork();
      if (listed.more === undefined || this.#isOver()) break;
      afterKey = listed.more;
    }
    if (this.#query.sendInitialEvents === true && this.#query.bookmarks) {
      this.#send(this.#frames.bookmark(atRevision, true));
    }
  }

  /** Ends when its client falls so far behind that the store gives it up: it may come back for what it has not seen. */
  async #follow(watch: StoreWatch): Promise<void> {
    this.#isBehind = false;
    for await (const batch of watch.events()) {
      this.#isBehind = true;
      await this.#sendBatch(batch);
      this.#isBehind = false;
      if (this.#isOver()) return;
      if (this.#response.writableLength > maxUnsentBytes) {
        this.#letGo();
        return;
      }
    }
  }

  /** What somebody who comes back has missed may be long: it goes out as fast as it is read, or nobody ever caught up. */
  async #sendBatch(batch: readonly StoreEvent[]): Promise<void> {
    if (batch.length > 1) this.#response.cork();
    for (const event of batch) {
      if (event.revision <= this.#lastRevision) continue;
      if (batch.length > 1 && this.#isAhead && !(await this.#taken())) return;
      this.#lastRevision = event.revision;
      this.#send(this.#frames.change(event));
    }
    if (batch.length > 1) this.#response.uncork();
  }

  get #isAhead(): boolean {
    return this.#response.writableLength > aheadBytes;
  }

  /** In the middle of a corked row: waits until the client has taken what was handed on. False when it is gone. */
  async #taken(): Promise<boolean> {
    this.#response.uncork();
    if (this.#response.writableNeedDrain) {
      const timer = this.#call.kit.clock.after(stalledMs, () => this.#letGo());
      this.#timers.add(timer);
      await drained(this.#response);
      timer.cancel();
      this.#timers.delete(timer);
    }
    this.#response.cork();
    return !this.#isOver();
  }

  #letGo(): void {
    this.#call.kit.log.info({ path: this.#call.target.path }, 'watch let go, its client does not read');
    this.#response.destroy();
  }

  #send(frame: Buffer | undefined): void {
    if (frame === undefined || this.#isOver()) return;
    this.#sentBytes += frame.length;
    this.#response.write(frame);
  }

  #scheduleBookmark(delayMs: number): void {
    if (delayMs < 0) return;
    const timer = this.#call.kit.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      void this.#sendBookmark();
    });
    this.#timers.add(timer);
  }

  async #sendBookmark(): Promise<void> {
    try {
      const revision = await this.#call.kit.store.currentRevision();
      // Whatever had happened by then lies in our backlog already and is written before this turn comes.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#isOver()) return;
      if (!this.#isBehind) {
        this.#lastRevision = Math.max(this.#lastRevision, revision);
        this.#send(this.#frames.bookmark(this.#lastRevision, false));
      }
      this.#scheduleBookmark(this.#settings.bookmarkIntervalMs);
    } catch (error) {
      this.#call.kit.log.error({ error: String(error) }, 'bookmark failed');
      this.end();
    }
  }

  #isOver(): boolean {
    return this.#state === 'ended' || this.#response.destroyed;
  }
}

/** A watch of one name hears of that name, and of names that begin with it, which its selection passes over. */
function watchedPrefix({ kind, target }: Call, { onlyName }: Selection): string {
  if (onlyName === undefined || onlyName === '' || (kind.namespaced && target.namespace === '')) {
    return storagePrefix(kind, target.namespace);
  }
  return storageKey(kind, target.namespace, onlyName);
}

const stateStep = 500;

/** So long before a watch ends by itself its client is told how far it came. */
const lastBookmarkMs = 2_000;
