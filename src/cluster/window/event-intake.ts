// Applies the events of a watch to the cache, in the order of their versions, and knows the version that the watch has reached.
// In: events and lines of a watch. Out: changes, reported to the sink, or the reason why the watch has to end.
import { type Key, type KubeObject, keyOf } from '../../object/meta/object.ts';
import { excerpt } from '../errors.ts';
import type { WindowMetrics } from '../metrics.ts';
import { apiVersionOf, type WindowScope } from '../wire/scope.ts';
import { type Cache, keyOfObject } from './cache.ts';
import { objectProblem } from './list-pages.ts';
import type { WatchEnd } from './reflector-steps.ts';
import { compareVersions, isVersion, newest } from './text/resource-version.ts';
import type { DecodedLine } from './text/watch-lines.ts';
import type { Item, WindowChange } from './window.ts';

/** The receiver of the changes that the reflector finds. */
export interface ReflectorSink {
  changed(change: WindowChange): void;
  /** The cache was compared with a consistent list of heads. */
  proven?(): void;
  /** `upTo` is the highest number given by `requestList` that this list answers. */
  listed(list: { isFirst: boolean; count: number; removed: readonly Key[]; upTo: number }): void;
}

export interface EventIntakeOptions<T extends Item> {
  scope: WindowScope;
  cache: Cache<T>;
  metrics: WindowMetrics;
  sink: ReflectorSink;
}

/** Removals that are remembered. An answer is late by moments, so it needs only the last ones. */
const removalLimit = 1_000;

/**
 * What is known of an object that an answer shows and the cache lacks. `newer`: the watch has not come so far yet. `removed`: an event has said so since.
 * `unlisted`: the last list lacked it, and the answer does not say which of the two is older. `missed`: the watch has passed it without a word.
 */
export type Lacking = 'newer' | 'removed' | 'unlisted' | 'missed';

export class EventIntake<T extends Item> {
  readonly #options: EventIntakeOptions<T>;
  #reached = '0';
  /** Whatever was removed up to this version, by a list or long ago, is not remembered. */
  #removedUpTo = '0';
  /** The version of the last event after which the cache lacked the object. */
  readonly #removed = new Map<Key, string>();
  /** The newest version among our own writes; the watch may not have reached it yet. */
  #own = '0';

  constructor(options: EventIntakeOptions<T>) {
    this.#options = options;
  }

  /** The version that the watch has reached; the next watch resumes here. */
  get reached(): string {
    return this.#reached;
  }

