import { expect, it } from 'vitest';
import { Changes } from '../../src/daemon/changes.ts';
import { createLog } from '../../src/log.ts';
import { settle } from '../virtual-clock.ts';

it('knows until when an older configuration counts, and whether the new one came into force', async () => {
  let isStopped = false;
  const changes = new Changes(createLog({ level: 'silent' }), { isStopped: () => isStopped });
  const ends: ((how?: Error) => void)[] = [];
  const change = () =>
    changes.add(() => new Promise((resolve, reject) => ends.push((fault) => (fault ? reject(fault) : resolve()))));
  const [first, second] = [change(), change()];
  await settle();
  expect([changes.areUnderWay, ends.length]).toEqual([true, 1]);
  ends[0]?.(new Error('may not list secrets'));
  expect(await first).toBe(false);
  expect([changes.areUnderWay, changes.notApplied]).toEqual([true, 'may not list secrets']);
  await settle();
  ends[1]?.();
  expect(await second).toBe(true);
  expect([changes.areUnderWay, changes.notApplied]).toEqual([false, undefined]);
  const last = change();
  await settle();
  isStopped = true;
  ends[2]?.();
  expect(await last).toBe(false);
});
