import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { keyedDigest } from '../../../../src/management/audit/chain/chain.ts';
import { ChainFile } from '../../../../src/management/audit/chain/chain-file.ts';
import type { JournalChange } from '../../../../src/management/audit/journal/journal.ts';
import { keyPrefix } from '../../../../src/management/keys/book/key-book.ts';
import { openSecrets, revocationsName } from '../../../../src/management/keys/folder/data-folder.ts';
import { OwnJournal } from '../../../../src/management/server/host/own-journal.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-own-journal-'));
const journal = new OwnJournal(folder);
beforeAll(async () => {
  const { auditKey } = await openSecrets(folder, (size) => Buffer.alloc(size, 7), false);
  const file = new ChainFile({ folder, name: revocationsName, digest: keyedDigest(auditKey) });
  await file.start();
  const say = (revision: number, uid: string, change: JournalChange) =>
    file.append({ revision, time: '2026-11-27T00:00:00Z', uid, name: uid, change });
  await say(1, '', { kind: 'begins' });
  await say(2, 'deleted', { kind: 'deleted' });
  await say(3, 'disabled', { kind: 'limits', limits: { disabled: true } });
  await file.stop();
  await journal.open(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The revision of each key is its place. */
async function isAheadOf(...keys: { uid: string; deletionTimestamp?: string }[]): Promise<boolean> {
  const store = new MemoryStore({ clock: systemClock });
  await store.start();
  try {
    for (const { uid, ...more } of keys) {
      const metadata = { name: uid, uid, ...more };
      const record = { uid, name: uid, secrets: [] };
      const value = JSON.stringify({ metadata, spec: {}, hidden: { record, sealed: {} } });
      await store.write(keyPrefix + uid, { expect: undefined, value });
    }
    return await journal.isAheadOf(store);
  } finally {
    await store.stop();
  }
}

it('finds a key that it has seen deleted or disabled, in a host that was set back', async () => {
  expect(await isAheadOf({ uid: 'deleted' })).toBe(true);
  expect(await isAheadOf({ uid: 'other' }, { uid: 'disabled' })).toBe(true);
});

it('leaves alone what has the revision of the revocation or a later one, and what is being deleted', async () => {
  expect(await isAheadOf({ uid: 'other' }, { uid: 'another' }, { uid: 'disabled' })).toBe(false);
  // As after somebody has edited a record by hand and put it back.
  expect(await isAheadOf({ uid: 'other' }, { uid: 'another' }, { uid: 'deleted' })).toBe(false);
  expect(await isAheadOf({ uid: 'deleted', deletionTimestamp: '2026-11-27T00:00:00Z' })).toBe(false);
});
