// Serves one watch: sends the present state if the client wants it, then every change, as lines of JSON on an open answer.
// In: the store's events. Out: frames. A client that does not read holds little memory, and is disconnected after a while.
import type { ServerResponse } from 'node:http';
import type { Timer } from '../../../clock.ts';
import { type Status, tooLargeResourceVersion, tooOldResourceVersion } from '../../../object/meta/status.ts';
import type { StoreEvent, StoreWatch } from '../../../store/store.ts';
import { isBeforeView } from '../../caller/visibility.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { Call } from '../../kinds/kit.ts';
import type { User } from '../../request/identity.ts';
import { StatusFault } from '../../request/status-fault.ts';
import { drained } from '../../wire/respond.ts';
import { storageKey, storagePrefix } from '../../wire/stored-text.ts';
import { collect, heldLength, stepAfter } from '../collect-records.ts';
import { notOlderThan, type WatchQuery, wantsNewest, watchQuery } from '../revision-query.ts';
import { type Selection, selectionOf } from '../selection.ts';
import { WatchFrames } from './watch-frames.ts';

export interface WatchSettings {
  /** Time between two bookmarks; about a minute in the real server. */
  bookmarkIntervalMs: number;
  /** Lifetime of a watch without timeoutSeconds. */
  maxWatchMs: number;
}

/** The server pauses at this many unread bytes until the client has read them; the history keeps the rest. A key may have 1,000 watches. */
const aheadBytes = 128 * 1024;
/** A client that needs longer than this to read `aheadBytes` is disconnected. */
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
  /** Why the watch ends as soon as its answer has begun. */
  #over: Status | undefined;
  /** An event waits to be written; a bookmark must not overtake the event. */
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
  async run(headers: Record<string, string | string[]>, begun: () => void = () => undefined): Promise<void> {
    const { kit, target } = this.#call;
    const wanted = notOlderThan(target.query);
    const known = await kit.store.currentRevision();
    // Another replica may have given out a later revision than this one has heard of.
    const isBehind = wanted > known || wantsNewest(target.query);
    const current = isBehind ? await kit.store.currentRevision({ fresh: true }) : known;
    if (this.#query.sendInitialEvents === true && wanted > current) {
      throw new StatusFault(tooLargeResourceVersion(wanted, current));
    }
    const fromState = this.#query.after === undefined && this.#query.sendInitialEvents !== false;
    const after = this.#query.after ?? current;
    const opened = isBeforeView(this.#call, after)
      ? { kind: 'compacted' as const, compactedRevision: this.#call.visibility?.since ?? after }
      : await kit.store.watch(watchedPrefix(this.#call, this.#selection), after);
    begun();
    this.#begin(headers);
    if (this.#isOver()) {
      // The client disconnected during the start.
      if ('close' in opened) opened.close();
      return;
    }
    if (this.#over !== undefined) {
      if ('close' in opened) opened.close();
      this.endBecause(this.#over);
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
      // The answer has begun, so the stream itself must carry the fault.
      if (!(error instanceof StatusFault)) throw error;
      this.#send(this.#frames.error(error.statusIn(this.#call.kit.dialect)));
    } finally {
      opened.close();
      this.end();
    }
  }

  /** Bytes handed to the client's connection. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  get user(): User {
    return this.#call.user;
  }

  get kind(): Kind {
    return this.#call.kind;
  }

  /** Ends the watch with an ERROR event. */
  endBecause(status: Status): void {
    // run() sends the event after it has begun the answer.
    if (this.#state === 'starting') {
      this.#over ??= status;
      return;
    }
    this.#send(this.#frames.error(status));
    this.end();
  }

  /** Ends the stream cleanly after a whole line, so that the client watches again without an error. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#watch?.close();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#response.end();
    if (this.#response.writableFinished || this.#response.destroyed) return;
    // The end of the answer waits behind the unsent bytes. A client that never reads them is cut off, to free their memory.
    const timer = this.#call.kit.clock.after(stalledMs, () => this.#disconnect());
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
    // All steps read the same revision. What waits for a reader is bounded in bytes: a key may have a thousand watches that it does not read.
    let afterKey: string | undefined;
    let limit = firstStep;
    for (;;) {
      const start = afterKey === undefined ? {} : { afterKey };
      const step = { prefix, limit, holds: heldLength, atRevision, ...start };
      const { kit, user } = this.#call;
      const { records, count, more } = await kit.lists.within(user.name, () =>
        collect(this.#call, this.#selection, step),
      );
      this.#response.cork();
      for (const record of records) {
        if (this.#mustWaitForReader && !(await this.#waitForReader())) return;
        this.#send(this.#frames.initial(record));
      }
      this.#response.uncork();
      afterKey = records.length < count ? records.at(-1)?.key : more;
      if (afterKey === undefined || this.#isOver()) break;
      limit = stepAfter(records);
    }
    if (this.#query.sendInitialEvents === true && this.#query.bookmarks) {
      this.#send(this.#frames.bookmark(atRevision, true));
    }
  }

  /** Ends when the client falls too far behind; the client can watch again from its last resourceVersion. */
  async #follow(watch: StoreWatch): Promise<void> {
    this.#isBehind = false;
    for await (const batch of watch.events()) {
      this.#isBehind = true;
      await this.#call.works?.();
      await this.#sendBatch(batch);
      this.#isBehind = false;
      if (this.#isOver()) return;
    }
  }

  /** As fast as the client reads. */
  async #sendBatch(batch: readonly StoreEvent[]): Promise<void> {
    this.#response.cork();
    for (const event of batch) {
      if (event.revision <= this.#lastRevision) continue;
      if (this.#mustWaitForReader && !(await this.#waitForReader())) return;
      this.#lastRevision = event.revision;
      this.#send(this.#frames.change(event));
    }
    this.#response.uncork();
  }

  get #mustWaitForReader(): boolean {
    return this.#response.writableLength > aheadBytes;
  }

  /** Uncorks the socket until the client has read what it holds. Returns false if the client disconnected. */
  async #waitForReader(): Promise<boolean> {
    this.#response.uncork();
    if (this.#response.writableNeedDrain) {
      const timer = this.#call.kit.clock.after(stalledMs, () => this.#disconnect());
      this.#timers.add(timer);
      await drained(this.#response);
      timer.cancel();
      this.#timers.delete(timer);
    }
    this.#response.cork();
    return !this.#isOver();
  }

  #disconnect(): void {
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
      // What the watch has handed out in this turn is in the hands of #follow() in the next one.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#isOver()) return;
      if (!this.#isBehind && this.#watch !== undefined) {
        this.#lastRevision = Math.max(this.#lastRevision, this.#watch.upTo);
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

/** A prefix that covers the watched name; the selection filters out longer names with the same beginning. */
function watchedPrefix({ kind, target }: Call, { onlyName }: Selection): string {
  if (onlyName === undefined || onlyName === '' || (kind.namespaced && target.namespace === '')) {
    return storagePrefix(kind, target.namespace);
  }
  return storageKey(kind, target.namespace, onlyName);
}

/** Of the present state; what does not fit into what is held is read again. */
const firstStep = 64;

/** The last bookmark is sent this long before the watch ends, so that the next watch of the client begins there. */
const lastBookmarkMs = 2_000;
