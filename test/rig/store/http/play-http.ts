// Plays the clients of a seed against an API server over HTTP, on a store of its own, and writes down what they saw and what the store did.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storagePrefix } from '../../../../src/apiserver/wire/stored-text.ts';
import { systemClock } from '../../../../src/clock.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { SqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { Lines, openShop, type Shop, widgetKind } from '../../../apiserver/shop/widgets.ts';
import { Chance } from '../../play/random.ts';
import { longWord, storedText, vastWord } from '../play/long-values.ts';
import { type Verdict, verdictOf } from '../play/patience.ts';
import { type Plant, planted } from '../subjects/planted.ts';
import type { HttpHistory, Line, Selection, WatchSeen, Written } from './judge-http.ts';
import { collectionOf, type Item, pageOf, pathOf, queryOf, thingOf } from './widget-paths.ts';

const keys = ['a/1', 'a/10', 'a/2', 'b/1', 'b/2'] as const;
const sides = ['left', 'right'] as const;
const selections: readonly Selection[] = [
  ...[{ namespace: '' }, { namespace: '' }, { namespace: 'a' }, { namespace: 'b' }],
  ...[
    { namespace: 'a', name: '1' },
    { namespace: '', side: 'left' },
    { namespace: 'a', side: 'right' },
  ],
];
/** Short, so that most watches are told how far they are between two changes. */
const bookmarkIntervalMs = 3;
/** None ends by its age while it is waited for. */
const maxWatchMs = 300_000;
const mostWatches = 40;
/** On a busy machine a history may take longer than the past is kept, and nobody has asked for that to be forgotten. */
const history = { maxAgeMs: 24 * 3_600_000 };
const memoryFolder = '/dev/shm';
/** Of histories. Of long things a server does not hold a whole list or first state of a watch, but reads the rest later. */
const shareLong = 0.5;
/** Of the long ones. */
const everyVast = 3;

