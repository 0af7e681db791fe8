import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../src/devcluster/devcluster.ts';
import { silentLog } from '../../src/log.ts';
import { HostSecrets } from '../../src/management/server/host/records/host-secrets.ts';
import type { KubernetesStore } from '../../src/store/kubernetes/kubernetes-store.ts';
import type { HostListener, HostRecord } from '../../src/store/kubernetes/records/host-records.ts';
import { metaName, nameOf, replicaData, replicaName } from '../../src/store/kubernetes/records/record-format.ts';
import type { KubernetesStoreOptions } from '../../src/store/kubernetes/store-options.ts';
import type { StoreEvent } from '../../src/store/store.ts';
import {
  connectionTo,
  type NumberedStore,
  newNamespace,
  numberingOf,
  recordsOn,
  storeOn,
} from '../contract/store/on-host.ts';
import { storeContract } from '../contract/store/store.ts';
import { until } from '../contract/store/store-stage.ts';
import { settle } from '../virtual-clock.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

storeContract('kubernetes store', async (settings) => storeOn(host, await newNamespace(host), settings), {
  numbering: numberingOf,
  modelRuns: 5,
  many: 600,
});

describe('kubernetes stores of two replicas', () => {
  const open: NumberedStore[] = [];
  afterEach(async () => {
    for (const store of open.splice(0)) await store.stop();
  });
  const storesOn = async (namespace: string, options: Partial<KubernetesStoreOptions> = {}) => {
    const stores = ['one', 'two'].map((replica) => storeOn(host, namespace, { replica, ...options }));
    open.push(...stores);
    await Promise.all(stores.map((store) => store.start()));
    return stores as [NumberedStore, NumberedStore];
  };

  it('agree on one epoch when both find nothing', async () => {
    let epochs = 0;
    const [one, two] = await storesOn(await newNamespace(host), { newEpoch: () => `epoch-${epochs++}` });
    expect(one.epoch).toBe(two.epoch);
  });

  it('show each other what was acknowledged, when asked for what is fresh', async () => {
    const [one, two] = await storesOn(await newNamespace(host));
    for (let n = 0; n < 20; n++) {
      const written = await one.write(`/r/${n}`, { expect: 0, value: `"${n}"` });
      expect((await two.get(`/r/${n}`, { fresh: true })).record?.value).toBe(`"${n}"`);
      expect(await two.currentRevision({ fresh: true })).toBeGreaterThanOrEqual(written.revision);
      expect((await two.list('/r/')).kind === 'page' && (await two.get(`/r/${n}`)).record?.revision).toBe(
        written.revision,
      );
    }
  });

  it('let one of them win, and tell the other what is there', async () => {
    const [one, two] = await storesOn(await newNamespace(host));
    const results = await Promise.all([one, two].map((store, n) => store.write('/a', { expect: 0, value: `"${n}"` })));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const lost = results.find(({ ok }) => !ok);
    expect(lost?.ok === false && lost.current).toEqual((await one.get('/a')).record);
  });

  it('give every watcher of either the same changes in the same order', async () => {
    const [one, two] = await storesOn(await newNamespace(host));
    const seen = await Promise.all([one, two].map(watched));
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        (n % 2 === 0 ? one : two).write(`/r/${n % 7}`, {
          expect: undefined,
          value: n % 5 === 4 ? undefined : `"${n}"`,
        }),
      ),
    );
    await Promise.all([one, two].map((store) => store.currentRevision({ fresh: true })));
    await settle();
    expect(seen[0]?.length).toBeGreaterThan(40);
    expect(seen[0]).toEqual(seen[1]);
  });

  it('exceed the number of records by no more than what the other one has under way', async () => {
    const [one, two] = await storesOn(await newNamespace(host), { room: { most: { records: 5, bytes: 1_000_000 } } });
    const made = async (store: KubernetesStore, name: string) => {
      const writes = Array.from({ length: 20 }, (_, n) => store.write(`/r/${name}${n}`, { expect: 0, value: '1' }));
      return (await Promise.allSettled(writes)).filter(({ status }) => status === 'fulfilled').length;
    };
    const both = await Promise.all([made(one, 'a'), made(two, 'b')]);
    expect(Math.max(...both)).toBeLessThanOrEqual(5);
    await one.currentRevision({ fresh: true });
    await expect(one.write('/more', { expect: 0, value: '1' })).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect((await one.write('/r/a0', { expect: undefined, value: '2' })).ok).toBe(true);
    for (let n = 0; n < 20; n++)
      for (const name of ['a', 'b']) await one.write(`/r/${name}${n}`, { expect: undefined, value: undefined });
    // All room is there again.
    expect(await made(one, 'c')).toBe(5);
  });

  it('take what is not limited also when they are full', async () => {
    const isLimited = (key: string) => key.startsWith('/r/');
    const room = { most: { records: 1, bytes: 1_000_000 }, isLimited };
    const [one] = await storesOn(await newNamespace(host), { room });
    expect((await one.write('/r/a', { expect: 0, value: '1' })).ok).toBe(true);
    expect((await one.write('/names/a', { expect: 0, value: '1' })).ok).toBe(true);
    await expect(one.write('/r/b', { expect: 0, value: '1' })).rejects.toMatchObject({ code: 'STORE_FULL' });
  });

  it('refuse new records beyond the bytes that they may have, and let a tenth more be there for changes: a full store disables keys', async () => {
    const [one, two] = await storesOn(await newNamespace(host), { room: { most: { records: 100, bytes: 1_000 } } });
    const put = (store: KubernetesStore, key: string, length: number, expect?: number) =>
      store.write(key, { expect, value: 'x'.repeat(length) });
    for (const key of ['/r/a', '/r/b']) expect((await put(one, key, 500, 0)).ok).toBe(true);
    await two.currentRevision({ fresh: true });
    for (const store of [one, two])
      await expect(put(store, '/r/c', 1, 0)).rejects.toMatchObject({
        code: 'STORE_FULL',
        message: 'the store has 1000 bytes of 1000',
      });
    expect((await put(two, '/r/a', 600)).ok).toBe(true);
    await expect(put(two, '/r/b', 501)).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect((await put(two, '/r/a', 100)).ok).toBe(true);
    expect((await put(two, '/r/c', 400, 0)).ok).toBe(true);
  });

  it('notice a host that was set back, although its versions are higher than ever', async () => {
    const namespace = await newNamespace(host);
    const heard: string[] = [];
    const [one, two] = await storesOn(namespace, { wentBack: (why) => void heard.push(why) });
    const records = recordsOn(host, namespace, 'test');
    const old = await records.get(replicaName('one'));
    await one.currentRevision({ fresh: true });
    // As a restore of all records by their content does.
    await records.replace(replicaName('one'), old?.data ?? {}, undefined);
    await expect(one.currentRevision({ fresh: true })).rejects.toMatchObject({ code: 'STORE_ROLLED_BACK' });
    await expect(one.write('/a', { expect: 0, value: '1' })).rejects.toMatchObject({ code: 'STORE_ROLLED_BACK' });
    expect(one.trouble).toMatch(/^it was set back: the record of this replica there is its beat \d+, and beat \d+ was/);
    // It tells the others, and only one that has just begun needs to hear it: it may have begun on the older host.
    await expect.poll(() => two.trouble).toBe('the cluster was set back, as another replica has seen');
    expect(heard).toHaveLength(2);
    const blind = storeOn(host, namespace, { replica: 'three' });
    open.push(blind);
    await expect(blind.start()).rejects.toThrow('as another replica has seen; stop every replica and run');
    const opened = storeOn(host, namespace, { replica: 'three', trusts: true, recovers: true });
    open.push(opened);
    await opened.start();
    await records.stop();
  });

  it('notice a host that was set back to before their restart', async () => {
    const namespace = await newNamespace(host);
    const [one] = await storesOn(namespace);
    for (let beats = 0; beats < 5; beats++) await one.currentRevision({ fresh: true });
    const records = recordsOn(host, namespace, 'test');
    const old = await records.get(replicaName('one'));
    await one.stop();
    const again = storeOn(host, namespace, { replica: 'one' });
    open.push(again);
    await again.start();
    await records.replace(replicaName('one'), old?.data ?? {}, undefined);
    await expect(again.currentRevision({ fresh: true })).rejects.toMatchObject({ code: 'STORE_ROLLED_BACK' });
    await records.stop();
  });

  it('notice a host that was set back behind their last beat, by an older version of a record that they have seen end', async () => {
    const namespace = await newNamespace(host);
    const records = recordsOn(host, namespace, 'one');
    let follower: HostListener | undefined;
    const follow = records.follow.bind(records);
    records.follow = (listener) => {
      follower = listener;
      follow(listener);
    };
    const [store] = [storeOn(host, namespace, { host: records })];
    open.push(store);
    await store.start();
    await store.write('/revoked', { expect: 0, value: '"1"' });
    await store.write('/kept', { expect: 0, value: '"1"' });
    const all = [metaName, replicaName('one'), nameOf('/revoked'), nameOf('/kept')];
    const copy = await Promise.all(all.map(async (name) => (await records.get(name)) as HostRecord));
    const [, own, ...others] = copy as [HostRecord, HostRecord, ...HostRecord[]];
    // Records at the versions that were seen, and one that has changed since, are an ordinary list.
    follower?.listed(
      [...copy.slice(0, 1), { ...own, version: own.version + 1 }, ...others],
      await store.currentRevision(),
    );
    expect(store.trouble).toBeUndefined();
    await store.write('/revoked', { expect: undefined, value: undefined });
    const version = (await store.currentRevision({ fresh: true })) + 1_000;
    follower?.listed(copy, version);
    expect(store.trouble).toMatch(/^it was set back: record ".*" is at version \d+ there, and was seen at \d+$/);
    await expect(store.write('/a', { expect: 0, value: '1' })).rejects.toMatchObject({ code: 'STORE_ROLLED_BACK' });
  });

  it('go on after their own record was edited or deleted by hand', async () => {
    const namespace = await newNamespace(host);
    const [one, two] = await storesOn(namespace);
    const records = recordsOn(host, namespace, 'test');
    const sight = {
      epoch: 'first',
      reached: 0,
      since: 0,
      putBack: [],
      guesses: [],
      gone: [],
      isNew: false,
      isSetBack: false,
    };
    const edited = replicaData({ replica: 'one', beat: 1_000, about: 'edited' }, sight);
    await records.replace(replicaName('one'), edited, undefined);
    await one.currentRevision({ fresh: true });
    const found = await records.get(replicaName('two'));
    await records.remove(replicaName('two'), found?.version ?? 0);
    await two.currentRevision({ fresh: true });
    expect([one.trouble, two.trouble]).toEqual([undefined, undefined]);
    await records.stop();
  });

  it('refuse a namespace that is not the one they knew', async () => {
    const lost = storeOn(host, await newNamespace(host), { known: { epoch: 'of another store' } });
    await expect(lost.start()).rejects.toMatchObject({ code: 'STORE_OPEN_FAILED' });
    await lost.stop();
  });

  it('know a store that was set back to before its last recovery by the name in its seals, and the command that mends opens it', async () => {
    const namespace = await newNamespace(host);
    const [one] = await storesOn(namespace);
    const store = one.sealedAs;
    for (const each of open.splice(0)) await each.stop();
    const known = { epoch: 'later', store };
    const late = storeOn(host, namespace, { known });
    await expect(late.start()).rejects.toMatchObject({
      code: 'STORE_ROLLED_BACK',
      message: expect.stringContaining('set back to before its last recovery'),
    });
    await late.stop();
    const mends = storeOn(host, namespace, { known, trusts: true, recovers: true });
    await mends.start();
    await mends.beginEpoch('latest', 1_000, { former: ['later'] });
    await mends.stop();
    const again = storeOn(host, namespace, { known });
    open.push(again);
    await again.start();
    expect([again.epoch, (await again.currentRevision()) > 1_000]).toEqual(['latest', true]);
  });

  it('serve nothing of a recovery that has begun beside them until it has ended, and none of them starts', async () => {
    const namespace = await newNamespace(host);
    const [one] = await storesOn(namespace);
    const { epoch } = one;
    const mends = storeOn(host, namespace, { replica: 'mends', trusts: true, recovers: true });
    open.push(mends);
    await mends.start();
    const recoversFrom = mends.writtenUpTo;
    await mends.beginEpoch('half', 1_000, { recoversFrom });
    await until(async () => one.trouble !== undefined);
    expect(one.trouble).toContain('its recovery has begun and not ended');
    await expect(one.write('/a', { expect: 0, value: '1' })).rejects.toMatchObject({ code: 'STORE_ROLLED_BACK' });
    const late = storeOn(host, namespace, { replica: 'late', known: { epoch, store: one.sealedAs } });
    await expect(late.start()).rejects.toMatchObject({ message: expect.stringContaining('has begun and not ended') });
    await late.stop();
    expect([mends.trouble, (await mends.write('/b', { expect: 0, value: '1' })).ok]).toEqual([undefined, true]);
    expect([mends.writtenUpTo, one.trouble]).toEqual([recoversFrom, expect.any(String)]);
    await mends.beginEpoch('whole', 1_000);
    await until(async () => one.trouble === undefined);
    expect([one.epoch, (await one.get('/b', { fresh: true })).record?.value]).toEqual(['whole', '1']);
  });
});

