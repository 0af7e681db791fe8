// What somebody does to the Secret around a record, and what a host that was out of reach lets through too late.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { nameOf } from '../../../src/store/kubernetes/records/record-format.ts';
import { ApiClient } from '../../contract/client.ts';
import { type NumberedStore, newNamespace, recordsOn, storeOn } from '../../contract/store/on-host.ts';

let host: Devcluster;
let client: ApiClient;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
  client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
});
afterAll(async () => {
  await client.close();
  await host.stop();
});

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

async function started(namespace: string, options: Parameters<typeof storeOn>[2] = {}): Promise<NumberedStore> {
  const store = storeOn(host, namespace, options);
  open.push(store);
  await store.start();
  return store;
}

async function patch(namespace: string, key: string, metadata: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const path = `/api/v1/namespaces/${namespace}/secrets/${nameOf(key)}`;
  expect((await client.request('PATCH', path, { headers, body: { metadata } })).status).toBe(200);
}

const valueIn = async (store: NumberedStore, key: string) => {
  await store.currentRevision({ fresh: true });
  return (await store.get(key)).record?.value;
};

describe('a Secret with a finalizer of somebody else', () => {
  it('ends as a record when it is deleted, on every replica and for one that starts, and its name is free', async () => {
    const namespace = await newNamespace(host);
    const [one, two] = [await started(namespace), await started(namespace, { replica: 'two' })];
    for (const key of ['/by-us', '/by-hand']) {
      await one.write(key, { expect: 0, value: '1' });
      await patch(namespace, key, { finalizers: ['example.com/hold'] });
    }
    await one.currentRevision({ fresh: true });
    expect((await one.write('/by-us', { expect: undefined, value: undefined })).ok).toBe(true);
    await client.request('DELETE', `/api/v1/namespaces/${namespace}/secrets/${nameOf('/by-hand')}`);
    const three = await started(namespace, { replica: 'three' });
    for (const store of [one, two, three])
      for (const key of ['/by-us', '/by-hand']) {
        expect([key, await valueIn(store, key)]).toEqual([key, undefined]);
        expect((await store.get(key, { fresh: true })).record).toBeUndefined();
      }
    for (const key of ['/by-us', '/by-hand']) expect((await two.write(key, { expect: 0, value: '2' })).ok).toBe(true);
    expect(await valueIn(one, '/by-hand')).toBe('2');
  });
});

describe('a Secret without its label', () => {
  it('counts as deleted, says so by its name, and is not believed when the label comes back', async () => {
    const namespace = await newNamespace(host);
    const one = await started(namespace);
    await one.write('/a', { expect: 0, value: '1' });
    await patch(namespace, '/a', { labels: { 'hostward.dev/record': null } });
    expect(await valueIn(one, '/a')).toBeUndefined();
    const refused = { code: 'STORE_RECORD_ASIDE', message: expect.stringContaining('taken the label') };
    await expect(one.get('/a', { fresh: true })).rejects.toMatchObject(refused);
    await expect(one.write('/a', { expect: undefined, value: undefined })).rejects.toMatchObject(refused);
    await patch(namespace, '/a', { labels: { 'hostward.dev/record': 'true' } });
    expect([await valueIn(one, '/a'), one.unusable.has(nameOf('/a'))]).toEqual([undefined, true]);
  });
});

describe('a host that was out of reach for longer than a replica may answer from memory', () => {
  it('brings no answer to what was begun before', async () => {
    const namespace = await newNamespace(host);
    let aheadMs = 0;
    const hostClock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const held = recordsOn(host, namespace, 'one');
    const one = await started(namespace, { host: held, hostClock });
    await one.write('/old', { expect: 0, value: '1' });
    let letGo: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const create = held.create.bind(held);
    held.create = async (name, data) => {
      await opened;
      return create(name, data);
    };
    const get = held.get.bind(held);
    held.get = async (name) => {
      await opened;
      return get(name);
    };
    const [written, read] = [one.write('/new', { expect: 0, value: '1' }), one.get('/old', { fresh: true })];
    const both = Promise.all([
      expect(written).rejects.toMatchObject({ code: 'STORE_HOST_LAPSED' }),
      expect(read).rejects.toMatchObject({ code: 'STORE_HOST_AWAY' }),
    ]);
    aheadMs += 6_000;
    expect(one.trouble).toBeDefined();
    for (let turn = 0; one.trouble !== undefined && turn < 500; turn++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    // The heartbeat has come back, so the replica is to be believed again; what was asked before is not.
    expect(one.trouble).toBeUndefined();
    letGo();
    await both;
    expect((await one.write('/later', { expect: 0, value: '1' })).ok).toBe(true);
  });
});
