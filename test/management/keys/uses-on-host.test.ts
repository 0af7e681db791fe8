// What the uses of keys cost the cluster that keeps the records, and when another replica shows them.
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { activityStore, OthersUses } from '../../../src/management/keys/book/activity-store.ts';
import { Activity } from '../../../src/management/keys/life/activity.ts';
import { HostSideValues } from '../../../src/management/server/host/records/host-side-values.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
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

it.each([0, 86_400])(
  'another replica shows a use a minute late at most, of a key with the ttl %i that is in use all the time',
  async (ttl) => {
    const clock = new VirtualClock();
    const store = new MemoryStore({ clock });
    await store.start();
    onTestFinished(() => store.stop());
    const [here, there] = [0, 1].map(() => new Activity(clock, activityStore(store), () => undefined)) as [
      Activity,
      Activity,
    ];
    onTestFinished(() => here.stop());
    const others = new OthersUses({ store, activity: there, clock });
    // The two replicas have not started at the same moment.
    await clock.advance(7_000);
    others.start();
    onTestFinished(() => others.stop());
    let latestMs = 0;
    for (let second = 0; second < 600; second++) {
      const lastMs = clock.wallTime().getTime();
      await here.used('key', ttl, lastMs);
      await clock.advance(1_000);
      const shownMs = there.lastMs('key');
      if (shownMs === undefined) expect(second).toBeLessThan(60);
      else latestMs = Math.max(latestMs, lastMs - shownMs);
    }
    expect(latestMs).toBeGreaterThan(0);
    expect(latestMs).toBeLessThanOrEqual(60_000);
  },
);
