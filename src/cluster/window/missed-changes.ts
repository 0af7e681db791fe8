// Tells a change that the watch has missed from one that is on its way: a difference counts only when it is still there five
// seconds later and the server, asked for this one object, confirms it. Then the window is mended as by an event, and the
// loss is counted and logged, because it is a defect of the watch or of what lies between.
import { type Clock, pause } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type Key, type KubeObject, splitKey } from '../../object/meta/object.ts';
import type { WindowMetrics } from '../metrics.ts';
import type { Connection } from '../wire/connection.ts';
import { listPath, type WindowScope } from '../wire/scope.ts';
import { type Cache, keyOfObject } from './cache.ts';
import type { ReflectorSink } from './event-intake.ts';
import { objectProblem, readList } from './list-pages.ts';
import type { ListedHead } from './text/head-scanner.ts';
import { compareVersions } from './text/resource-version.ts';
import { type Item, mayLack, type WindowChange } from './window.ts';

export interface ProofOptions<T extends Item> {
  connection: Connection;
  scope: WindowScope;
  cache: Cache<T>;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: WindowMetrics;
  sink: ReflectorSink;
  /** A lost event is found within this time; 0 = no proofs. */
  intervalMs: number;
  /** False for a namespace whose objects the window never shows, so that nobody asks for each of them. */
  showsNamespace: (namespace: string) => boolean;
  /** False for an object that came with an answer and that the selectors leave out: no watch can tell its end. Default: all are shown. */
  isShown?: ((key: Key) => boolean) | undefined;
  /** The newest version that is known to exist; undefined while no watch runs. */
  newestKnown(): string | undefined;
  /** Asks for a whole list, through which the window is mended as after a broken watch. */
  requestList(): void;
}

/** Far longer than an event needs, and short compared with the interval of proofs. */
const standsMs = 5_000;
/** Single objects asked for after one list; the rest waits for the next list. */
const askLimit = 200;
/** From so many losses on, a whole list costs less than asking for each object, and its deletes pass the delete guard. */
const mendLimit = 50;
/** Objects of which only the head is remembered, because the window hides them. */
const hiddenLimit = 10_000;
/** Suspects that wait; a list amid thousands of changes a second has more, and the next list finds them again. */
const suspectLimit = 20_000;
const askTimeoutMs = 15_000;

interface Suspect {
  key: Key;
  /** Undefined: the list lacks the object. */
  head: ListedHead | undefined;
  /** The version of the list. */
  listVersion: string;
  atMs: number;
}

export class MissedChanges<T extends Item> {
  count = 0;
  readonly #options: ProofOptions<T>;
  readonly #signal: AbortSignal;
  readonly #hidden = new Map<Key, string>();
  readonly #suspects = new Map<Key, Suspect>();
  #confirming: Promise<void> = Promise.resolve();
  #isConfirming = false;
  #askedSinceList = 0;
  #mendedSinceList = 0;
  #removedSinceList = 0;
  /** The object that the server is asked for, and whether it was deleted since. */
  #asked: { key: Key; isRemoved: boolean } | undefined;

