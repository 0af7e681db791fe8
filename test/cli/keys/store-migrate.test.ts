// `hostward store migrate` as somebody sees it who moves many records.
import { afterAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { databasePath } from '../../../src/management/keys/folder/data-folder.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { configuration, newFolder, runIn, runKeys } from './keys-bench.ts';

const [old, moved] = [newFolder(), newFolder()];
afterAll(() => {
  old.remove();
  moved.remove();
});

it('hostward store migrate says every five thousand records how far it is, and in the end what to do', async () => {
  expect((await runIn(old.folder, ['keys', 'create', 'first', '--admin'])).code).toBe(0);
  const store = new SqliteStore({ path: databasePath(old.folder), clock: systemClock });
  await store.start();
  const writes = Array.from({ length: 10_100 }, (_, n) =>
    store.write(`/registry/others/o${n}`, { expect: 0, value: '{}' }),
  );
  await Promise.all(writes);
  await store.stop();

  const files = { '/home/old.yaml': configuration(old.folder), '/home/new.yaml': configuration(moved.folder) };
  const { code, out, err } = await runKeys(['store', 'migrate', '--from', 'old.yaml', '--to', 'new.yaml'], { files });
  expect([code, err]).toEqual([0, '5000 records\n10000 records\n']);
  expect(out).toMatch(
    /^moved 10\d{3} records, sha256 [0-9a-f]{64}; every resourceVersion is above \d+\nthe old store is marked as moved; start the servers with the new configuration\n$/,
  );
}, 60_000);
