// One client of a store: does its steps one after the other, remembers what it was told, and keeps its watches going as a careful client does: after an
// end it goes on from the last revision that it saw, and where that is too old it lists again.
import type { Answered, Asked, Watched } from '../history.ts';
import type { OpenWatch, Reach } from '../subjects/subject.ts';
import { longWord, vastWord, withLongValues } from './long-values.ts';
import type { Verdict } from './patience.ts';
import { keys, type Plan, type Step } from './plan.ts';
import type { Recorder } from './recorder.ts';

interface Following {
  watched: Watched;
  open: OpenWatch;
  /** The last revision that it has seen or was told of. */
  last: number;
  isClosed: boolean;
  reached: { revision: number; resolve: () => void } | undefined;
}

/** A watch that ends again and again is a finding of its own. */
const mostResumptions = 20;
/** A store has a few keys. */
const mostPages = 20;
/** Of vast values. */
const manyWrites = 12;
/** States of the past that the last client reads. */
const mostPast = 8;
/** How far behind the past is that clients ask for, and how far ahead the future. */
const oldest = 30;
const ahead = 5;
/** A refused one is soon answered. */
const remakes = 4;
/** The replica whose stream lags has heard all that was before. */
const heardAfterMs = 60;
const turn = () => new Promise((resolve) => setImmediate(resolve));

export class Client {
  #id: number;
  #reach: Reach;
  #recorder: Recorder;
  #known = new Map<string, number>();
  #latest = 0;
  #written = 0;
  #longEvery: number;
  #following = new Set<Following>();
  #resuming = new Set<Promise<void>>();
  #resumptions = 0;

  constructor(id: number, reach: Reach, recorder: Recorder, { longEvery = 0 }: Pick<Plan, 'longEvery'> = {}) {
    this.#id = id;
    this.#reach = withLongValues(reach);
    this.#recorder = recorder;
    this.#longEvery = longEvery;
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#do(step);
  }

  async write(key: string, expect: number | undefined, isDelete: boolean): Promise<Answered> {
    const value = isDelete ? undefined : this.#nextValue();
    return this.#ask({ verb: 'write', key, expect, value });
  }

