import { describe, expect, it } from 'vitest';
import { StoreFault } from '../../../src/store/errors.ts';
import { GatheredGets } from '../../../src/store/sqlite/gathered-gets.ts';
import type { SqliteThread } from '../../../src/store/sqlite/sqlite-thread.ts';
import { folderOfTests, start } from './stage.ts';

const { newPath } = folderOfTests();

describe('records that are wanted at once', () => {
  it('are asked for with one message, and come in parts where they are long', async () => {
    const asked: (readonly string[])[] = [];
    const ask = async (_kind: string, { keys }: { keys: readonly string[] }) => {
      asked.push(keys);
      return { records: keys.slice(0, 2).map((key) => (key === '/none' ? null : recordAt(key))), revision: 7 };
    };
    const gets = new GatheredGets({ ask } as unknown as SqliteThread);
    const found = await Promise.all(['/a', '/none', '/b'].map((key) => gets.get(key)));
    expect(found.map(({ record, revision }) => [record?.key, revision])).toEqual([
      ['/a', 7],
      [undefined, 7],
      ['/b', 7],
    ]);
    await gets.get('/c');
    expect(asked).toEqual([['/a', '/none', '/b'], ['/b'], ['/c']]);
  });

  it('come to all but whoever wants the one that cannot be read', async () => {
    const ask = async (_kind: string, { keys }: { keys: readonly string[] }) => {
      if (keys.includes('/bad')) throw new StoreFault('STORE_CORRUPT', 'Cannot read "/bad"');
      return { records: keys.map(recordAt), revision: 1 };
    };
    const gets = new GatheredGets({ ask } as unknown as SqliteThread);
    const settled = await Promise.allSettled(['/a', '/bad', '/b'].map((key) => gets.get(key)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('are those of the database, each with its own text', async () => {
    const store = await start(newPath());
    const keys = Array.from({ length: 30 }, (_, n) => `/${n}`);
    for (const key of keys) await store.write(key, { expect: 0, value: key.repeat(2_000) });
    const found = await Promise.all([...keys, '/absent'].map((key) => store.get(key)));
    expect(found.map(({ record }) => record?.value.slice(0, 3))).toEqual([
      ...keys.map((key) => key.repeat(3).slice(0, 3)),
      undefined,
    ]);
  });
});

function recordAt(key: string) {
  return { key, value: '{}', createRevision: 1, revision: 1 };
}
