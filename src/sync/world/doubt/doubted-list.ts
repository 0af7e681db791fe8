// Judges a list of the virtual side that lacks so many objects that too many copies would go: the copies go only when a second list,
// asked for ten seconds later, lacks the objects too, and the server does not find five of them by name. That covers servers that
// have not read their data yet, servers that lag, and empty answers with status 200. When one object is found, the list was a lie.
// A single object, which is a large share of few, is asked for by name at once, so that its copy goes soon if it is really gone.
import { Counter } from 'prom-client';
import { type Clock, pause } from '../../../clock.ts';
import { WindowStoppedError } from '../../../cluster/errors.ts';
import { type Item, mayLack, type Window } from '../../../cluster/window/window.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import type { Key } from '../../../object/meta/object.ts';
import { backOffMs } from '../../../pace/back-off.ts';
import type { DeleteGuard } from './delete-guard.ts';

/** An API server that restarts, or a proxy that loses its server, may answer wrongly for some seconds. */
export const listsApartMs = 10_000;
/** A server that goes on lying is asked less and less often, because each question is a whole list. */
const longestApartMs = 60_000;
/** Few enough to ask at once, and enough to meet one of many objects that a list has lost. */
export const askedByName = 5;

export interface ListDoubt {
  /** The kind of the list. */
  list: string;
  deletes: number;
  sinceSeconds: number;
  isLie: boolean;
  message: string;
}

export interface DoubtedListOptions<List extends string> {
  list: List;
  /** The kind of the listed objects, for people. */
  kind: string;
  guard: DeleteGuard<List>;
  window: Pick<Window<Item>, 'relist' | 'find'>;
  /** Whether the host has the copy of a key. */
  hasCopy: (key: Key) => boolean;
  /** All host copies, of which the deletes are a share. */
  copies: () => number;
  /** What is withheld for other kinds that need the same list, and their copies. */
  others?: () => Withheld;
  /** The listed object that a suspected key needs. */
  objectOf: (key: Key) => Key | undefined;
  released: (key: Key) => void;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}

export interface Withheld {
  deletes: number;
  copies: number;
}

type ListVerdict = { kind: 'agreed' | 'unanswered' } | { kind: 'lie'; found: Key };

export class DoubtedList<List extends string> {
  readonly #options: DoubtedListOptions<List>;
  readonly #lies: Counter.Internal;
  readonly #stopped = new AbortController();
  #confirming: Promise<void> | undefined;
  #doubt: (Omit<ListDoubt, 'sinceSeconds'> & { sinceMs: number }) | undefined;

  constructor(options: DoubtedListOptions<List>) {
    this.#options = options;
    this.#lies = liesOf(options.metrics, options.kind);
  }

