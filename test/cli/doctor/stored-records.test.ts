import { describe, expect, it } from 'vitest';
import { living } from '../../../src/cli/doctor/patient/stored-records.ts';

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
