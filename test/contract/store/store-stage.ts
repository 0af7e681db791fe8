// The settings and steps that the cases of the contract of stores share.
import type { HistoryLimits } from '../../../src/store/history-limits.ts';
import type { ListResult, Store, StoreEvent, StoreWatch } from '../../../src/store/store.ts';
import type { VirtualClock } from '../../virtual-clock.ts';
import type { Numbering } from './store-numbering.ts';

export interface StoreSettings {
  clock: VirtualClock;
  history?: Partial<HistoryLimits>;
}

/** Makes a store that is not started yet. */
export type MakeStore = (settings: StoreSettings) => Promise<Store> | Store;

export interface StoreContractOptions {
  /** Twice as many changes are more than a watch hands out at a time; each costs a store over an API server milliseconds. */
  many?: number;
  modelRuns?: number;
  /** Absent = from 1 without gaps. A function for a store that begins where its log is. */
  numbering?: Numbering | ((started: Store) => Numbering);
  /** Writes behind the store's back; the store has not heard of it yet. */
  elsewhere?: (store: Store, key: string, value: string) => void;
  /** Makes the store miss a change and find out; it writes `value` to `key` behind the store's back. */
  lose?: (store: Store, key: string, value: string) => Promise<void>;
}
/** `made` is the store itself, `store` the one that counts changes. */
export type Make = (
  settings?: Omit<StoreSettings, 'clock'>,
) => Promise<{ store: Store; clock: VirtualClock; made: Store }>;

export function put(store: Store, key: string, value: string) {
  return store.write(key, { expect: undefined, value });
}

/** Many at a time, because a store over an API server waits for each. */
export async function putMany(store: Store, count: number): Promise<void> {
  const atOnce = 100;
  for (let n = 0; n < count; n += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, at) => put(store, `/a/${at}`, `v${n}`)));
}

export function remove(store: Store, key: string) {
  return store.write(key, { expect: undefined, value: undefined });
}

export function pageOf(result: ListResult): Extract<ListResult, { kind: 'page' }> {
  if (result.kind !== 'page') throw new Error(`Expected a page, found ${JSON.stringify(result)}`);
  return result;
}

export function keysOf(result: ListResult): string[] {
  return pageOf(result).records.map(({ key }) => key);
}

export function valuesOf(result: ListResult): string[] {
  return pageOf(result).records.map(({ value }) => value);
}

export async function openWatch(store: Store, prefix: string, afterRevision: number): Promise<StoreWatch> {
  const watch = await store.watch(prefix, afterRevision);
  if ('kind' in watch) throw new Error(`Expected a watch, found ${JSON.stringify(watch)}`);
  return watch;
}

export function collect(watch: StoreWatch): StoreEvent[] {
  const seen: StoreEvent[] = [];
  void (async () => {
    for await (const batch of watch.events()) seen.push(...batch);
  })();
  return seen;
}

export async function endOf(watch: StoreWatch): Promise<void> {
  for await (const _ of watch.events());
}

/** The history that a new watch delivers at once. */
export async function eventsFrom(store: Store, prefix: string, afterRevision: number): Promise<StoreEvent[]> {
  const watch = await openWatch(store, prefix, afterRevision);
  for await (const batch of watch.events()) return batch;
  return [];
}

export async function revisionsFrom(store: Store, afterRevision: number): Promise<number[]> {
  return (await eventsFrom(store, '/', afterRevision)).map(({ revision }) => revision);
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (await holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('Waited in vain');
}
