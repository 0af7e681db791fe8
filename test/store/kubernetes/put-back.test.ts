// Older versions of records that somebody puts back while no replica looks, or before one that starts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { HostSecrets } from '../../../src/management/server/host/records/host-secrets.ts';
import { Intake } from '../../../src/store/kubernetes/intake.ts';
import type { HostRecord } from '../../../src/store/kubernetes/records/host-records.ts';
import { nameOf, recordData, replicaData, replicaName } from '../../../src/store/kubernetes/records/record-format.ts';
import { mostPutBack, placeOf } from '../../../src/store/kubernetes/trust/last-seen.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';
import { Timeline } from '../../../src/store/timeline.ts';
import { type NumberedStore, newNamespace } from '../../contract/store/on-host.ts';
import { openedOn } from '../../contract/store/opened-on-host.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

/** Ahead of the time by what the test says. */
let aheadMs = 0;
const hostClock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };

const { started, byHand } = openedOn(
  () => host,
  () => ({ hostClock }),
);

const beat = (store: NumberedStore) => store.currentRevision({ fresh: true });
const dataOf = async (records: HostSecrets, key: string) => (await records.get(nameOf(key)))?.data ?? {};
const valuesIn = async (store: NumberedStore, keys: readonly string[]) => {
  await beat(store);
  return Promise.all(keys.map(async (key) => (await store.get(key)).record?.value));
};

/** Two minutes of heartbeats: what was written before them is no longer news. */
async function pass(store: NumberedStore): Promise<void> {
  for (let beats = 0; beats <= 60; beats++) {
    aheadMs += 2_000;
    await beat(store);
  }
}

const keys = ['/changed', '/gone', '/updated'];

/** What the keys were before they were narrowed and removed. */
async function narrowed(store: NumberedStore, records: HostSecrets): Promise<Map<string, Record<string, string>>> {
  for (const key of keys) await store.write(key, { expect: 0, value: '"new"' });
  for (const key of ['/changed', '/updated']) await store.write(key, { expect: undefined, value: '"wide"' });
  const copies = new Map<string, Record<string, string>>();
  for (const key of keys) copies.set(key, { ...(await dataOf(records, key)) });
  await pass(store);
  await store.write('/changed', { expect: undefined, value: '"narrow"' });
  for (const key of ['/gone', '/updated']) await store.write(key, { expect: undefined, value: undefined });
  await store.write('/kept', { expect: 0, value: '"kept"' });
  return copies;
}

async function putBack(records: HostSecrets, copies: ReadonlyMap<string, Record<string, string>>): Promise<void> {
  for (const [key, data] of copies) {
    const there = await records.replace(nameOf(key), data, undefined);
    if (there.kind === 'absent') await records.create(nameOf(key), data);
  }
}

const nobody = [undefined, undefined, undefined];

