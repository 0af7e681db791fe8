// Records that were deleted and are put back while replicas run, one of which has started since the deletion.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { HostSecrets } from '../../../src/management/server/host/records/host-secrets.ts';
import { nameOf } from '../../../src/store/kubernetes/records/record-format.ts';
import type { KubernetesStoreOptions } from '../../../src/store/kubernetes/store-options.ts';
import { type NumberedStore, newNamespace } from '../../contract/store/on-host.ts';
import { openedOn } from '../../contract/store/opened-on-host.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

const opened = openedOn(
  () => host,
  () => ({ hostClock: systemClock }),
);
const { byHand } = opened;
const started = (namespace: string, replica: string, options: Partial<KubernetesStoreOptions> = {}) =>
  opened.started(namespace, { replica, ...options });

const beat = (store: NumberedStore) => store.currentRevision({ fresh: true });
const dataOf = async (records: HostSecrets, key: string) => ({ ...(await records.get(nameOf(key)))?.data });
const valueIn = async (store: NumberedStore, key: string) => {
  await beat(store);
  return (await store.get(key)).record?.value;
};

/** What Secrets of each kind of record can be put back. */
const kinds = ['/keys/a', '/kubeconfigs/a', '/certificates/a', '/users/a', '/reservations/a', '/heads/one'];

async function madeAndGone(by: NumberedStore, records: HostSecrets): Promise<Map<string, Record<string, string>>> {
  const copies = new Map<string, Record<string, string>>();
  for (const key of kinds) {
    await by.write(key, { expect: 0, value: `"${key}"` });
    copies.set(key, await dataOf(records, key));
    await by.write(key, { expect: undefined, value: undefined });
  }
  return copies;
}

async function putBack(records: HostSecrets, copies: ReadonlyMap<string, Record<string, string>>): Promise<void> {
  for (const [key, data] of copies) await records.create(nameOf(key), data);
}

async function expectNobody(stores: readonly NumberedStore[]): Promise<void> {
  for (const store of stores)
    for (const key of kinds) expect([store.given.replica, key, await valueIn(store, key)]).toContain(undefined);
}

describe('a replica that has started since a deletion', () => {
  it('does not believe the record that is put back, whoever else runs', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    const others = [await started(namespace, 'two'), await started(namespace, 'three')];
    const copies = await madeAndGone(one, records);
    for (const store of [one, ...others]) await beat(store);
    await one.stop();
    const again = await started(namespace, 'one');
    await putBack(records, copies);
    await expectNobody([again, ...others]);
    // Who follows has its knowledge from the one that started.
    for (const store of others) await store.stop();
    const last = await started(namespace, 'four');
    await expectNobody([again, last]);
  });

  it('does not believe it after two starts, when it was put back after the second', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    const copies = await madeAndGone(one, records);
    await beat(one);
    await one.stop();
    await (await started(namespace, 'one')).stop();
    const two = await started(namespace, 'two');
    const again = await started(namespace, 'one');
    await putBack(records, copies);
    await expectNobody([two, again]);
  });

  it('learns what was deleted after the last heartbeats as soon as it asks', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    const two = await started(namespace, 'two');
    await beat(two);
    const copies = await madeAndGone(one, records);
    await one.stop();
    const again = await started(namespace, 'one');
    await beat(two);
    await putBack(records, copies);
    await expectNobody([again, two]);
  });

  it('asks its own journal, whenever the record is put back', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    await one.write('/kept', { expect: 0, value: '"kept"' });
    await beat(one);
    const copies = await madeAndGone(one, records);
    await one.stop();
    const isRevoked = ({ key }: { key: string }) => copies.has(key);
    const again = await started(namespace, 'one', { isRevoked });
    await putBack(records, copies);
    await expectNobody([again]);
    expect(await valueIn(again, '/kept')).toBe('"kept"');
    await again.write('/new', { expect: 0, value: '"new"' });
    expect(await valueIn(again, '/new')).toBe('"new"');
  });

  it('does not believe an older version of a record that was changed before and deleted after the start', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    await one.write('/key', { expect: 0, value: '"enabled"' });
    const first = await dataOf(records, '/key');
    await one.write('/key', { expect: undefined, value: '"rotated"' });
    const second = await dataOf(records, '/key');
    await one.write('/key', { expect: undefined, value: '"disabled"' });
    await beat(one);
    const two = await started(namespace, 'two');
    await records.replace(nameOf('/key'), first, undefined);
    for (const store of [one, two]) expect(await valueIn(store, '/key')).toBeUndefined();
    await records.remove(nameOf('/key'), (await records.get(nameOf('/key')))?.version ?? 0);
    for (const data of [second, first]) {
      await records.create(nameOf('/key'), data);
      for (const store of [one, two]) expect([data['after'], await valueIn(store, '/key')]).toContain(undefined);
      await records.remove(nameOf('/key'), (await records.get(nameOf('/key')))?.version ?? 0);
    }
    expect((await two.write('/key', { expect: 0, value: '"free"' })).ok).toBe(true);
    for (const store of [one, two]) expect(await valueIn(store, '/key')).toBe('"free"');
  });

  it('gives up what another one knows to be put back', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    const copies = await madeAndGone(one, records);
    await putBack(records, copies);
    // As one that starts within two seconds after that: what the heartbeats say is older.
    const two = await started(namespace, 'two');
    for (const key of kinds) expect([key, (await two.get(key)).record]).toEqual([key, undefined]);
    expect(two.unusable.size).toBe(kinds.length);
    await expectNobody([one, two]);
  });

  it('does not open before it knows what was deleted since the last heartbeats', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    await beat(one);
    const copies = await madeAndGone(one, records);
    const two = await started(namespace, 'two');
    await putBack(records, copies);
    await expectNobody([two]);
  });

  it('opens with all records given up that others know to be put back, also with many of them', async () => {
    const namespace = await newNamespace(host);
    // It beats only when it is asked, so that no heartbeat of its own says in time what was put back.
    const one = await started(namespace, 'one', { hostClock: new VirtualClock() });
    const records = byHand(namespace);
    const keys = Array.from({ length: 60 }, (_, n) => `/keys/${n}`);
    for (const key of ['/kept', ...keys]) await one.write(key, { expect: 0, value: '"value"' });
    const copies = await Promise.all(keys.map((key) => dataOf(records, key)));
    for (const key of keys) await one.write(key, { expect: undefined, value: undefined });
    for (const [n, key] of keys.entries()) await records.create(nameOf(key), copies[n] ?? {});
    const two = await started(namespace, 'two');
    const list = await two.list('/', {});
    expect(list.kind === 'page' && list.records.map(({ key }) => key)).toEqual(['/kept']);
    expect(two.unusable.size).toBe(keys.length);
    expect((await two.write('/new', { expect: 0, value: '"new"' })).ok).toBe(true);
    expect(await valueIn(one, '/new')).toBe('"new"');
  });

  it('knows after a break in the stream what was deleted before', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace, 'one'), byHand(namespace)];
    const copies = await madeAndGone(one, records);
    await beat(one);
    one.given.host.listAgain();
    await beat(one);
    await expect.poll(async () => (await one.watch('/', 1)).constructor.name, { timeout: 5_000 }).toBe('Object');
    await putBack(records, copies);
    await expectNobody([one]);
  });
});
