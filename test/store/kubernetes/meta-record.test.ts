import { describe, expect, it } from 'vitest';
import { MetaRecord } from '../../../src/store/kubernetes/meta-record.ts';
import type { HostRecords } from '../../../src/store/kubernetes/records/host-records.ts';
import { metaData, metaName, readRecord, type StoreMeta } from '../../../src/store/kubernetes/records/record-format.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';

const now: StoreMeta = { offset: 40, epoch: 'second', earlier: ['first'], store: 'first' };

async function opened(seals: Seals, meta: StoreMeta) {
  seals.useStore(meta.store);
  const record = { name: metaName, version: 3, data: seals.applied(metaName, metaData(meta)) };
  const host = { place: 'here', get: async () => record } as unknown as HostRecords;
  const one = new MetaRecord(host, { newEpoch: () => 'unused', seals });
  await one.open(undefined, seals, { recovers: false });
  const isNews = (of: StoreMeta) =>
    one.isNews(readRecord({ name: metaName, version: 9, data: seals.applied(metaName, metaData(of)) }, 0));
  return { one, isNews };
}

describe('the record of a store', () => {
  it('is no news where it says what is known, and is where a restore has begun another epoch', async () => {
    const { isNews } = await opened(new Seals([{ version: 1, bytes: new Uint8Array(32) }]), now);
    expect(isNews(now)).toBe(false);
    expect(isNews({ ...now, offset: 50, epoch: 'third', earlier: ['first', 'second'] })).toBe(true);
    expect(isNews({ ...now, offset: 41 })).toBe(true);
  });

  it('is no news where somebody has put back the one of an epoch that is over', async () => {
    const { one, isNews } = await opened(new Seals([{ version: 1, bytes: new Uint8Array(32) }]), now);
    const former = { ...now, offset: 0, epoch: 'first', earlier: [] };
    expect(isNews(former)).toBe(false);
    one.take({ kind: 'meta', meta: former });
    expect(one.now).toEqual(now);
  });
});