async function watched(store: NumberedStore): Promise<StoreEvent[]> {
  const seen: StoreEvent[] = [];
  const watch = await store.watch('/', await store.currentRevision({ fresh: true }));
  if ('kind' in watch) throw new Error('the present is forgotten');
  void (async () => {
    for await (const batch of watch.events()) seen.push(...batch);
  })();
  return seen;
}

describe('kubernetes store: a removal has its own revision', () => {
  const cases: [string, (stores: { store: NumberedStore; other: NumberedStore }) => Promise<void>][] = [
    [
      'even if the record was made again before the answer came',
      async ({ store, other }) => {
        await other.write('/a', { expect: 0, value: 'anew' });
        await until(async () => (await store.get('/a')).record?.value === 'anew');
      },
    ],
    [
      'even if its history was compacted before the answer came',
      async ({ store }) => {
        await until(async () => (await store.get('/a')).record === undefined);
        await store.compact(await store.currentRevision({ fresh: true }));
      },
    ],
  ];
  it.each(cases)('%s', async (_, happens) => {
    const namespace = await newNamespace(host);
    const other = storeOn(host, namespace, { replica: 'two' });
    class SlowHost extends HostSecrets {
      override async remove(...of: Parameters<HostSecrets['remove']>) {
        const removed = await super.remove(...of);
        await other.write('/between', { expect: 0, value: 'x' });
        await happens({ store, other });
        return removed;
      }
    }
    const common = { clock: systemClock, random: Math.random, log: silentLog };
    const slow = new SlowHost({ ...common, connection: connectionTo(host), namespace, replica: 'one' });
    const store = storeOn(host, namespace, { host: slow });
    await Promise.all([store.start(), other.start()]);
    try {
      const { revision } = await store.write('/a', { expect: 0, value: 'first' });
      const seen = await watched(store);
      const removed = await store.write('/a', { expect: revision, value: undefined });
      await until(async () => seen.length > 0);
      expect(seen[0]).toMatchObject({ type: 'delete', revision: removed.revision });
    } finally {
      await Promise.all([store.stop(), other.stop()]);
    }
  });
});