  /** Undefined when no list is in doubt. */
  get doubt(): ListDoubt | undefined {
    if (this.#doubt === undefined) return undefined;
    const { sinceMs, ...doubt } = this.#doubt;
    return { ...doubt, sinceSeconds: Math.round((this.#options.clock.now() - sinceMs) / 1000) };
  }

  noteChange(key: Key, { isAbsentFromList }: { isAbsentFromList: boolean }): void {
    const { guard, list, hasCopy } = this.#options;
    if (isAbsentFromList && hasCopy(key)) guard.suspect(key, list);
    else guard.clear(key, list);
  }

  /** Called after each list: releases few suspects at once, and begins to confirm many. */
  judge(): void {
    const suspects = this.#suspects();
    if (suspects.length === 0) return;
    if (this.#areFew()) this.#release(suspects);
    else if (this.#isAlone()) this.#asking(() => this.#confirmAlone(suspects));
    else this.#begin(suspects);
  }

  /** Called when keys became suspects outside a list. There may be more of them, so a second list is asked for, as if there were many. */
  judgeByNextList(): void {
    const suspects = this.#suspects();
    if (suspects.length > 0) this.#begin(suspects);
  }

  /** Empty while they are being judged. */
  #suspects(): Key[] {
    if (this.#confirming !== undefined) return [];
    this.#doubt = undefined;
    return this.#options.guard.suspects(this.#options.list);
  }

  /**
   * Keys that another list lacks count as well: a server that lies about slices and their Services shows in the list of Services only
   * what the list of slices has left. So do those of other kinds: a list that is in doubt for one kind is no evidence for another.
   */
  #areFew(): boolean {
    const { guard, copies, others = () => ({ deletes: 0, copies: 0 }) } = this.#options;
    const elsewhere = others();
    return mayLack(guard.size, copies()) && mayLack(guard.size + elsewhere.deletes, copies() + elsewhere.copies);
  }

  #isAlone(): boolean {
    const { guard, others } = this.#options;
    return guard.size === 1 && (others === undefined || others().deletes === 0);
  }

  #begin(suspects: readonly Key[]): void {
    this.#doubtList(suspects);
    this.#asking(() => this.#confirm());
  }

  #doubtList(suspects: readonly Key[]): void {
    const { copies, kind, log, clock } = this.#options;
    const message = `the list of ${kind} lacks ${suspects.length} objects that the host has copies of; nothing is deleted until a second list agrees`;
    this.#doubt = { list: kind, deletes: suspects.length, sinceMs: clock.now(), isLie: false, message };
    log.error({ component: 'sync', list: kind, deletes: suspects.length, copies: copies() }, message);
  }

  #asking(confirm: () => Promise<void>): void {
    const { kind, log } = this.#options;
    this.#confirming = confirm()
      .catch((error: unknown) => {
        if (!(error instanceof WindowStoppedError))
          log.error({ component: 'sync', list: kind, err: error }, 'a second list could not be read');
      })
      .finally(() => {
        this.#confirming = undefined;
        if (!this.#stopped.signal.aborted) this.judge();
      });
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #confirmAlone(suspects: readonly Key[]): Promise<void> {
    const decided = suspects.filter((key) => !this.#waitsForOtherList(key));
    // The list that lacks the object itself asks for it, and withholds the copy until then.
    const verdict: ListVerdict = decided.length === 0 ? { kind: 'agreed' } : await this.#ask(decided);
    if (this.#stopped.signal.aborted) return;
    if (verdict.kind === 'agreed') return this.#release(suspects);
    this.#doubtList(suspects);
    this.#tell(verdict, suspects.length);
    return this.#confirm();
  }

  async #confirm(): Promise<void> {
    const { guard, list, window, clock } = this.#options;
    for (let round = 0; ; round++) {
      await this.#wait(backOffMs(round + 1, { firstMs: listsApartMs, mostMs: longestApartMs }));
      if (this.#stopped.signal.aborted) return;
      const askedAtMs = clock.now();
      await window.relist('confirm a mass delete');
      // Keys that the second list holds were cleared by its changes. For a key that an earlier list had brought back the time starts again.
      const confirmed = guard.suspects(list, askedAtMs - listsApartMs);
      const decided = confirmed.filter((key) => !this.#waitsForOtherList(key));
      const verdict: ListVerdict = await this.#verdictOn(confirmed, decided);
      if (this.#stopped.signal.aborted) return;
      if (verdict.kind === 'agreed') {
        this.#agreed(decided);
        return;
      }
      this.#tell(verdict, confirmed.length);
    }
  }

  /** Only the object of a key says which other object it needs. If the object's own list lacks it too, that list decides first. */
  #waitsForOtherList(key: Key): boolean {
    const { guard, list, objectOf } = this.#options;
    return objectOf(key) === undefined && guard.isWithheldByOther(key, list);
  }

  async #verdictOn(confirmed: readonly Key[], decided: readonly Key[]): Promise<ListVerdict> {
    if (confirmed.length === 0) return { kind: 'agreed' };
    return decided.length === 0 ? { kind: 'unanswered' } : this.#ask(decided);
  }

  /** A timer may fire a little early. */
  async #wait(delayMs: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopped;
    const dueMs = clock.now() + delayMs;
    while (clock.now() < dueMs && !signal.aborted) await pause(clock, dueMs - clock.now(), signal);
  }

  async #ask(keys: readonly Key[]): Promise<ListVerdict> {
    const { window, objectOf, random } = this.#options;
    const objects = [...new Set(keys.map(objectOf).filter((key) => key !== undefined))];
    const some = Array.from({ length: Math.min(askedByName, objects.length) }, () =>
      objects.splice(Math.min(objects.length - 1, Math.floor(random() * objects.length)), 1),
    ).flat();
    const answers = await Promise.all(some.map((key) => window.find(key)));
    const at = answers.indexOf('found');
    if (at >= 0) return { kind: 'lie', found: some[at] as Key };
    return { kind: answers.includes('unknown') ? 'unanswered' : 'agreed' };
  }

  #agreed(confirmed: Key[]): void {
    const { kind, log } = this.#options;
    if (confirmed.length > 0)
      log.warn({ component: 'sync', list: kind, deletes: confirmed.length }, 'a second list agrees, the copies go');
    else log.info({ component: 'sync', list: kind }, 'a second list has the objects again');
    this.#release(confirmed);
  }

  #tell(verdict: Exclude<ListVerdict, { kind: 'agreed' }>, deletes: number): void {
    const { kind, log } = this.#options;
    const isLie = verdict.kind === 'lie';
    const message = isLie
      ? `the list of ${kind} is a lie: it lacks ${deletes} objects, and the server has ${verdict.found} of them; nothing is deleted, and the list is asked for again`
      : `the list of ${kind} lacks ${deletes} objects, and the server does not say whether it has them; nothing is deleted`;
    if (isLie) this.#lies.inc();
    log.error({ component: 'sync', list: kind, deletes, ...(isLie && { found: verdict.found }) }, message);
    if (this.#doubt !== undefined) this.#doubt = { ...this.#doubt, deletes, isLie, message };
  }

  #release(keys: readonly Key[]): void {
    const { guard, list, released } = this.#options;
    for (const key of guard.release(keys, list)) released(key);
  }
}

/** The syncs of several kinds judge lists of the same Services. */
function liesOf(metrics: Metrics, kind: string): Counter.Internal {
  const name = 'hostward_list_lies_total';
  const known = metrics.getSingleMetric(name) as Counter | undefined;
  const help = 'Lists that lacked objects which the server had, by kind';
  const child = (known ?? new Counter({ name, help, labelNames: ['kind'], registers: [metrics] })).labels({ kind });
  child.inc(0);
  return child;
}