  #nextValue(): string {
    const word = `${this.#id}-${this.#written++}`;
    return this.#longEvery > 0 && this.#written % this.#longEvery === 0 ? longWord(word) : word;
  }

  async #do(step: Step): Promise<void> {
    switch (step.do) {
      case 'write': {
        const { key, isDelete } = step;
        const known = this.#known.get(key) ?? 0;
        const expected = { absent: 0, known, stale: Math.max(1, known - 1), any: undefined };
        await this.write(key, expected[step.expect], isDelete);
        return;
      }
      case 'get':
        await this.#ask({ verb: 'get', key: step.key, isFresh: step.isFresh });
        return;
      case 'chase': {
        const key = this.#recorder.lastWritten ?? keys[0];
        for (const isFresh of [true, false]) await this.#ask({ verb: 'get', key, isFresh });
        return;
      }
      case 'remake':
        for (let nth = 0; nth < remakes; nth++) await this.write(this.#recorder.lastRemoved ?? keys[0], 0, false);
        return;
      case 'flicker':
        await new Promise((resolve) => setTimeout(resolve, heardAfterMs));
        this.#recorder.fallsAt('flicker');
        await this.write(step.key, 0, false);
        await this.write(step.key, this.#known.get(step.key) ?? 0, true);
        this.#recorder.flickered(step.key);
        return;
      case 'ambush':
        await this.#ambush();
        return;
      case 'list':
        await this.#list(step);
        return;
      case 'pages':
        await this.#page(step);
        return;
      case 'watch': {
        const from = { now: this.#latest, old: this.#old(), start: 0, future: this.#latest + ahead };
        await this.#follow(step.prefix, from[step.from], false);
        return;
      }
      case 'unwatch': {
        const [first] = this.#following;
        if (first !== undefined) this.#close(first);
        return;
      }
      case 'bookmark':
        for (const { open } of [...this.#following]) await open.bookmark();
        return;
      case 'revision':
        await this.#ask({ verb: 'revision' });
        return;
      case 'compact':
        await this.#ask({ verb: 'compact', upTo: Math.max(0, this.#latest - step.keep) });
        return;
      case 'wait':
        for (let nth = 0; nth < step.turns; nth++) await turn();
        return;
      default:
        step satisfies never;
    }
  }

  /** The watches of a client that are open have delivered everything up to the revision, or it is `late`. */
  async rest(markers: ReadonlyMap<string, number>, late: Promise<Verdict>): Promise<void> {
    const rested = new Set<Following>();
    for (;;) {
      await Promise.all(this.#resuming);
      // A watch that ends while another one is waited for is resumed, and owes as much.
      const next = [...this.#following].find((one) => !rested.has(one));
      if (next === undefined) break;
      rested.add(next);
      await this.#comeToRest(next, { markers, late });
    }
    for (const following of [...this.#following]) this.#close(following);
    await turn();
  }

  async #comeToRest(
    following: Following,
    { markers, late }: { markers: ReadonlyMap<string, number>; late: Promise<Verdict> },
  ): Promise<void> {
    const { prefix, afterRevision } = following.watched;
    const due = [...markers].filter(([key]) => key.startsWith(prefix)).map(([, revision]) => revision);
    const wanted = Math.max(0, ...due);
    following.watched.owes = wanted;
    if (following.last >= wanted) return;
    const arrived = new Promise<void>((resolve) => {
      following.reached = { revision: wanted, resolve };
    });
    const verdict = await Promise.race([arrived, late]);
    if (verdict === undefined) return;
    const { troubles, unjudged } = this.#recorder.history;
    const what = `client ${this.#id}: the watch of ${prefix} after ${afterRevision} stopped at ${following.last} instead of ${wanted}`;
    if (verdict === 'dead') troubles.push(what);
    else unjudged.push(what);
    if (verdict === 'starved') delete following.watched.owes;
  }

  async writeMuch(): Promise<void> {
    for (let nth = 0; nth < manyWrites; nth++) {
      const value = vastWord(`${this.#id}-${this.#written++}`);
      await this.#ask({ verb: 'write', key: keys[nth % keys.length] as string, expect: undefined, value });
    }
  }

  /** The newest change is a delete. */
  async forgetAll(): Promise<void> {
    for (const isDelete of [false, true]) await this.write(keys[0], undefined, isDelete);
    await this.#ask({ verb: 'compact', upTo: this.#latest });
  }

  /** Reads everything once more, and the whole history as far as there is one: its oldest state, those since, and every change. */
  async witness(): Promise<void> {
    await this.#ask({ verb: 'list', prefix: '/' });
    const first = await this.#ask({ verb: 'list', prefix: '/', atRevision: 0 });
    const oldestReadable = first.kind === 'compacted' ? first.compactedRevision : 0;
    const step = Math.max(1, Math.ceil((this.#latest - oldestReadable) / mostPast));
    for (let at = oldestReadable; at <= this.#latest; at += step) {
      await this.#ask({ verb: 'list', prefix: '/', atRevision: at });
      await this.#ask({ verb: 'read', keys: [...keys], atRevision: at });
    }
    await this.#follow('/', oldestReadable, false);
  }

  async #ambush(): Promise<void> {
    const key = await this.#recorder.flicker();
    if (key === undefined) return;
    const making = this.write(key, 0, false);
    this.#recorder.fallsAt('ambush');
    await making;
  }

  async #list({ prefix, at }: Extract<Step, { do: 'list' }>): Promise<void> {
    const revisions = { now: undefined, old: this.#old(), future: this.#latest + ahead };
    const atRevision = revisions[at];
    const answered = await this.#ask({ verb: 'list', prefix, ...(atRevision !== undefined && { atRevision }) });
    // As an index does: it knows keys, and reads them at the revision of its list.
    const read = answered.kind === 'page' ? answered.revision : atRevision;
    if (read !== undefined) await this.#ask({ verb: 'read', keys: [...keys].reverse(), atRevision: read });
  }

  async #page({ prefix, limit, between }: Extract<Step, { do: 'pages' }>): Promise<void> {
    let answered = await this.#ask({ verb: 'list', prefix, limit });
    for (let page = 1; answered.kind === 'page' && answered.hasMore; page++) {
      if (page > mostPages) {
        this.#recorder.history.troubles.push(`client ${this.#id}: the list of ${prefix} does not end, ${limit} a page`);
        return;
      }
      const { records, revision } = answered;
      const afterKey = records.at(-1)?.key ?? '';
      for (let nth = 0; nth < between; nth++) await turn();
      answered = await this.#ask({ verb: 'list', prefix, limit, afterKey, atRevision: revision });
    }
  }

  async #follow(prefix: string, afterRevision: number, isResumed: boolean): Promise<void> {
    const watched = this.#recorder.watched({ client: this.#id, prefix, afterRevision, isResumed });
    const following: Following = { watched, open: nothing, last: afterRevision, isClosed: false, reached: undefined };
    this.#following.add(following);
    const open = await this.#reach.watch(prefix, afterRevision, (delivery) => {
      if (following.isClosed) return;
      watched.deliveries.push({ at: this.#recorder.now(), delivery });
      if (delivery.kind === 'events')
        for (const { key, type, revision } of delivery.events)
          this.#learn(key, type === 'put' ? revision : 0, revision);
      if (delivery.kind === 'events') following.last = Math.max(following.last, delivery.events.at(-1)?.revision ?? 0);
      if (delivery.kind === 'bookmark') following.last = Math.max(following.last, delivery.revision);
      if (following.reached !== undefined && following.last >= following.reached.revision) following.reached.resolve();
      if (delivery.kind === 'end') this.#ended(following, delivery.how);
    });
    watched.returnedAt = this.#recorder.now();
    if ('compactedRevision' in open) {
      this.#drop(following);
      watched.compactedRevision = open.compactedRevision;
      const answered = await this.#ask({ verb: 'list', prefix });
      if (answered.kind === 'page' && ++this.#resumptions < mostResumptions)
        await this.#follow(prefix, answered.revision, true);
      return;
    }
    following.open = open;
  }

  #ended(following: Following, how: string): void {
    // A store whose way to its log was cut may end a watch before it has delivered what is due: its reader lists again.
    if (how === 'lost' && this.#recorder.history.cuts > 0) delete following.watched.owes;
    this.#drop(following);
    if (++this.#resumptions >= mostResumptions) return;
    const resuming = this.#follow(following.watched.prefix, following.last, true);
    this.#resuming.add(resuming);
    void resuming.finally(() => this.#resuming.delete(resuming));
  }

  /** It delivers nothing any more. */
  #drop(following: Following): void {
    this.#following.delete(following);
    following.reached?.resolve();
  }

  #close(following: Following): void {
    following.isClosed = true;
    this.#following.delete(following);
    following.open.close();
  }

  async #ask(asked: Asked): Promise<Answered> {
    const answered = await this.#recorder.ask(this.#id, this.#reach, asked);
    if (answered.kind === 'written' && asked.verb === 'write')
      this.#learn(asked.key, asked.value === undefined ? 0 : answered.revision, answered.revision);
    if (answered.kind === 'refused' && asked.verb === 'write')
      this.#learn(asked.key, answered.current?.revision ?? 0, answered.revision);
    if (answered.kind === 'record' && asked.verb === 'get')
      this.#learn(asked.key, answered.record?.revision ?? 0, answered.revision);
    if (answered.kind === 'page' && asked.verb === 'list' && asked.atRevision === undefined)
      for (const { key, revision } of answered.records) this.#learn(key, revision, answered.revision);
    if (answered.kind === 'revision') this.#latest = Math.max(this.#latest, answered.revision);
    return answered;
  }

  #learn(key: string, revision: number, at: number): void {
    this.#known.set(key, revision);
    this.#latest = Math.max(this.#latest, at);
  }

  /** Some revision of the past, always the same for the same history. */
  #old(): number {
    return Math.max(0, this.#latest - ((this.#latest * 7 + this.#id) % oldest));
  }
}

const nothing: OpenWatch = { bookmark: async () => {}, close: () => {} };
