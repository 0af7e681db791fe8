import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { LogTable } from '../../../src/store/sqlite/log-table.ts';

function tableWith(rows: readonly (readonly [key: string, value: string | null])[]): LogTable {
  const database = new DatabaseSync(':memory:');
  database.exec(
    'CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT, value TEXT, create_revision INTEGER, written_at_ms INTEGER)',
  );
  const table = new LogTable(database, 0);
  for (const [key, value] of rows) table.write([key, null, value], 0);
  return table;
}

describe('LogTable.leftovers()', () => {
  it('finds what nobody can read, and names no further part behind the last one', () => {
    const table = tableWith([
      ['/a', '1'],
      ['/b', '1'],
      ['/a', '2'],
      ['/b', null],
      ['/c', '1'],
    ]);
    expect(table.leftovers('', 4)).toEqual({ revisions: [1, 2, 4] });
    expect(table.leftovers('', 2)).toEqual({ revisions: [] });
  });

  it('goes on behind a key whose versions do not fit into one part, and ends behind the last', () => {
    const table = tableWith([...Array.from({ length: 5_001 }, (_, nth) => ['/a', String(nth)] as const), ['/b', '1']]);
    const { revisions, next } = table.leftovers('', 5_002);
    expect([revisions.length, next]).toEqual([4_999, '/a']);
    expect(table.leftovers('/a', 5_002)).toEqual({ revisions: [] });
  });
});