export async function playHttp(seed: number, plant?: Plant): Promise<HttpHistory> {
  const chance = new Chance(seed, 'http');
  const folder = mkdtempSync(join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), 'hostward-http-'));
  const inMemory = chance.isHit(0.25) ? new MemoryStore({ clock: systemClock, history }) : undefined;
  const opened = () => inMemory ?? new SqliteStore({ clock: systemClock, history, path: join(folder, 'store.db') });
  // Drawn apart, so that the rest of a seed is what it was.
  const length = new Chance(seed, 'http length');
  const player = new Player(length.isHit(shareLong) ? length.pick([1, 1, 2]) : Number.POSITIVE_INFINITY);
  try {
    // A database that is opened again has what was before on disk alone, where a watch of the past reads it slowly.
    if (inMemory === undefined)
      await serving(opened(), player, { plant: undefined }, (shop) => player.write(shop, chance));
    await serving(opened(), player, { plant }, async (shop) => {
      const clients = Array.from({ length: chance.between(2, 4) }, (_, nth) => new Chance(seed, `http client ${nth}`));
      await Promise.all(clients.map((one) => player.play(shop, one)));
      await player.rest(shop);
    });
    return player.history;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serving(
  store: Store,
  player: Player,
  { plant }: { plant: Plant | undefined },
  work: (shop: Shop) => Promise<void>,
): Promise<void> {
  await store.start();
  const told = player.writingDown(store);
  const shop = await openShop({
    store: plant === undefined ? told : planted(told, plant),
    watch: { bookmarkIntervalMs, maxWatchMs },
  });
  player.isServed = true;
  try {
    await work(shop);
  } finally {
    player.isServed = false;
    await shop.stop();
    await store.stop();
  }
}

class Player {
  readonly history: HttpHistory = { changes: [], writes: [], lists: [], watches: [], compactions: [], unjudged: [] };
  isServed = false;
  #compact: (upTo: number) => Promise<void> = async () => {};
  #moment = 0;
  #latest = 0;
  #count = 0;
  #isOver = false;
  /** Why a watch could not be opened again. */
  #broken: unknown;
  #known = new Map<string, number>();
  #following = new Map<WatchSeen, { last: number; ended: Promise<void>; cut(): void; moved: () => void }>();
  readonly #longEvery: number;

  /** Every so manieth thing is long. */
  constructor(longEvery: number) {
    this.#longEvery = longEvery;
  }

  writingDown(store: Store): Store {
    const prefix = storagePrefix(widgetKind, '');
    this.#compact = (upTo) => store.compact(upTo);
    const write: Store['write'] = async (key, change) => {
      const calledAt = this.#moment++;
      const result = await store.write(key, change);
      if (!result.ok || !key.startsWith(prefix)) return result;
      const { revision } = result;
      const thing = change.value === undefined ? undefined : thingOf(JSON.parse(change.value), revision);
      const returnedAt = this.#moment++;
      this.history.changes.push({ revision, key: key.slice(prefix.length), thing, calledAt, returnedAt });
      return result;
    };
    return new Proxy(store, {
      get: (_target, name) => {
        if (name === 'write') return write;
        const own = Reflect.get(store, name);
        return typeof own === 'function' ? own.bind(store) : own;
      },
    });
  }

  async write(shop: Shop, chance: Chance): Promise<void> {
    for (let count = chance.between(10, 40); count > 0; count--) await this.#writeSomething(shop, chance);
  }

  async play(shop: Shop, chance: Chance): Promise<void> {
    for (let count = chance.between(10, 30); count > 0; count--) await this.#step(shop, chance);
  }

  /** Every open watch comes as far as the last write, or is dead and owes the rest. */
  async rest(shop: Shop): Promise<void> {
    for (const key of ['a/1', 'b/1']) await this.#write(shop, { verb: 'update', key, expect: undefined, side: 'left' });
    for (const key of ['a/1', 'b/1']) await this.#write(shop, { verb: 'create', key, expect: undefined, side: 'left' });
    this.#isOver = true;
    if (this.#broken !== undefined) throw this.#broken;
    const over = new AbortController();
    const asks = async () => (await shop.call('GET', `${collectionOf('a')}/1`)).status === 200;
    let verdict: Verdict | undefined;
    const late = verdictOf({ asks, isOver: over.signal }).then((found) => {
      verdict = found;
    });
    for (const [seen, following] of this.#following) {
      seen.owes = this.#latest;
      // A bookmark tells that nothing more comes.
      while (following.last < this.#latest && verdict === undefined && this.#following.has(seen))
        await Promise.race([late, new Promise<void>((resolve) => (following.moved = resolve))]);
      if (following.last < this.#latest && verdict === 'starved' && this.#following.has(seen)) {
        seen.owes = undefined;
        this.history.unjudged.push(
          `a watch after ${seen.after} stopped at ${following.last} instead of ${this.#latest}`,
        );
      }
      following.cut();
    }
    over.abort();
    await Promise.all([...this.#following.values()].map(({ ended }) => ended));
  }

  async #step(shop: Shop, chance: Chance): Promise<void> {
    const selection = chance.pick(selections);
    // Nothing is old before the first write.
    const old = this.#latest === 0 ? undefined : Math.max(1, this.#latest - chance.whole(25));
    const step = chance.weigh<() => Promise<unknown>>([
      [50, () => this.#writeSomething(shop, chance)],
      [6, () => this.#list(shop, selection, {})],
      [6, () => this.#list(shop, selection, { exact: old })],
      [8, () => this.#list(shop, selection, { limit: chance.between(1, 2) })],
      [16, () => this.#watch(shop, selection, chance.pick([undefined, this.#latest || undefined, old, old]))],
      [4, async () => [...this.#following.values()][0]?.cut()],
      [2, () => this.#forget(Math.max(0, this.#latest - chance.whole(20)))],
    ]);
    await step();
  }

  async #writeSomething(shop: Shop, chance: Chance): Promise<void> {
    const key = chance.pick(keys);
    const side = chance.pick(sides);
    const known = this.#known.get(key);
    const what = chance.weigh<Pick<Written, 'verb' | 'expect'>>([
      [10, { verb: 'create', expect: undefined }],
      [22, { verb: 'update', expect: known }],
      [8, { verb: 'update', expect: undefined }],
      [6, { verb: 'delete', expect: known }],
      [4, { verb: 'delete', expect: undefined }],
    ]);
    await this.#write(shop, { ...what, key, side });
  }

  async #forget(upTo: number): Promise<void> {
    this.history.compactions.push({ upTo, calledAt: this.#moment++ });
    await this.#compact(upTo);
  }

  async #write(shop: Shop, what: Pick<Written, 'verb' | 'key' | 'expect'> & { side: string }): Promise<void> {
    const { verb, key, expect, side } = what;
    const [namespace = '', name = ''] = key.split('/');
    const version = expect === undefined ? {} : { resourceVersion: String(expect) };
    const collection = collectionOf(namespace);
    const word = `${++this.#count}`;
    const nth = this.#count / this.#longEvery;
    const long = nth % everyVast === 0 ? vastWord(word) : longWord(word);
    const size = storedText(Number.isInteger(nth) ? long : word);
    const body = {
      ...{ apiVersion: 'shop.example/v1', kind: 'Widget', spec: { size } },
      metadata: { name, ...version, labels: { side } },
    };
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: version };
    const calledAt = this.#moment++;
    const reply = await {
      create: () => shop.call('POST', collection, body),
      update: () => shop.call('PUT', `${collection}/${name}`, body),
      delete: () => shop.call('DELETE', `${collection}/${name}`, options),
    }[verb]();
    const { status } = reply;
    const revision = verb === 'delete' || status >= 300 ? 0 : thingOf(reply.json).revision;
    this.history.writes.push({ verb, key, expect, status, revision, calledAt, returnedAt: this.#moment++ });
    if (status < 300 && revision > 0) this.#learn(key, revision);
  }

  async #list(shop: Shop, selection: Selection, asked: { exact?: number | undefined; limit?: number }): Promise<void> {
    const { exact, limit } = asked;
    const calledAt = this.#moment++;
    const listed = { selection, exact, pages: [], isTooOld: false, calledAt, returnedAt: 0 } as HttpHistory['lists'][0];
    let more = '';
    do {
      const query = queryOf(selection);
      if (limit !== undefined) query.set('limit', String(limit));
      if (more !== '') query.set('continue', more);
      else if (exact !== undefined) {
        query.set('resourceVersion', String(exact));
        query.set('resourceVersionMatch', 'Exact');
      }
      const reply = await shop.call('GET', `${pathOf(selection)}?${query}`);
      listed.isTooOld = reply.status === 410;
      if (listed.isTooOld) break;
      const { metadata, items } = pageOf(reply);
      const revision = Number(metadata.resourceVersion);
      listed.pages.push({
        revision,
        things: items.map((item) => thingOf(item)),
        remaining: metadata.remainingItemCount,
      });
      for (const { key, revision: its } of listed.pages.at(-1)?.things ?? []) this.#known.set(key, its);
      this.#latest = Math.max(this.#latest, revision);
      more = metadata.continue ?? '';
    } while (more !== '');
    listed.returnedAt = this.#moment++;
    this.history.lists.push(listed);
  }

  /** Goes on by itself where it was cut, or from the present when its place is gone. */
  async #watch(shop: Shop, selection: Selection, after: number | undefined): Promise<void> {
    if (this.history.watches.length >= mostWatches) return;
    const query = queryOf(selection);
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    if (after !== undefined) query.set('resourceVersion', String(after));
    else {
      query.set('sendInitialEvents', 'true');
      query.set('resourceVersionMatch', 'NotOlderThan');
    }
    const seen: WatchSeen = { selection, after, lines: [], calledAt: this.#moment++, owes: undefined };
    this.history.watches.push(seen);
    const gone = new AbortController();
    const response = await fetch(`${shop.server.url}${pathOf(selection)}?${query}`, {
      headers: { authorization: 'Bearer owner-token' },
      signal: gone.signal,
    });
    // It opens a watch of a past that it has forgotten too, and says so in the first line.
    if (response.status !== 200) {
      await response.body?.cancel();
      seen.lines.push({ type: 'ERROR', code: response.status, at: this.#moment++ });
    }
    const following = { last: after ?? 0, ended: Promise.resolve(), cut: () => gone.abort(), moved: () => undefined };
    this.#following.set(seen, following);
    const lines = new Lines(response.body as ReadableStream<Uint8Array>);
    following.ended = this.#follow(seen, lines, () => gone.signal.aborted).finally(() => {
      this.#following.delete(seen);
      following.moved();
    });
    following.ended
      .then(() => {
        const end = seen.lines.at(-1);
        const isGone = end?.type === 'ERROR' && end.code === 410;
        if (this.isServed && !this.#isOver)
          return this.#watch(shop, selection, isGone || following.last === 0 ? undefined : following.last);
      })
      .catch((error: unknown) => {
        if (this.isServed) this.#broken ??= error;
      });
  }

  async #follow(seen: WatchSeen, lines: Lines, wasCut: () => boolean): Promise<void> {
    try {
      for (;;) {
        const line = await lines.next();
        if (line === undefined) {
          this.#noteEnd(seen, wasCut);
          return;
        }
        const { type, object } = line as { type: string; object: Item & { code: number } };
        const following = this.#following.get(seen);
        if (type === 'ERROR') seen.lines.push({ type, code: object.code, at: this.#moment++ });
        else if (type === 'BOOKMARK') {
          const endsInitial = object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
          const revision = Number(object.metadata.resourceVersion);
          seen.lines.push({ type, revision, endsInitial });
          if (following !== undefined) following.last = revision;
        } else {
          const thing = thingOf(object);
          seen.lines.push({ type, thing } as Line);
          this.#learn(thing.key, thing.revision);
          // The first state has no order: one may go on from there only behind its end.
          const isFirst = seen.after === undefined && !seen.lines.some((one) => one.type === 'BOOKMARK');
          if (following !== undefined && !isFirst) following.last = thing.revision;
        }
        following?.moved();
      }
    } catch {
      this.#noteEnd(seen, wasCut);
    }
  }

  /** A server has no reason to end one that is so young. */
  #noteEnd(seen: WatchSeen, wasCut: () => boolean): void {
    if (this.isServed && !wasCut() && seen.lines.at(-1)?.type !== 'ERROR')
      seen.lines.push({ type: 'ERROR', code: 0, at: this.#moment++ });
  }

  #learn(key: string, revision: number): void {
    this.#known.set(key, revision);
    this.#latest = Math.max(this.#latest, revision);
  }
}
