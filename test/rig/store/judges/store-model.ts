// A store as a value, written from the words of its interface alone: which answers an operation may have in a state, and the states after it. Several,
// or none: a write whose answer was lost may have got any revision.
import type { StoredRecord } from '../../../../src/store/store.ts';
import type { History, Operation, Promises } from '../history.ts';
import type { KnownLog } from './known-log.ts';

interface Held {
  value: string;
  /** Undefined: a write without an answer, whose revision nobody ever learned. */
  revision: number | undefined;
  createRevision: number | undefined;
}

export interface ModelState {
  /** The last revision, or with gaps the least that it can be. */
  revision: number;
  keys: ReadonlyMap<string, Held>;
  /** Deletes without an answer whose revision a watch has told. */
  explained: readonly number[];
}

export const emptyState: ModelState = { revision: 0, keys: new Map(), explained: [] };

export function textOf({ revision, keys, explained }: ModelState): string {
  const held = [...keys].map(([key, one]) => `${key}=${one.value}@${one.revision}/${one.createRevision}`).sort();
  return `${revision};${held.join(';')};${explained.join()}`;
}

export class StoreModel {
  #promises: Promises;
  #log: KnownLog;
  #isCut: boolean;
  /** Deletes that a watch showed and nobody was told of, by key. */
  readonly unexplained: ReadonlyMap<string, number[]>;

  constructor({ promises, cuts }: Pick<History, 'promises' | 'cuts'>, log: KnownLog) {
    this.#promises = promises;
    this.#log = log;
    this.#isCut = cuts > 0;
    const unexplained = new Map<string, number[]>();
    for (const { key, value, revision, isAcknowledged } of log.changes)
      if (value === undefined && !isAcknowledged) unexplained.set(key, [...(unexplained.get(key) ?? []), revision]);
    this.unexplained = unexplained;
  }

  /** Every delete that a watch told has a write that made it. */
  isExplained(state: ModelState): boolean {
    const all = [...this.unexplained.values()].reduce((sum, revisions) => sum + revisions.length, 0);
    return state.explained.length === all;
  }

  /** The states after the operation; none: this answer cannot be true here. */
  after(state: ModelState, { asked, answered }: Operation): ModelState[] {
    if (asked.verb === 'write') {
      const { key, expect, value } = asked;
      const held = state.keys.get(key);
      if (answered.kind === 'written') {
        const told = this.#written(state, asked, answered);
        // A store that has missed the event of a removal can only answer with a revision behind it.
        return this.#isCut && value === undefined ? [...told, ...this.#maybeWritten(state, asked)] : told;
      }
      if (answered.kind === 'unknown') return this.#maybeWritten(state, asked);
      if (answered.kind !== 'refused') return [];
      const isMet =
        (expect === undefined || expect === (held?.revision ?? 0)) && (value !== undefined || held !== undefined);
      return isMet ? [] : this.#seen(state, key, answered.current, answered.revision);
    }
    if (asked.verb === 'get' && answered.kind === 'record')
      return this.#seen(state, asked.key, answered.record, answered.revision);
    if (asked.verb === 'revision' && answered.kind === 'revision') return this.#at(state, answered.revision);
    if (asked.verb === 'list' && answered.kind === 'page') {
      const { prefix, afterKey = '', limit = Number.POSITIVE_INFINITY } = asked;
      const wanted = [...state.keys].filter(([key]) => key.startsWith(prefix) && key > afterKey).sort(byKey);
      const shown = wanted.slice(0, limit);
      const isSame =
        shown.length === answered.records.length &&
        shown.every(([key, held], at) => isHeld(held, answered.records[at], key));
      return isSame ? this.#at(state, answered.revision) : [];
    }
    return [];
  }

  #written(
    state: ModelState,
    { key, expect, value }: { key: string; expect: number | undefined; value: string | undefined },
    { revision, createRevision }: { revision: number; createRevision: number },
  ): ModelState[] {
    const held = state.keys.get(key);
    if (expect !== undefined && expect !== (held === undefined ? 0 : held.revision)) return [];
    if (value === undefined && held === undefined) return [];
    if (!this.#isNext(state, revision)) return [];
    const wanted = held === undefined ? revision : (held.createRevision ?? createRevision);
    if (createRevision !== wanted) return [];
    return [put(state, { key, value, revision, createRevision })];
  }

  #maybeWritten(
    state: ModelState,
    { key, expect, value }: { key: string; expect: number | undefined; value: string | undefined },
  ): ModelState[] {
    const held = state.keys.get(key);
    if (expect !== undefined && expect !== (held === undefined ? 0 : held.revision)) return [];
    if (value === undefined && held === undefined) return [];
    const createRevision = (revision: number | undefined) => (held === undefined ? revision : held.createRevision);
    if (value !== undefined) {
      const revision = this.#log.revisionOf(value);
      if (revision !== undefined)
        return this.#isNext(state, revision)
          ? [put(state, { key, value, revision, createRevision: createRevision(revision) })]
          : [];
      // Somebody would have seen it under its number; so it was overwritten unseen, and only takes a number.
      const hidden = this.#promises.hasGaps ? undefined : state.revision + 1;
      return [put(state, { key, value, revision: hidden, createRevision: createRevision(hidden) })];
    }
    const hidden = put(state, { key, value, revision: undefined, createRevision: undefined });
    const told = this.unexplained.get(key)?.find((revision) => !state.explained.includes(revision));
    if (told === undefined || !this.#isNext(state, told)) return [hidden];
    const seen = put(state, { key, value, revision: told, createRevision: undefined });
    return [{ ...seen, explained: [...state.explained, told] }, hidden];
  }

  #isNext(state: ModelState, revision: number): boolean {
    return this.#promises.hasGaps ? revision > state.revision : revision === state.revision + 1;
  }

  #at(state: ModelState, revision: number): ModelState[] {
    // A replica that is behind has the record from the log, and its own revision beside it.
    if (!this.#promises.areReadsFresh) return [state];
    if (!this.#promises.hasGaps) return revision === state.revision ? [state] : [];
    return revision >= state.revision ? [{ ...state, revision }] : [];
  }

  #seen(state: ModelState, key: string, record: StoredRecord | undefined, revision: number): ModelState[] {
    return isHeld(state.keys.get(key), record, key) ? this.#at(state, revision) : [];
  }
}

function put(
  state: ModelState,
  change: {
    key: string;
    value: string | undefined;
    revision: number | undefined;
    createRevision: number | undefined;
  },
): ModelState {
  const { key, value, revision, createRevision } = change;
  const keys = new Map(state.keys);
  if (value === undefined) keys.delete(key);
  else keys.set(key, { value, revision, createRevision });
  return { ...state, revision: revision ?? state.revision + 1, keys };
}

function isHeld(held: Held | undefined, record: StoredRecord | undefined, key: string): boolean {
  if (held === undefined || record === undefined) return held === undefined && record === undefined;
  return (
    record.key === key &&
    record.value === held.value &&
    record.revision === held.revision &&
    (held.createRevision === undefined || record.createRevision === held.createRevision)
  );
}

function byKey([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}
