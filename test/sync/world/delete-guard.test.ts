import { expect, it } from 'vitest';
import { DeleteGuard } from '../../../src/sync/world/doubt/delete-guard.ts';
import { VirtualClock } from '../../virtual-clock.ts';

it('a key is lacking since the first list without it, however many follow', async () => {
  const clock = new VirtualClock();
  const guard = new DeleteGuard(clock);
  const firstMs = clock.now();
  guard.suspect('default/a', 'objects');
  await clock.advance(10_000);
  guard.suspect('default/a', 'objects');
  guard.suspect('default/b', 'objects');
  expect(guard.suspects('objects', firstMs)).toEqual(['default/a']);
  expect(guard.suspects('objects')).toEqual(['default/a', 'default/b']);
  guard.clear('default/a', 'objects');
  guard.suspect('default/a', 'objects');
  expect(guard.suspects('objects', firstMs)).toEqual([]);
});