it('kubernetes store: a removal that a list has hidden comes before the record that was made again', async () => {
  const namespace = await newNamespace(host);
  const other = storeOn(host, namespace, { replica: 'two' });
  let again = 0;
  class DeafHost extends HostSecrets {
    #isDeaf = false;

    override follow(listener: HostListener): void {
      super.follow({
        ...listener,
        changed: (change) => {
          if (!this.#isDeaf) listener.changed(change);
        },
        listed: (...list) => {
          this.#isDeaf = false;
          listener.listed(...list);
        },
      });
    }

    override async remove(...of: Parameters<HostSecrets['remove']>) {
      this.#isDeaf = true;
      const removed = await super.remove(...of);
      const made = await other.write('/a', { expect: 0, value: 'again' });
      const changed = await other.write('/a', { expect: made.revision, value: 'and again' });
      again = made.revision;
      expect(changed.ok).toBe(true);
      this.listAgain();
      return removed;
    }
  }
  const common = { clock: systemClock, random: Math.random, log: silentLog };
  const deaf = new DeafHost({ ...common, connection: connectionTo(host), namespace, replica: 'one' });
  const store = storeOn(host, namespace, { host: deaf });
  await Promise.all([store.start(), other.start()]);
  try {
    const { revision } = await store.write('/a', { expect: 0, value: 'first' });
    const removed = await store.write('/a', { expect: revision, value: undefined });
    expect(removed.revision).toBeGreaterThan(revision);
    expect(removed.revision).toBeLessThan(again);
  } finally {
    await Promise.all([store.stop(), other.stop()]);
  }
});
