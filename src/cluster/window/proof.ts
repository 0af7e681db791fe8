// Proves again and again that the cache is what the server has: reads the heads of a consistent list and compares them with
// the heads that are remembered. In: list pages. Out: a time on each proven item, and suspects for differences. A list that
// is read amid changes always differs from the cache, so a difference alone says nothing; see missed-changes.ts.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pause } from '../../clock.ts';
import { type Key, keyOf } from '../../object/meta/object.ts';
import { readHeadPages } from './head-pages.ts';
import { MissedChanges, type ProofOptions } from './missed-changes.ts';
import type { ListedHead } from './text/head-scanner.ts';
import { compareVersions } from './text/resource-version.ts';
import type { Item } from './window.ts';

/**
 * An event that is lost just after a list began is found in the next list, when the page of its object is read. So the time
 * between two lists and the time over which the pages are spread make the interval together.
 */
const spreadShare = 1 / 5;
/** Keys compared before the event loop gets its turn. */
const sliceKeys = 1_000;
/** Removals during one list; a cluster that removes more has other worries, and the next list proves it. */
const removalLimit = 100_000;

export class Proof<T extends Item> {
  readonly #options: ProofOptions<T>;
  readonly #missed: MissedChanges<T>;
  readonly #stopped = new AbortController();
  /** Keys that were removed from the cache since the running list began. */
  readonly #removed = new Set<Key>();
  #running: Promise<void> | undefined;
  #provenAtMs: number | undefined;

  constructor(options: ProofOptions<T>) {
    this.#options = options;
    this.#missed = new MissedChanges(options, this.#stopped.signal);
  }

  /** When the last list began that was compared to its end. */
  get provenAtMs(): number | undefined {
    return this.#provenAtMs;
  }

  get missed(): number {
    return this.#missed.count;
  }

  start(): void {
    if (this.#options.intervalMs > 0) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.#running, this.#missed.stop()]);
  }

  /** An answer has shown an object that the watch has passed without a word. */
  noteFound(key: Key, resourceVersion: string): void {
    this.#missed.mended({ key, kind: 'set', origin: 'watch' }, { remembered: undefined, found: resourceVersion });
  }

  noteRemoved(key: Key): void {
    if (this.#removed.size < removalLimit) this.#removed.add(key);
    this.#missed.noteRemoved(key);
  }

  async #run(): Promise<void> {
    const { clock, random, intervalMs } = this.#options;
    const { signal } = this.#stopped;
    const periodMs = intervalMs * (1 - spreadShare);
    // The windows of a daemon begin at different times.
    let waitMs = random() * periodMs;
    for (;;) {
      await pause(clock, waitMs, signal);
      if (signal.aborted) return;
      const startMs = Math.round(clock.now());
      const newestKnown = this.#options.newestKnown();
      if (newestKnown !== undefined) await this.#round(startMs, newestKnown);
      // A server that needs longer than the interval still gets a rest.
      waitMs = Math.max(intervalMs * spreadShare, startMs + periodMs - clock.now());
    }
  }

  async #round(startMs: number, newestKnown: string): Promise<void> {
    const { connection, scope, clock, cache, metrics, intervalMs, log, sink } = this.#options;
    const { signal } = this.#stopped;
    this.#removed.clear();
    this.#missed.beginList();
    const end = await readHeadPages({
      connection,
      scope,
      clock,
      signal,
      spreadMs: intervalMs * spreadShare,
      expected: cache.size,
      newestKnown,
      page: (heads, resourceVersion) => this.#compare(heads, { resourceVersion, startMs }),
    });
    if (end.kind === 'aborted') return;
    metrics.proof(end.kind);
    if (end.kind !== 'read') {
      log.info({ cluster: connection.name, resource: scope.ref.resource, trouble: end.message }, 'proof given up');
      // A server that has gone back in time; the list decides, with its own doubts.
      if (end.kind === 'older') this.#options.requestList();
      return;
    }
    await this.#suspectAbsent({ resourceVersion: end.resourceVersion, startMs });
    if (signal.aborted) return;
    this.#provenAtMs = startMs;
    sink.proven?.();
  }

  #compare(heads: readonly ListedHead[], list: { resourceVersion: string; startMs: number }): void {
    const { cache, showsNamespace } = this.#options;
    for (const head of heads) {
      const key = keyOf(head.namespace, head.name);
      if (cache.prove(key, head, list.startMs)) continue;
      const known = cache.versionOf(key);
      const isRemoved = known === undefined && (this.#removed.has(key) || !showsNamespace(head.namespace));
      // What is newer than the list is nothing that the list could know.
      const isNewer = known !== undefined && compareVersions(known, list.resourceVersion) > 0;
      if (!isRemoved && !isNewer) this.#missed.suspect(key, head, list.resourceVersion);
    }
  }

  /** Objects that the cache holds, that the list is not too old to know, and that the list lacks. */
  async #suspectAbsent(list: { resourceVersion: string; startMs: number }): Promise<void> {
    const { cache } = this.#options;
    let count = 0;
    for (const key of cache.keys()) {
      const known = cache.versionOf(key);
      const isProven = cache.provenMs(key) === list.startMs;
      if (!isProven && known !== undefined && compareVersions(known, list.resourceVersion) <= 0)
        this.#missed.suspect(key, undefined, list.resourceVersion);
      if (++count % sliceKeys === 0) await nextTurn();
      if (this.#stopped.signal.aborted) return;
    }
  }
}
