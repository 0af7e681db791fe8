// Who can write Secrets in the namespace and has no key of `secretsDir` must not make a record that is believed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../src/devcluster/devcluster.ts';
import type { HostSecrets } from '../../src/management/server/host/records/host-secrets.ts';
import { metaName, nameOf, recordData } from '../../src/store/kubernetes/records/record-format.ts';
import { type SealKey, Seals } from '../../src/store/kubernetes/trust/seals.ts';
import { type NumberedStore, newNamespace } from '../contract/store/on-host.ts';
import { openedOn } from '../contract/store/opened-on-host.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

const keyOf = (version: number): SealKey => ({ version, bytes: new Uint8Array(32).fill(version) });
const sealed = (...versions: number[]) => ({ seals: async () => new Seals(versions.map(keyOf)) });
const unsealed = { seals: async () => new Seals([]) };

/** Beats come twenty times as often. */
const quick: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 20, run) };

const { started, byHand } = openedOn(
  () => host,
  () => sealed(1),
);

const dataOf = async (records: HostSecrets, key: string) => (await records.get(nameOf(key)))?.data ?? {};
const valueIn = async (store: NumberedStore, key: string) => {
  await store.currentRevision({ fresh: true });
  return (await store.get(key)).record?.value;
};
const whyIn = (store: NumberedStore, key: string) => store.unusable.get(nameOf(key));

describe('a sealed store', () => {
  it('does not believe a record that was made by hand, whatever it is copied from, and names it', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    await one.write('/good', { expect: 0, value: '"good"' });
    const good = await dataOf(records, '/good');
    const forms = {
      '/plain': recordData('/plain', '"forged"', undefined, { offset: 0, after: 1_000_000 }),
      '/copied': { ...good, key: '/copied' },
      '/shorter': { ...good, key: '/shorter', seal: (good['seal'] ?? '').slice(0, 20) },
      '/unknown': { ...good, key: '/unknown', sealKey: '9' },
      '/elsewhere': { ...good, key: '/elsewhere', store: 'other' },
    };
    for (const [key, data] of Object.entries(forms)) await records.create(nameOf(key), data);
    const two = await started(namespace, { replica: 'two' });
    for (const store of [one, two]) {
      for (const key of Object.keys(forms)) expect([key, await valueIn(store, key)]).toEqual([key, undefined]);
      expect(await valueIn(store, '/good')).toBe('"good"');
      expect(Object.keys(forms).map((key) => whyIn(store, key))).toEqual([
        'it has no seal, so no replica has written it',
        'its seal does not fit: somebody has made or edited it by hand',
        'its seal does not fit: somebody has made or edited it by hand',
        'it is sealed with key 9, which is not in secretsDir',
        'it was sealed for another store',
      ]);
      // Nothing is overwritten.
      await expect(store.write('/plain', { expect: 0, value: '1' })).rejects.toMatchObject({
        code: 'STORE_RECORD_ASIDE',
      });
    }
    expect(await dataOf(records, '/plain')).toEqual(forms['/plain']);
  });

  it('takes an edited record as deleted, and as good again when its data is put back', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    await one.write('/a', { expect: 0, value: '"first"' });
    await one.write('/a', { expect: undefined, value: '"second"' });
    const data = await dataOf(records, '/a');
    await records.replace(nameOf('/a'), { ...data, value: '"mine"' }, undefined);
    expect([await valueIn(one, '/a'), whyIn(one, '/a')]).toEqual([undefined, expect.stringContaining('does not fit')]);
    await records.replace(nameOf('/a'), data, undefined);
    expect([await valueIn(one, '/a'), one.unusable.size]).toEqual(['"second"', 0]);
    expect((await one.write('/a', { expect: undefined, value: '"third"' })).ok).toBe(true);
  });

  it('does not believe an older version that somebody puts back, nor a record that was deleted', async () => {
    const namespace = await newNamespace(host);
    const [one, two, records] = [
      await started(namespace),
      await started(namespace, { replica: 'two' }),
      byHand(namespace),
    ];
    for (const [key, value] of [
      ['/changed', '"wide"'],
      ['/gone', '"key"'],
      ['/updated', '"0"'],
    ] as const)
      await one.write(key, { expect: 0, value });
    await one.write('/updated', { expect: undefined, value: '"1"' });
    const old = await dataOf(records, '/changed');
    const [gone, updated] = [await dataOf(records, '/gone'), await dataOf(records, '/updated')];
    await one.write('/changed', { expect: undefined, value: '"narrow"' });
    for (const key of ['/gone', '/updated']) await one.write(key, { expect: undefined, value: undefined });
    await records.replace(nameOf('/changed'), old, undefined);
    await records.create(nameOf('/gone'), gone);
    await records.create(nameOf('/updated'), updated);
    for (const store of [one, two])
      for (const key of ['/changed', '/gone', '/updated'])
        expect([key, await valueIn(store, key), whyIn(store, key)]).toEqual([
          key,
          undefined,
          'it is an older version of this record, which somebody has put back by hand',
        ]);
  });

  it('lets a name be free and taken again, on either replica', async () => {
    const namespace = await newNamespace(host);
    const [one, two] = [await started(namespace), await started(namespace, { replica: 'two' })];
    for (let round = 0; round < 10; round++) {
      const [first, second] = round % 2 === 0 ? [one, two] : [two, one];
      expect((await first.write('/a', { expect: 0, value: `"${round}"` })).ok).toBe(true);
      expect((await second.write('/a', { expect: undefined, value: undefined })).ok).toBe(true);
    }
    expect([one.unusable.size, two.unusable.size]).toEqual([0, 0]);
  });

  it('does not mind a label on the Secret', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    await one.write('/a', { expect: 0, value: '"first"' });
    await one.write('/a', { expect: undefined, value: '"second"' });
    const data = await dataOf(records, '/a');
    // The host sees a change of an unknown field, as of a label.
    await records.replace(nameOf('/a'), { ...data }, undefined);
    expect([await valueIn(one, '/a'), one.unusable.size]).toEqual(['"second"', 0]);
  });

  it('keeps its numbers when somebody edits or deletes its own record, and does not start on an edited one', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    const meta = (await records.get(metaName))?.data ?? {};
    const { seal: _, store: __, sealKey: ___, ...bare } = meta;
    for (const data of [
      { ...meta, offset: '5000' },
      { ...bare, format: '1' },
    ]) {
      await records.replace(metaName, data, undefined);
      const { revision } = await one.write('/a', { expect: undefined, value: JSON.stringify(data) });
      expect([revision < 5_000, one.unusable.has(metaName)]).toEqual([true, true]);
    }
    const [known, fresh] = [{ epoch: 'first', store: 'first' }, undefined];
    for (const [knows, why] of [
      [known, 'it was sealed and is not any more'],
      [fresh, 'it has no seal and some records have'],
    ] as const)
      await expect(started(namespace, { replica: 'two', known: knows })).rejects.toThrow(why);
    await records.replace(metaName, meta, undefined);
    await one.currentRevision({ fresh: true });
    expect(one.unusable.size).toBe(0);
  });

  it('makes its own record again when only that was deleted', async () => {
    const namespace = await newNamespace(host);
    const heard: string[] = [];
    const wentBack = (why: string) => void heard.push(why);
    const [one, records] = [await started(namespace, { hostClock: quick, wentBack }), byHand(namespace)];
    const remove = async (name: string) => records.remove(name, (await records.get(name))?.version ?? 0);
    await one.write('/a', { expect: 0, value: '"a"' });
    await remove(metaName);
    await expect.poll(async () => (await records.get(metaName))?.data['seal'], { timeout: 5_000 }).toBeDefined();
    await expect.poll(() => valueIn(one, '/a').catch(() => undefined), { timeout: 5_000 }).toBe('"a"');
    expect(heard).toEqual([]);
  });

  it('is not opened with other secrets, or without any', async () => {
    const namespace = await newNamespace(host);
    await started(namespace);
    await expect(started(namespace, { replica: 'two', ...sealed(2) })).rejects.toThrow('which is not in secretsDir');
    await expect(started(namespace, { replica: 'two', ...unsealed })).rejects.toThrow('the secrets are missing');
  });

  it('reads records sealed with an older key, and seals with the newest', async () => {
    const namespace = await newNamespace(host);
    const one = await started(namespace);
    await one.write('/old', { expect: 0, value: '"old"' });
    await one.stop();
    const [two, records] = [await started(namespace, { ...sealed(1, 2) }), byHand(namespace)];
    expect(await valueIn(two, '/old')).toBe('"old"');
    await two.write('/new', { expect: 0, value: '"new"' });
    expect((await dataOf(records, '/new'))['sealKey']).toBe('2');
  });
});