  constructor(options: ProofOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async stop(): Promise<void> {
    await this.#confirming;
  }

  noteRemoved(key: Key): void {
    if (this.#asked?.key === key) this.#asked.isRemoved = true;
  }

  suspect(key: Key, head: ListedHead | undefined, listVersion: string): void {
    if (this.#suspects.has(key) || this.#suspects.size >= suspectLimit) return;
    if (head !== undefined && this.#hidden.get(key) === head.resourceVersion) return;
    this.#suspects.set(key, { key, head, listVersion, atMs: this.#options.clock.now() });
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    this.#confirming = this.#confirmAll();
  }

  /** Each list may ask for so many objects of its own. */
  beginList(): void {
    this.#askedSinceList = 0;
    this.#mendedSinceList = 0;
    this.#removedSinceList = 0;
  }

  async #confirmAll(): Promise<void> {
    const { clock } = this.#options;
    for (const suspect of this.#suspects.values()) {
      const restMs = suspect.atMs + standsMs - clock.now();
      if (restMs > 0) await pause(clock, restMs, this.#signal);
      if (this.#signal.aborted) return;
      if (this.#stillStands(suspect)) await this.#confirmWithinLimits(suspect);
      this.#suspects.delete(suspect.key);
    }
    this.#isConfirming = false;
  }

  async #confirmWithinLimits(suspect: Suspect): Promise<void> {
    if (suspect.head === undefined && this.#lacksTooMany()) {
      this.#askedSinceList = askLimit;
      this.#listAnew();
      return;
    }
    if (this.#askedSinceList >= askLimit || this.#mendedSinceList >= mendLimit) return;
    this.#askedSinceList++;
    if (!(await this.#confirm(suspect))) return;
    this.#mendedSinceList++;
    if (this.#mendedSinceList === mendLimit) this.#listAnew();
  }

  /** So many missing objects must be doubted as those of a whole list are. */
  #lacksTooMany(): boolean {
    if (this.#askedSinceList >= askLimit) return false;
    let lacking = this.#removedSinceList;
    for (const suspect of this.#suspects.values())
      if (suspect.head === undefined && this.#stillStands(suspect)) lacking++;
    // One alone is asked for by name.
    return lacking > 1 && !mayLack(lacking, this.#options.cache.size + this.#removedSinceList);
  }

  /** While no watch runs, differences are known, and the reflector mends them by itself. */
  #stillStands({ key, head, listVersion }: Suspect): boolean {
    const { cache, newestKnown } = this.#options;
    if (newestKnown() === undefined) return false;
    const known = cache.versionOf(key);
    if (head === undefined) return known !== undefined && compareVersions(known, listVersion) <= 0;
    if (known === undefined) return true;
    return !cache.isRemembered(key, head) && compareVersions(known, listVersion) <= 0;
  }

  /** Returns whether a change was missed. */
  async #confirm({ key }: Suspect): Promise<boolean> {
    const { cache, newestKnown, sink } = this.#options;
    const asked = { key, isRemoved: false };
    this.#asked = asked;
    const newest = newestKnown();
    const found = await this.#ask(key);
    this.#asked = undefined;
    if (found === undefined || this.#signal.aborted || newest === undefined || newestKnown() === undefined)
      return false;
    const known = cache.versionOf(key);
    const { object } = found;
    if (object === undefined) {
      if (known === undefined || compareVersions(known, found.listVersion) > 0) return false;
      const isShown = this.#options.isShown?.(key) ?? true;
      // Whatever is as old as that list is gone too, however late it comes.
      cache.forget(key, found.listVersion);
      if (!isShown) {
        sink.changed({ key, kind: 'removed', origin: 'watch' });
        return false;
      }
      this.mended({ key, kind: 'removed', origin: 'watch' }, { remembered: known, found: undefined });
      return true;
    }
    const version = object.metadata.resourceVersion as string;
    // The newer list shows an older object, or one that was removed before it began: the server has gone back in time, and has used the numbers again
    // before anybody looked.
    const isSetBack =
      known === undefined
        ? !asked.isRemoved && cache.hasForgotten(key, version) && compareVersions(found.listVersion, newest) >= 0
        : isBetween(known, { above: version, upTo: found.listVersion });
    if (isSetBack) {
      this.#listAnew('the cluster was set back, listing again');
      return false;
    }
    if (asked.isRemoved || (known !== undefined && compareVersions(known, version) >= 0)) return false;
    const effect = cache.set(object);
    if (known === undefined && effect === 'none') {
      this.#hide(key, version);
      return false;
    }
    this.mended(
      { key, kind: effect === 'removed' ? 'removed' : 'set', origin: 'watch' },
      { remembered: known, found: version },
    );
    return true;
  }

  /**
   * A list of the one object: it needs no right that the window does not have, and it leaves out an object that the window
   * does not select.
   */
  async #ask(key: Key): Promise<{ object: KubeObject | undefined; listVersion: string } | undefined> {
    const { connection, scope } = this.#options;
    const { namespace, name } = splitKey(key);
    const fieldSelector = [scope.fieldSelector, `metadata.name=${name}`].filter((one) => one !== undefined).join(',');
    const one = { ...scope, namespace: namespace === '' ? undefined : namespace, fieldSelector };
    const path = listPath(one, { limit: 1, continueToken: undefined });
    const answer = await connection.request({ method: 'GET', path, signal: this.#signal, timeoutMs: askTimeoutMs });
    if (answer.kind !== 'ok') return undefined;
    const list = readList(answer.object, scope.ref);
    if (list.kind === 'fault') return undefined;
    const listVersion = list.resourceVersion;
    const [object] = list.items as KubeObject[];
    if (object === undefined) return { object, listVersion };
    if (objectProblem(object, one) !== undefined || keyOfObject(object) !== key) return undefined;
    return { object, listVersion };
  }

  mended(
    change: WindowChange,
    { remembered, found }: { remembered: string | undefined; found: string | undefined },
  ): void {
    const { connection, scope, log, metrics, sink } = this.#options;
    const type = remembered === undefined ? 'ADDED' : found === undefined ? 'DELETED' : 'MODIFIED';
    this.count++;
    if (change.kind === 'removed') this.#removedSinceList++;
    metrics.missed(type);
    log.error(
      { cluster: connection.name, resource: scope.ref.resource, key: change.key, missed: type, remembered, found },
      'the watch has missed a change, mended',
    );
    sink.changed(change);
  }

  #hide(key: Key, version: string): void {
    if (this.#hidden.size < hiddenLimit || this.#hidden.has(key)) this.#hidden.set(key, version);
  }

  #listAnew(why = 'many changes were missed, listing again'): void {
    const { connection, scope, log } = this.#options;
    const where = { cluster: connection.name, resource: scope.ref.resource };
    log.error({ ...where, mended: this.#mendedSinceList, suspects: this.#suspects.size }, why);
    this.#options.requestList();
  }
}

function isBetween(version: string, { above, upTo }: { above: string; upTo: string }): boolean {
  return compareVersions(version, above) > 0 && compareVersions(version, upTo) <= 0;
}
