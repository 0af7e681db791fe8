// What the uses of keys cost the cluster that keeps the records.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { activityStore } from '../../../src/management/keys/book/activity-store.ts';
import { Activity } from '../../../src/management/keys/life/activity.ts';
import { HostSideValues } from '../../../src/management/server/host/host-side-values.ts';
import { connectionTo, newNamespace } from '../../contract/store/on-host.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

it('is one write a second at most, however many requests there are, and whenever each key was first used', async () => {
  const clock = new VirtualClock('2026-01-01T00:00:00Z');
  const connection = connectionTo(host);
  let writes = 0;
  const request = connection.request.bind(connection);
  connection.request = (asked) => {
    writes++;
    return request(asked);
  };
  const side = new HostSideValues({ connection, namespace: await newNamespace(host), replica: 'one' });
  let pending: Promise<unknown> = Promise.resolve();
  const writeSideValues = (changes: ReadonlyMap<string, string | undefined>) => {
    const done = side.write(changes);
    pending = Promise.all([pending, done]);
    return done;
  };
  const failures: unknown[] = [];
  const activity = new Activity(clock, activityStore({ writeSideValues }), (error) => failures.push(error));
  const keys = Array.from({ length: 100 }, (_, at) => `key-${at}`);
  const second = async (used: readonly string[]) => {
    // Each of them fifty times.
    for (let n = 0; n < 50; n++) for (const uid of used) void activity.used(uid, 86_400);
    await clock.advance(1_000);
    await pending;
  };
  // One more key after the other in the first minute.
  for (let at = 0; at < 60; at++) await second(keys.slice(0, Math.ceil(((at + 1) * keys.length) / 60)));
  const before = writes;
  for (let at = 0; at < 180; at++) await second(keys);
  expect(writes - before).toBeGreaterThan(60);
  expect(writes - before).toBeLessThanOrEqual(180);
  expect(failures).toEqual([]);
  const kept = await side.read();
  expect(kept.size).toBe(keys.length);
  await activity.stop();
  await connection.close();
});