describe('a replica that starts', () => {
  it('does not believe what was put back while none ran, nor does one that follows it (at length)', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    const copies = await narrowed(one, records);
    await one.stop();
    await putBack(records, copies);
    const two = await started(namespace, { replica: 'two' });
    expect([await valuesIn(two, keys), await valuesIn(two, ['/kept'])]).toEqual([nobody, ['"kept"']]);
    expect([...two.unusable.values()]).toEqual(Array(3).fill(expect.stringContaining('an older version')));
    // By then every record is one that a replica has seen.
    await two.stop();
    const three = await started(namespace, { replica: 'three' });
    expect([await valuesIn(three, keys), await valuesIn(three, ['/kept'])]).toEqual([nobody, ['"kept"']]);
    expect(await three.write('/kept', { expect: undefined, value: '"on"' })).toMatchObject({ ok: true });
  });

  it('does not believe what was put back before a replica that runs', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    await putBack(records, await narrowed(one, records));
    expect(await valuesIn(one, keys)).toEqual(nobody);
    await beat(one);
    const two = await started(namespace, { replica: 'two' });
    expect([await valuesIn(two, keys), await valuesIn(two, ['/kept'])]).toEqual([nobody, ['"kept"']]);
    // Removed, the name is free again.
    await records.remove(nameOf('/gone'), (await records.get(nameOf('/gone')))?.version ?? 0);
    await beat(two);
    expect((await two.write('/gone', { expect: 0, value: '"again"' })).ok).toBe(true);
    await beat(one);
    const three = await started(namespace, { replica: 'three' });
    expect(await valuesIn(three, ['/gone', '/changed'])).toEqual(['"again"', undefined]);
  });

  it('believes every write that was acknowledged after the last heartbeats', async () => {
    const namespace = await newNamespace(host);
    const one = await started(namespace);
    for (const key of ['/old', '/gone']) await one.write(key, { expect: 0, value: '"1"' });
    await pass(one);
    await one.write('/old', { expect: undefined, value: '"2"' });
    await one.write('/new', { expect: 0, value: '"2"' });
    await one.write('/gone', { expect: undefined, value: undefined });
    await one.write('/gone', { expect: 0, value: '"2"' });
    await one.stop();
    const two = await started(namespace, { replica: 'two' });
    expect([await valuesIn(two, ['/old', '/new', '/gone']), two.unusable.size]).toEqual([['"2"', '"2"', '"2"'], 0]);
  });

  it('asks its own journal about records that no replica has seen', async () => {
    const namespace = await newNamespace(host);
    const one = await started(namespace);
    await one.write('/a', { expect: 0, value: '"1"' });
    await one.write('/b', { expect: 0, value: '"1"' });
    const { revision } = await one.write('/b', { expect: undefined, value: '"2"' });
    await one.stop();
    const asked: unknown[] = [];
    const isRevoked = ({ key }: { key: string }, replaced: number | undefined) => {
      asked.push([key, replaced !== undefined && replaced < revision]);
      return key === '/b';
    };
    const two = await started(namespace, { replica: 'two', isRevoked });
    expect(await valuesIn(two, ['/a', '/b'])).toEqual(['"1"', undefined]);
    expect(asked.sort()).toEqual([
      ['/a', false],
      ['/b', true],
    ]);
  });

  it('does not start when its own last word is gone, but for the command that mends', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    await one.write('/a', { expect: 0, value: '"1"' });
    await one.stop();
    const word = await records.get(replicaName('one'));
    await records.remove(replicaName('one'), word?.version ?? 0);
    const known = { epoch: 'first', store: one.sealedAs };
    await expect(started(namespace, { known })).rejects.toThrow(
      /"hostward-replica-one", the last word of this replica, is gone or edited; .* "hostward store recover"/,
    );
    expect(await valuesIn(await started(namespace, { known, trusts: true }), ['/a'])).toEqual(['"1"']);
  });

  it('does not start when its own last word there is older than it remembers: the host was set back', async () => {
    const namespace = await newNamespace(host);
    const [one, records] = [await started(namespace), byHand(namespace)];
    await one.write('/a', { expect: 0, value: '"1"' });
    await beat(one);
    const copy = (await records.get(replicaName('one')))?.data ?? {};
    await one.write('/a', { expect: undefined, value: undefined });
    await beat(one);
    await one.stop();
    const known = { epoch: 'first', store: one.sealedAs, told: one.told };
    await (await started(namespace, { known })).stop();
    await records.replace(replicaName('one'), copy, undefined);
    await expect(started(namespace, { known })).rejects.toThrow(
      /it was set back: this replica had read up to version \d+, and its record there says \d+; stop every replica/,
    );
  });

  it('does not judge when a backup program has put back more than can be named, nor does one after it', () => {
    const seals = new Seals([{ version: 1, bytes: new Uint8Array(32) }]);
    seals.useStore('first');
    const sight = { epoch: 'first', reached: 10, since: 5, guesses: [], gone: [], isNew: false, isSetBack: false };
    const word = (putBack: readonly string[] | 'tooMany') =>
      seals.applied(replicaName('one'), replicaData({ replica: 'one', beat: 1, about: '' }, { ...sight, putBack }));
    const many = Array.from({ length: mostPutBack + 1 }, (_, at) => {
      const data = recordData(`/${at}`, '1', undefined, { offset: 0, after: 1 });
      return { name: nameOf(`/${at}`), version: 20 + at, data: seals.applied(nameOf(`/${at}`), data) };
    });
    const judged = (records: readonly HostRecord[], putBack: readonly string[] | 'tooMany') => {
      const intake = new Intake({ clock: hostClock, seals: () => seals });
      const all = [{ name: replicaName('one'), version: 9, data: word(putBack) }, ...records];
      const asked = { epoch: 'first', replica: 'one', known: { epoch: 'first', told: 0 } };
      const { judge, doubt } = intake.judgeAtStart(all, asked);
      intake.takeAll(all, { offset: 0, before: new Timeline(), judge });
      return {
        doubt: doubt ?? intake.doubt,
        told: intake.sight({ epoch: 'first', wasSetBack: false }, { reached: 900, isNew: false }),
      };
    };
    const { doubt, told } = judged(many, []);
    expect([doubt, told.putBack]).toEqual([expect.stringContaining('more than 500 records were put back'), 'tooMany']);
    expect(judged([], told.putBack).doubt).toBe(doubt);
    const few = judged(many.slice(0, 2), []);
    expect([few.doubt, few.told.putBack]).toEqual([undefined, many.slice(0, 2).map(placeOf)]);
  });
});