  /** The newest version that is known to exist. */
  get newestKnown(): string {
    return newest(this.#reached, this.#own);
  }

  noteOwnVersion(resourceVersion: string | undefined): void {
    if (isVersion(resourceVersion)) this.#own = newest(this.#own, resourceVersion);
  }

  /** Events of a watch come in the order of their versions, so each one up to the version that it has reached has arrived, or never will. */
  judgeLacking(key: Key, resourceVersion: string | undefined): Lacking {
    if (!isVersion(resourceVersion) || compareVersions(resourceVersion, this.#reached) > 0) return 'newer';
    const removedAt = this.#removed.get(key);
    if (removedAt !== undefined && compareVersions(resourceVersion, removedAt) <= 0) return 'removed';
    return compareVersions(resourceVersion, this.#removedUpTo) <= 0 ? 'unlisted' : 'missed';
  }

  #noteRemoved(key: Key, resourceVersion: string): void {
    // The order of the map is that of the versions.
    this.#removed.delete(key);
    this.#removed.set(key, resourceVersion);
    const [oldest] = this.#removed;
    if (oldest === undefined || this.#removed.size <= removalLimit) return;
    this.#removed.delete(oldest[0]);
    this.#removedUpTo = newest(this.#removedUpTo, oldest[1]);
  }

  /** Begins again after a list; `isOlder`: the server has gone back in time, so versions of earlier writes mean nothing. */
  begin(list: { resourceVersion: string; isOlder: boolean }): void {
    if (list.isOlder) this.#own = '0';
    this.#reached = list.resourceVersion;
    this.#removedUpTo = list.resourceVersion;
    this.#removed.clear();
  }

  /** An echo repeats the answer to an own write, so the cache has it already. Half of all events are echoes. */
  isEcho(line: Buffer): boolean {
    const { cache, metrics, scope } = this.#options;
    if (compareVersions(this.#own, this.#reached) <= 0) return false;
    const event = headOfEvent(line);
    if (event === undefined || event.head.kind !== scope.ref.kind) return false;
    const { namespace, name, resourceVersion } = event.head;
    if (!isVersion(resourceVersion) || compareVersions(resourceVersion, this.#reached) <= 0) return false;
    const known = cache.versionOf(keyOf(namespace, name));
    if (known === undefined || compareVersions(resourceVersion, known) > 0) return false;
    this.#reached = resourceVersion;
    metrics.event(event.type);
    return true;
  }

  apply(event: Extract<DecodedLine, { kind: 'event' }>): WatchEnd | undefined {
    const { scope, cache, metrics } = this.#options;
    const { type, object } = event;
    const rv = object.metadata.resourceVersion;
    const { ref } = scope;
    if (object.kind !== ref.kind || object.apiVersion !== apiVersionOf(ref)) {
      const found = `${String(object.kind ?? 'no kind')} of ${String(object.apiVersion ?? 'no apiVersion')}`;
      const wanted = `wanted events about ${ref.kind} of ${apiVersionOf(ref)}`;
      return { kind: 'fault', message: `${wanted}, found one about ${excerpt(found, 120)}` };
    }
    if (type === 'BOOKMARK') {
      if (!isVersion(rv)) return { kind: 'fault', message: 'a bookmark has no usable resourceVersion' };
      if (compareVersions(rv, this.#reached) < 0) return wentBack(rv, this.#reached);
      metrics.event('BOOKMARK');
      this.#reached = rv;
      return undefined;
    }
    const problem = objectProblem(object, scope);
    if (problem !== undefined || !isVersion(rv)) return { kind: 'fault', message: `an object of the watch ${problem}` };
    if (compareVersions(rv, this.#reached) <= 0) return this.#outOfOrder(type, object, rv);
    this.#reached = rv;
    metrics.event(type);
    const effect = type === 'DELETED' ? cache.remove(object) : cache.set(object);
    const key = keyOfObject(object);
    if (!cache.has(key)) this.#noteRemoved(key, rv);
    if (effect !== 'none') this.#options.sink.changed({ key, kind: effect, origin: 'watch' });
    return undefined;
  }

  /** Events of a watch arrive in the order of their versions. A repeated event is harmless; any other one shows a loss. */
  #outOfOrder(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject, rv: string): WatchEnd | undefined {
    this.#options.metrics.event('stale');
    const known = this.#options.cache.versionOf(keyOfObject(object));
    const isRepeated = type === 'DELETED' ? known === undefined : known === rv;
    return isRepeated ? undefined : { kind: 'disorder', message: wentBack(rv, this.#reached).message };
  }
}

export function wentBack(rv: string, known: string): { kind: 'rollback'; message: string } {
  return { kind: 'rollback', message: `the server sent resource version ${rv} after ${known}` };
}

// Reads the name and version of an object from the first bytes of its JSON text. Half of all watch events repeat the answer to
// an own write, and parsing them completely would be wasted work. API servers write the names before the long fields. For any
// other order `headOf` finds none, and the caller parses the whole text. Pure.
interface ObjectHead {
  kind: string;
  namespace: string;
  name: string;
  resourceVersion: string;
}

/** Room for a type, a kind, two names, a uid and a version. */
const headBytes = 768;

const opening = /\{"kind":"(\w+)","apiVersion":"[\w./]+","metadata":\{/y;
const eventOpening = /\{"type":"(ADDED|MODIFIED)","object":(?=\{)/y;
/** JSON escapes a quote inside a value, so a tenant cannot end a value early and forge a member. */
const textMember = /"(\w+)":"([^"\\]*)"[,}]/y;

/** Undefined when the text does not begin like an object. The rest of the text is not checked. */
export function headOf(bytes: Buffer): ObjectHead | undefined {
  return readHead(bytes.toString('latin1', 0, headBytes), 0);
}

/** Separates two events that a proxy has put on one line. It never occurs inside a JSON value, where quotes are escaped. */
const nextEvent = Buffer.from('}{"type":"');

/** The head of an ADDED or MODIFIED event that is alone on its line. */
export function headOfEvent(bytes: Buffer): { type: 'ADDED' | 'MODIFIED'; head: ObjectHead } | undefined {
  const text = bytes.toString('latin1', 0, headBytes);
  eventOpening.lastIndex = 0;
  const type = eventOpening.exec(text)?.[1] as 'ADDED' | 'MODIFIED' | undefined;
  const head = type && readHead(text, eventOpening.lastIndex);
  return type && head && !bytes.includes(nextEvent) ? { type, head } : undefined;
}

function readHead(text: string, from: number): ObjectHead | undefined {
  opening.lastIndex = from;
  const kind = opening.exec(text)?.[1];
  if (kind === undefined) return undefined;
  let name: string | undefined;
  let namespace: string | undefined;
  let resourceVersion: string | undefined;
  textMember.lastIndex = opening.lastIndex;
  for (;;) {
    const member = textMember.exec(text);
    if (member === null) return undefined;
    const [, field, value] = member;
    if (field === 'name') name = value;
    else if (field === 'namespace') namespace = value;
    else if (field === 'resourceVersion') resourceVersion = value;
    if (name !== undefined && namespace !== undefined && resourceVersion !== undefined)
      return { kind, namespace, name, resourceVersion };
  }
}
