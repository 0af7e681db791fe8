import { describe, expect, it } from 'vitest';
import {
  changedRecords,
  comesBackWithinMs,
  currentUid,
  type NamedRecord,
  namesOf,
  reattach,
  recordKey,
} from '../../../../src/management/keys/callers/records.ts';
import { directoryOf, shop } from '../../scope/scopes.ts';

/** Records as a store keeps them, with uids that count up. */
function scene() {
  const records = new Map<string, NamedRecord>();
  let count = 0;
  const see = (users: string[], nowMs: number): number => {
    const names = users.map((name) => ({ kind: 'user' as const, name }));
    const changed = changedRecords(records, names, { nowMs, newUid: () => `u${++count}` });
    for (const record of changed) records.set(recordKey(record), record);
    return changed.length;
  };
  const uid = (name: string) => currentUid(records.get(`user ${name}`));
  return { records, see, uid };
}

describe('records of the configuration', () => {
  it('are made once for every name', () => {
    const { see, uid } = scene();
    expect(see(['alice', 'bob'], 0)).toBe(2);
    expect([uid('alice'), uid('bob')]).toEqual(['u1', 'u2']);
    expect(see(['bob', 'alice'], 1)).toBe(0);
  });

  it('suspend a missing name at once and bring it back as it was within seven days', () => {
    const { see, uid } = scene();
    see(['alice'], 0);
    expect(see([], 1000)).toBe(1);
    expect(uid('alice')).toBeUndefined();
    expect(see([], 2000)).toBe(0);
    see(['alice'], 1000 + comesBackWithinMs - 1);
    expect(uid('alice')).toBe('u1');
  });

  it('give a name that comes back later a new uid', () => {
    const { see, uid, records } = scene();
    see(['alice'], 0);
    see([], 1000);
    see(['alice'], 1000 + comesBackWithinMs);
    expect(uid('alice')).toBe('u2');
    expect(records.get('user alice')?.retired).toEqual([{ uid: 'u1', atMs: 1000 + comesBackWithinMs }]);
  });

  it('take a retired uid again when somebody asks for it', () => {
    const { see, records } = scene();
    see(['alice'], 0);
    see([], 1000);
    const missing = records.get('user alice') as NamedRecord;
    expect(reattach(missing, 'u1', 5)).toEqual({ ok: false, message: 'user alice is not in the configuration' });
    see(['alice'], 1000 + comesBackWithinMs);
    const record = records.get('user alice') as NamedRecord;
    const again = reattach(record, 'u1', 5);
    expect(again.ok && [again.record.uid, again.record.retired]).toEqual(['u1', [{ uid: 'u2', atMs: 5 }]]);
    expect(reattach(record, 'u2', 5)).toEqual({ ok: false, message: 'user alice has the uid u2 already' });
    expect(reattach(record, 'u9', 5)).toEqual({ ok: false, message: 'user alice never had the uid u9' });
  });

  it('remember a limited number of uids', () => {
    const { see, records } = scene();
    for (let round = 0; round < 40; round++) see(round % 2 === 0 ? ['alice'] : [], round * comesBackWithinMs);
    expect(records.get('user alice')?.retired).toHaveLength(16);
  });

  it('are of everything that the configuration names', () => {
    expect(namesOf(shop).map(recordKey).sort()).toEqual([
      'cluster c1',
      'cluster c2',
      'project a',
      'project b',
      'team blue',
      'team red',
      'user admin',
      'user alice',
      'user bob',
      'user carol',
      'user root',
      'user vera',
      'virtualCluster a/v',
      'virtualCluster a/w',
      'virtualCluster b/v',
    ]);
    expect(namesOf(directoryOf('hostward: {management: {}}')).map(recordKey)).toEqual(['user admin']);
  });
});