describe('a store from before the seals', () => {
  it('is read and written as before, until all of it is sealed', async () => {
    const namespace = await newNamespace(host);
    const older = await started(namespace, unsealed);
    await older.write('/older', { expect: 0, value: '"older"' });
    const [newer, records] = [await started(namespace, { replica: 'two' }), byHand(namespace)];
    await newer.write('/newer', { expect: 0, value: '"newer"' });
    expect([await valueIn(older, '/newer'), (await dataOf(records, '/newer'))['seal']]).toEqual(['"newer"', undefined]);
    expect([await valueIn(newer, '/older'), newer.sealedAs]).toEqual(['"older"', undefined]);
    await older.stop();

    newer.beginSealing();
    for (const key of ['/older', '/newer']) {
      const { record } = await newer.get(key);
      await newer.write(key, { expect: record?.revision, value: record?.value });
    }
    await newer.endSealing();
    expect([newer.unusable.size, await valueIn(newer, '/older')]).toEqual([0, '"older"']);
    const again = await started(namespace, { replica: 'three' });
    expect([again.unusable.size, again.sealedAs, await valueIn(again, '/newer')]).toEqual([
      0,
      newer.sealedAs,
      '"newer"',
    ]);
    await records.create(nameOf('/plain'), recordData('/plain', '"x"', undefined, { offset: 0, after: 1_000_000 }));
    expect(await valueIn(again, '/plain')).toBeUndefined();
  });

  it('is not started on while it is half sealed, but by the command that seals', async () => {
    const namespace = await newNamespace(host);
    const store = await started(namespace, unsealed);
    await store.stop();
    const sealing = await started(namespace);
    sealing.beginSealing();
    await sealing.write('/half', { expect: 0, value: '1' });
    await sealing.stop();
    await expect(started(namespace)).rejects.toThrow('run "hostward store seal" again');
    const mending = await started(namespace, { mends: true });
    mending.beginSealing();
    await mending.endSealing();
    await mending.stop();
    expect(await valueIn(await started(namespace), '/half')).toBe('1');
  });
});
