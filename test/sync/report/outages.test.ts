// Outages of the host in the reports of a whole daemon over fake clusters: verdict and readiness.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { statusOf } from '../../../src/daemon/report.ts';
import { syncStatus } from '../../../src/sync/report/status.ts';
import { putPair } from '../fake-sync.ts';
import { setUp, stage, world } from './report-stage.ts';

setUp();

const failed: Answer = { kind: 'failed', status: 503, retryAfterMs: undefined, message: 'etcd is gone' };
const forbidden: Answer = { kind: 'forbidden', message: 'no verb', namespaceTerminating: false };

describe('an outage of the host', () => {
  it.each([
    ['fails', failed, 'retry', 'etcd is gone', '; 1 object waits, the oldest change is 20 s old'],
    [
      'forbids every write',
      forbidden,
      'refused/Forbidden',
      'no verb',
      '; 1 of 1 object cannot reach the host (1 Forbidden)',
    ],
  ])(
    'that %s is logged once, and readiness ends after 30 s and returns afterwards',
    async (_, answer, state, message, waits) => {
      const on = await stage();
      expect(on.verdict()).toMatchObject({ state: 'inStep', isWell: true });
      on.host.answer = answer;
      await world.change(() => putPair(world, 'web'));
      await on.pass(20_000);
      expect(on.verdict().sentence).toBe(
        `cannot write to the host cluster since 2026-01-01T00:00:00Z: ${message}${waits}`,
      );
      // Each object counts once, also in a state that has no reasons.
      expect(syncStatus(world.sync).troubleByState).toEqual({ [state]: 1 });
      expect(on.readiness().isReady).toBe(true);
      await on.pass(15_000);
      expect(on.readiness().isReady).toBe(false);
      expect(on.readiness().lines).toContain(`cannot write to the host cluster since 2026-01-01T00:00:00Z: ${message}`);
      expect(on.readiness().parts).toMatchObject([{ name: 'sync', isReady: false }]);
      expect(Number(await on.outageSeconds())).toBeGreaterThan(30);
      expect(on.logged('an api server has an outage')).toMatchObject([
        { level: 'error', cluster: 'host', trouble: message },
      ]);
      on.host.answer = undefined;
      await on.pass(70_000);
      expect(world.copy('web')).toBeDefined();
      expect(on.readiness().isReady).toBe(true);
      expect(on.verdict()).toMatchObject({ state: 'inStep' });
      expect(on.logged('the outage of an api server is over')).toHaveLength(1);
      expect(await on.outageSeconds()).toBe('0');
    },
  );

  it('that is frozen is first seen by the change that waits, which comes before the objects that are refused', async () => {
    const on = await stage({ settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } } });
    await world.change(() => putPair(world, 'denied', '10.9.0.1'));
    expect(on.verdict()).toMatchObject({ state: 'blocked', since: '2026-01-01T00:00:00Z' });
    let thaw: (answer: Answer) => void = () => {};
    on.host.answer = new Promise((resolve) => {
      thaw = resolve;
    });
    putPair(world, 'web');
    await on.pass(7000);
    const refused = '1 of 2 objects cannot reach the host (1 AddressRefused)';
    expect(on.verdict()).toMatchObject({
      state: 'behind',
      sentence: `behind: 1 object waits, the oldest change is 7 s old; ${refused}`,
    });
    on.host.answer = undefined;
    thaw(failed);
    await on.pass(70_000);
    expect(on.verdict()).toMatchObject({ state: 'blocked', sentence: `blocked: ${refused}` });
  });

  it('that refuses every read is said of the namespace too, whose deletion takes the rights first', async () => {
    const on = await stage();
    const refused = `endpoints is forbidden: User "u" cannot list resource "endpoints" in API group "" in the namespace "h"`;
    const trouble = { ...{ sinceMs: 0, unservedMs: 0, message: refused }, isAnswered: true, isForbidden: true };
    on.window.window.trouble = trouble as never;
    await on.pass(10_000);
    const says =
      'every read is refused, so namespace "h" or the Role in it is perhaps being deleted (kubectl get namespace h): ';
    expect(on.verdict()).toMatchObject({
      state: 'unreadable',
      sentence: expect.stringContaining(`${says}not allowed to list endpoints in namespace "h"`),
    });
    expect(on.readiness().lines).toContainEqual(expect.stringContaining(`${says}not allowed to list`));
    expect(on.logged('an api server has an outage')).toMatchObject([{ trouble: `${says}${refused}` }]);
    on.window.window.trouble = undefined;
    await on.pass(10_000);
    expect(on.verdict()).toMatchObject({ state: 'inStep' });
    expect(on.readiness().lines.join()).not.toContain('every read');
  });

  it.each([
    ['fails', failed],
    ['forbids every write', forbidden],
  ])('that %s for minutes: once it is over, all objects that wait are written within seconds', async (_, answer) => {
    const on = await stage();
    const names = Array.from({ length: 20 }, (_one, n) => `web${n}`);
    const written = () => names.filter((name) => world.copy(name) !== undefined).length;
    on.host.answer = answer;
    on.window.window.trouble = { sinceMs: world.clock.now(), message: 'no connection' } as never;
    await world.change(() => names.forEach((name) => void putPair(world, name)));
    await on.pass(300_000);
    on.host.answer = undefined;
    // The watch is back, although no write has been tried yet.
    on.window.window.trouble = undefined;
    await on.pass(2000);
    expect(written()).toBe(20);
  });

  it('of writes alone is over with the first write that succeeds, and then all other objects are written', async () => {
    const on = await stage();
    const names = Array.from({ length: 20 }, (_one, n) => `web${n}`);
    const written = () => names.filter((name) => world.copy(name) !== undefined).length;
    on.host.answer = failed;
    await world.change(() => putPair(world, 'web0'));
    await on.pass(100_000);
    await world.change(() => names.slice(1).forEach((name) => void putPair(world, name)));
    await on.pass(200_000);
    on.host.answer = undefined;
    for (let seconds = 0; seconds < 90 && written() === 0; seconds++) await on.pass(1000);
    await on.pass(1000);
    expect(written()).toBe(20);
  });

  it('is over when no object waits for a write any more', async () => {
    const on = await stage();
    on.host.answer = failed;
    await world.change(() => putPair(world, 'web'));
    await on.pass(35_000);
    expect(on.readiness().isReady).toBe(false);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await on.pass(2000);
    expect(on.readiness().isReady).toBe(true);
  });

  it('does not count for a standby with a leader, but for a standby that has lost the host', async () => {
    const on = await stage();
    on.host.answer = failed;
    await world.change(() => putPair(world, 'web'));
    const standby = { kind: 'standby', holder: 'other', trouble: 'no answer', isRenewed: true };
    on.view.lease = { state: standby } as never;
    world.isLeader = false;
    await on.pass(35_000);
    expect(on.readiness().isReady).toBe(false);
    on.view.lease = { state: { ...standby, trouble: undefined } } as never;
    await on.pass(1000);
    expect(on.readiness().isReady).toBe(true);
    expect(on.verdict()).toMatchObject({ state: 'standby', sentence: expect.stringMatching(/^standby: other does/) });
  });

  it('is reported when the lease can neither be read nor renewed', async () => {
    const on = await stage();
    world.isLeader = false;
    const troubleSinceMs = on.view.options.clock.now();
    on.view.lease = { state: { kind: 'standby', holder: undefined, trouble: 'Unauthorized', troubleSinceMs } } as never;
    await on.pass(4000);
    // With nobody known to lead, the first failure is news.
    expect(on.verdict()).toMatchObject({ state: 'leaderless', isWell: false });
    on.view.lease = {
      state: { kind: 'standby', holder: 'other', trouble: 'Unauthorized', troubleSinceMs, isRenewed: true },
    } as never;
    expect(on.verdict()).toMatchObject({ state: 'standby', isWell: true });
    expect(on.readiness().lines).toContain('leadership: standby behind other');
    await on.pass(4000);
    const lines = 'leadership: standby behind other; the lease cannot be read or renewed: Unauthorized';
    expect(on.readiness().lines).toContain(lines);
    expect(on.verdict().sentence).toBe('nothing is written: the lease cannot be read or renewed: Unauthorized');
    expect(on.verdict().isWell).toBe(false);
  });

  it('waits for the lease of a process that may have been killed, and tells a standby where the leader answers', async () => {
    const on = await stage();
    world.isLeader = false;
    const standby = { kind: 'standby', holder: 'hostward-1_ca96', trouble: undefined };
    on.view.lease = { state: standby } as never;
    expect(on.verdict()).toMatchObject({
      isWell: false,
      sentence:
        'nothing is written: this process waits for the lease of hostward-1_ca96, which has not been renewed since this process started',
    });
    on.view.lease = { state: { ...standby, isRenewed: true } } as never;
    Object.assign(on.view.options, { environment: { KUBERNETES_SERVICE_HOST: '10.0.0.1' } });
    expect(on.verdict()).toMatchObject({
      isWell: true,
      sentence: expect.stringMatching(/its page knows .* kubectl -n h port-forward pod\/hostward-1 9440$/),
    });
  });

  it('gives a verdict on refused objects their time, also after another replica has led', async () => {
    const on = await stage();
    await on.pass(3000);
    on.host.answer = { kind: 'refused', status: 422, reason: 'Invalid', message: 'no' };
    await world.change(() => putPair(world, 'web'));
    await on.pass(2000);
    const since = on.verdict().since;
    on.view.lease = { state: { kind: 'standby', holder: 'other', trouble: undefined, isRenewed: true } } as never;
    await on.pass(4000);
    expect(on.verdict().state).toBe('standby');
    on.view.lease = undefined;
    const [{ sinceSeconds = 0 }] = (statusOf(on.view) as { trouble: [{ sinceSeconds?: number }] }).trouble;
    expect(on.verdict().since).toBe(since);
    expect(Date.parse(since)).toBe(Math.floor((world.clock.wallTime().getTime() - sinceSeconds * 1000) / 1000) * 1000);
  });

  it('keeps readiness while other objects can be written', async () => {
    const on = await stage();
    on.host.answer = { kind: 'refused', status: 422, reason: 'Invalid', message: 'no' };
    await world.change(() => putPair(world, 'web'));
    await on.pass(60_000);
    expect(on.readiness().isReady).toBe(true);
    expect(on.verdict()).toMatchObject({
      state: 'blocked',
      isWell: false,
      sentence: 'blocked: 1 of 1 object cannot reach the host (1 HostRefused)',
    });
  });

  it('is reported for a broken watch, but not for a watch that recovers at once', async () => {
    const on = await stage();
    await on.pass(5000);
    on.window.window.trouble = { message: 'connection refused', sinceMs: 4000 } as never;
    expect(on.verdict().state).toBe('inStep');
    await on.pass(3000);
    expect(on.verdict()).toMatchObject({
      state: 'unreachable',
      sentence: 'cannot reach the host cluster since 2026-01-01T00:00:04Z: connection refused',
    });
  });
});
