import { describe, expect, it } from 'vitest';
import { notBelieved } from '../../../src/cli/doctor/checks/records/agreement.ts';
import { living, surveyOf } from '../../../src/cli/doctor/patient/stored-records.ts';
import { systemClock } from '../../../src/clock.ts';
import { startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { nameOf } from '../../../src/store/kubernetes/records/record-format.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';
import { ApiClient } from '../../contract/client.ts';
import { connectionTo, newNamespace, recordsOn, sealKey, storeOn } from '../../contract/store/on-host.ts';

describe('living()', () => {
  const now = Date.parse('2026-11-26T12:00:00Z');
  const written = (replica: string, secondsAgo: number) => ({ replica, writtenMs: now - secondsAgo * 1000 });

  it('leaves out a replica that ended long before the others last wrote', () => {
    expect(living([written('a', 0), written('b', 2), written('old', 600)])).toEqual(['a', 'b']);
  });

  it('counts one that stalls for some beats, and one whose cluster does not say when it wrote', () => {
    expect(living([written('a', 0), written('b', 20), { replica: 'c', writtenMs: undefined }])).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('counts all when none says when it wrote, and none of none', () => {
    expect(living([{ replica: 'a', writtenMs: undefined }])).toEqual(['a']);
    expect(living([])).toEqual([]);
  });
});

describe('surveyOf()', () => {
  it('names the records that the replicas do not believe, also those that were put back, and only while they are there', async () => {
    const host = await startDevcluster({ name: 'host' });
    const namespace = await newNamespace(host);
    const [store, hand] = [storeOn(host, namespace, { hostClock: systemClock }), recordsOn(host, namespace)];
    const found = async () => {
      const signal = new AbortController().signal;
      const end = await surveyOf(connectionTo(host), { namespace, signal, seals: new Seals([sealKey]) });
      return end.kind === 'read' ? end.records.unusable.map(({ name, why }) => [name, why]) : end;
    };
    try {
      await store.start();
      for (const key of ['/back', '/edited', '/good']) await store.write(key, { expect: 0, value: '"1"' });
      const old = { ...(await hand.get(nameOf('/back')))?.data };
      await store.write('/back', { expect: undefined, value: undefined });
      await hand.create(nameOf('/back'), old);
      const edited = await hand.get(nameOf('/edited'));
      await hand.replace(nameOf('/edited'), { ...edited?.data, value: '"2"' }, edited?.version ?? 0);
      await store.currentRevision({ fresh: true });
      await store.currentRevision({ fresh: true });
      const both = [
        [nameOf('/edited'), expect.stringContaining('its seal')],
        [nameOf('/back'), expect.stringContaining('put back')],
      ];
      expect(await found()).toEqual(both);
      expect([...store.unusable.keys()].sort()).toEqual(both.map(([name]) => name).sort());
      await hand.remove(nameOf('/back'), (await hand.get(nameOf('/back')))?.version ?? 0);
      expect(await found()).toEqual(both.slice(0, 1));
    } finally {
      await store.stop();
      await hand.stop();
      await host.stop();
    }
  }, 30_000);

  it('names the records that are marked immutable, with what they hold', async () => {
    const host = await startDevcluster({ name: 'host' });
    const namespace = await newNamespace(host);
    const store = storeOn(host, namespace);
    const client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
    try {
      await store.start();
      const keys = ['/hostward/view', '/registry/ownedaccesskeys/ci'];
      for (const key of [...keys, '/free']) await store.write(key, { expect: 0, value: '{"metadata":{"name":"ci"}}' });
      const headers = { 'content-type': 'application/merge-patch+json' };
      for (const key of keys) {
        const path = `/api/v1/namespaces/${namespace}/secrets/${nameOf(key)}`;
        await client.request('PATCH', path, { headers, body: { immutable: true } });
      }
      const signal = new AbortController().signal;
      const end = await surveyOf(connectionTo(host), { namespace, signal, seals: new Seals([sealKey]) });
      if (end.kind !== 'read') throw new Error(end.why);
      const finding = notBelieved(end.records, namespace);
      expect(finding).toMatchObject({
        ...{ verdict: 'warning', says: expect.stringContaining('2 records') },
        mend: expect.stringContaining('keys revoke'),
      });
      expect([...(finding?.details ?? [])].sort()).toEqual(
        [
          `${nameOf('/hostward/view')}: the record "/hostward/view"`,
          `${nameOf('/registry/ownedaccesskeys/ci')}: the access key "ci"`,
        ].sort(),
      );
    } finally {
      await client.close();
      await store.stop();
      await host.stop();
    }
  }, 30_000);
});
