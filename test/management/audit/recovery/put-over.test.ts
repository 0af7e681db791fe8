import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { putOver } from '../../../../src/management/audit/recovery/put-over.ts';
import type { NamedRecord } from '../../../../src/management/keys/callers/records.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';

const stores: MemoryStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop();
});

async function restoredStore(values: Record<string, object>): Promise<MemoryStore> {
  const store = new MemoryStore({ clock: systemClock });
  stores.push(store);
  await store.start();
  for (const [key, value] of Object.entries(values))
    await store.write(key, { expect: 0, value: JSON.stringify(value) });
  return store;
}

const valueAt = async (store: MemoryStore, key: string) => JSON.parse((await store.get(key)).record?.value ?? 'null');
const key = (uid: string) => ({
  metadata: { name: uid, uid, generation: 1 },
  spec: { user: 'alice' },
  hidden: { record: { uid, name: uid, secrets: [], tokenGeneration: 3 }, sealed: {} },
});

describe('putOver()', () => {
  it('revives nothing of a name that was given to somebody else since', async () => {
    const store = await restoredStore({
      '/management/records/user/alice': { kind: 'user', name: 'alice', uid: 'old' },
    });
    const record: NamedRecord = {
      kind: 'user',
      name: 'alice',
      uid: 'new',
      firstSeenMs: 1,
      removedMs: undefined,
      retired: [],
    };
    const names = new Map([['user/alice', record]]);
    await putOver(
      store,
      { names, revocations: new Map(), highestRevision: 9, journal: { kind: 'whole' } },
      { disablesKeys: false },
    );
    expect(await valueAt(store, '/management/records/user/alice')).toMatchObject({ uid: 'new' });
  });

  it('leaves keys alone that the journal does not name, and goes through more than a page of them', async () => {
    const values = Object.fromEntries(
      Array.from({ length: 1200 }, (_, n) => [`/registry/ownedaccesskeys/k${n}`, key(`k${n}`)]),
    );
    const store = await restoredStore(values);
    const known = { names: new Map(), revocations: new Map(), highestRevision: 0 };
    const whole = await putOver(store, { ...known, journal: { kind: 'whole' } }, { disablesKeys: false });
    expect([whole, await store.currentRevision()]).toEqual([
      { keys: 1200, deleted: 0, changed: 0, disabled: 0, doubted: [] },
      1200,
    ]);
    const blind = await putOver(store, { ...known, journal: { kind: 'absent' } }, { disablesKeys: true });
    expect(blind).toEqual({ keys: 1200, deleted: 0, changed: 0, disabled: 1200, doubted: [] });
    expect(await valueAt(store, '/registry/ownedaccesskeys/k1199')).toMatchObject({
      metadata: { generation: 2, annotations: { 'hostward.dev/disabled-by': 'administrator:restore' } },
      spec: { disabled: true },
      // No direct token that was issued since the backup is as young.
      hidden: { record: { tokenGeneration: 1_000_003 } },
    });
  });
});
