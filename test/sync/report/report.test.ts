// The reports of a whole daemon over fake clusters: verdict, readiness and outages.
import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { Outages } from '../../../src/daemon/clusters/outages.ts';
import { type DaemonView, readinessOf, statusOf, wantsWrites } from '../../../src/daemon/report.ts';
import type { OpenedWindow } from '../../../src/daemon/synced/windows.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { attentionGroups, attentionOf } from '../../../src/sync/report/attention.ts';
import { listObjects } from '../../../src/sync/report/object-list.ts';
import { type DatedVerdict, VerdictSince } from '../../../src/sync/report/verdict-since.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { type FakeOptions, FakeWorld, putPair } from '../fake-sync.ts';

let world: FakeWorld;
afterEach(() => world.stop());

/** The view of a daemon whose host answers all writes with `answer` while it is set. */
async function stage(options: FakeOptions = {}) {
  world = new FakeWorld(options);
  const metrics = createMetrics();
  const logged: Record<string, unknown>[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void logged.push(JSON.parse(line)) } });
  const proof = { provenAtMs: undefined, missed: 0 };
  const shown = { state: 'watching', trouble: undefined, size: 0, lastHeardMs: 0, proof };
  const window = { name: 'host endpoints', window: shown };
  const windows = [window];
  const outages = new Outages(
    { clock: world.clock, log, metrics },
    {
      windows: () => windows as unknown as OpenedWindow[],
      isInDoubt: () => false,
      over: () => world.sync.hurry(),
    },
  );
  const host: { answer: Answer | Promise<Answer> | undefined } = { answer: undefined };
  const real = world.host.writer();
  const asked = async (ask: () => Promise<Answer>): Promise<Answer> => {
    const answer = await (host.answer ?? ask());
    outages.writes.host.note(answer, 0);
    return answer;
  };
  const hostWriter = {
    ...real,
    get: real.get.bind(real),
    create: (...rest: Parameters<typeof real.create>) => asked(() => real.create(...rest)),
    patch: (...rest: Parameters<typeof real.patch>) => asked(() => real.patch(...rest)),
    remove: (...rest: Parameters<typeof real.remove>) => asked(() => real.remove(...rest)),
  };
  await world.run({ hostWriter: hostWriter as never });
  const clusters = { troubles: [], unreached: [], connections: {}, versions: {}, addresses: [], areInDoubt: false };
  const view = {
    options: {
      ...{ clock: world.clock, version: '1', isDryRun: false, environment: {} },
      settings: { listen: '0.0.0.0:9440', hostNamespace: 'h' },
    },
    settings: {
      endpointsEnabled: true,
      endpointSlices: { enabled: false },
      virtualClusterName: 'vc',
      hostNamespace: 'h',
      namespaces: { enabled: false },
    },
    slices: { sync: undefined, missing: [] },
    warnings: [],
    phase: 'running',
    startedMs: 0,
    clusters,
    windows,
    sync: world.sync,
    lease: undefined,
    references: { status: () => undefined, doubts: [], gaps: new Map() },
    patches: { current: undefined, troubles: [] },
    outages,
    management: { readiness: () => undefined, status: () => undefined },
    since: new VerdictSince(),
  } as unknown as DaemonView;
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 1000) {
      await world.clock.advance(1000);
      outages.update({ areWritesWanted: wantsWrites(view) });
    }
  };
  return {
    view,
    host,
    window,
    windows,
    pass,
    verdict: () => (statusOf(view) as { verdict: DatedVerdict }).verdict,
    readiness: () => readinessOf(view),
    logged: (message: string) => logged.filter(({ msg }) => msg === message),
    outageSeconds: async () => /outage_seconds\{cluster="host"\} (.*)/.exec(await metrics.metrics())?.[1],
    missingRights: async () =>
      [...(await metrics.metrics()).matchAll(/missing_rights\{cluster="(.*)"\} (.*)/g)].map(
        ([, side, n]) => `${side} ${n}`,
      ),
  };
}

const failed: Answer = { kind: 'failed', status: 503, retryAfterMs: undefined, message: 'etcd is gone' };
const forbidden: Answer = { kind: 'forbidden', message: 'no verb', namespaceTerminating: false };

describe('an outage of the host', () => {
  it.each([
    ['fails', failed, 'etcd is gone', '; 1 object waits, the oldest change is 20 s old'],
    ['forbids every write', forbidden, 'no verb', '; 1 of 1 object cannot reach the host (1 Forbidden)'],
  ])(
    'that %s is logged once, and readiness ends after 30 s and returns afterwards',
    async (_, answer, message, waits) => {
      const on = await stage();
      expect(on.verdict()).toMatchObject({ state: 'inStep', isWell: true });
      on.host.answer = answer;
      await world.change(() => putPair(world, 'web'));
      await on.pass(20_000);
      expect(on.verdict().sentence).toBe(
        `cannot write to the host cluster since 2026-01-01T00:00:00Z: ${message}${waits}`,
      );
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
    await on.pass(4000);
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

describe('a full quota of the host namespace', () => {
  it('is no outage, and the tenant is told', async () => {
    const on = await stage();
    await world.change(() => putPair(world, 'old'));
    const message = 'endpoints "web-x-default-x-vc" is forbidden: exceeded quota: some';
    on.host.answer = { kind: 'refused', status: 403, reason: 'QuotaExceeded', message };
    await world.change(() => putPair(world, 'web'));
    await on.pass(60_000);
    expect(on.verdict()).toMatchObject({
      state: 'blocked',
      sentence: 'blocked: 1 of 2 objects cannot reach the host (1 HostRefused)',
    });
    expect(on.readiness().isReady).toBe(true);
    expect(world.virtual.list('events')).toMatchObject([
      { reason: 'HostRefused', message: 'A quota of the host namespace is full', involvedObject: { name: 'web' } },
    ]);
  });
});

describe('a cluster that answers, but not with lists and watches', () => {
  it.each([
    { what: 'its answer is a 410', trouble: { isAnswered: true }, heardMs: 0, state: 'unreadable' },
    { what: 'another window hears it again', trouble: { isAnswered: false }, heardMs: 6000, state: 'unreadable' },
    { what: 'no window has heard it since', trouble: { isAnswered: false }, heardMs: 3000, state: 'unreachable' },
  ])('is $state when $what', async ({ trouble, heardMs, state }) => {
    const on = await stage();
    await on.pass(5000);
    on.window.window.trouble = { message: 'too old', sinceMs: 4000, ...trouble } as never;
    on.windows.push({
      name: 'host services',
      window: { ...on.window.window, trouble: undefined, lastHeardMs: heardMs },
    });
    await on.pass(3000);
    expect(on.verdict().state).toBe(state);
    const told = state === 'unreadable' ? 'gets no lists and watches from' : 'cannot reach';
    expect(on.verdict().sentence).toBe(`${told} the host cluster since 2026-01-01T00:00:04Z: too old`);
  });
});

describe('a right that is missing on some resources', () => {
  const refusal = (resource: string) =>
    `${resource} is forbidden: User "u" cannot list resource "${resource}" in API group "" in the namespace "h"`;
  const forbidden = (resource: string) => ({
    ...{ message: refusal(resource), sinceMs: 4000, unservedMs: 4000, isAnswered: true, isForbidden: true },
  });

  it('is no outage of the cluster, and each is named with its verb', async () => {
    const on = await stage();
    await on.pass(5000);
    // Two windows look at the ConfigMaps: at copies, and at what may be imported.
    for (const [at, resource] of ['secrets', 'configmaps', 'configmaps'].entries())
      on.windows.push({
        name: `host ${resource}`,
        window: {
          ...on.window.window,
          trouble: { ...forbidden(resource), message: `GET ?label=${at}: ${refusal(resource)}` } as never,
        },
      });
    await on.pass(3000);
    const since = '2026-01-01T00:00:04Z';
    expect(on.verdict()).toMatchObject({
      state: 'inStep',
      isWell: false,
      sentence: `a right is missing in the host cluster since ${since}: GET ?label=0: ${refusal('secrets')}; a right is missing in the host cluster since ${since}: GET ?label=1: ${refusal('configmaps')}; in step: 0 objects`,
    });
    expect([await on.outageSeconds(), await on.missingRights()]).toEqual(['0', ['virtual 0', 'host 2']]);
    const items = attentionOf(statusOf(on.view) as StatusJson);
    expect(items.map(({ about, reason, remedy }) => [about, reason, remedy])).toEqual(
      ['secrets', 'configmaps'].map((resource) => [
        `host ${resource}`,
        'Forbidden',
        `grant "list" of ${resource} in the namespace h; this grants all that is missing, where your kubectl may grant it`,
      ]),
    );
    expect(attentionGroups(statusOf(on.view) as StatusJson).map(({ count }) => count)).toEqual([2]);
    expect(
      on
        .verdict()
        .parts?.map((part) => part.since)
        .slice(0, 2),
    ).toEqual([since, since]);
    on.window.window.trouble = forbidden('endpoints') as never;
    expect(on.verdict().state).toBe('unreadable');
  });

  it('does not hide an outage', async () => {
    const on = await stage();
    await on.pass(5000);
    on.windows.push({ name: 'host secrets', window: { ...on.window.window, trouble: forbidden('secrets') as never } });
    on.window.window.trouble = { message: 'no answer', sinceMs: 4500, unservedMs: 4500, isAnswered: false } as never;
    await on.pass(3000);
    expect(on.verdict().sentence).toMatch(/the host cluster since .*: no answer; a right is missing/);
  });
});

describe('a cluster whose trouble changes its kind', () => {
  it('has an outage all the time', async () => {
    const on = await stage();
    await on.pass(20_000);
    // First it answered with faults; its last answer never came.
    const unservedMs = world.clock.now() - 16_000;
    const trouble = { message: 'no answer', sinceMs: world.clock.now() - 500, isAnswered: false, unservedMs };
    on.window.window.trouble = trouble as never;
    expect(on.verdict().state).toBe('unreachable');
  });
});

describe('a valid configuration that could not be applied', () => {
  it('appears in status and verdict, and keeps readiness', async () => {
    const on = await stage();
    on.view.notApplied = 'may not list secrets';
    expect(statusOf(on.view)).toMatchObject({ newConfigurationNotTakenOver: 'may not list secrets' });
    expect(on.verdict()).toEqual({
      state: 'inStep',
      isWell: false,
      sentence: 'the new configuration could not be applied: may not list secrets; in step: 0 objects',
      since: '2026-01-01T00:00:00Z',
      parts: [
        { part: 'the new configuration could not be applied: may not list secrets', since: '2026-01-01T00:00:00Z' },
        { part: 'in step: 0 objects', since: '2026-01-01T00:00:00Z' },
      ],
    });
    expect(on.readiness().isReady).toBe(true);
  });
});

describe('a host namespace that is being deleted', () => {
  it('appears as OwnerMissing in verdict and readiness although the owner Service still exists', async () => {
    const on = await stage();
    on.host.answer = { ...forbidden, namespaceTerminating: true } as Answer;
    await world.change(() => putPair(world, 'web'));
    await on.pass(6000);
    expect(on.verdict().sentence).toBe(
      'blocked: OwnerMissing: the host namespace is being deleted; 1 of 1 object cannot reach the host (1 OwnerMissing)',
    );
    expect(on.readiness().lines).toContain('OwnerMissing: the host namespace is being deleted (1 wait)');
    on.host.answer = undefined;
    await on.pass(6000);
    expect(on.verdict().state).toBe('inStep');
    expect(on.readiness().lines.filter((line) => line.includes('OwnerMissing'))).toEqual([]);
  });

  it('appears as OwnerMissing after the owner Service has gone', async () => {
    const on = await stage({ hasOwner: false });
    await world.change(() => putPair(world, 'web'));
    expect(on.verdict().sentence).toMatch(/^blocked: OwnerMissing: Service "vc".* does not exist/);
    expect(on.readiness().lines.join('\n')).toMatch(/OwnerMissing: Service "vc"/);
  });
});

describe('listObjects()', () => {
  it('has a row for every object, by namespace and by state', async () => {
    await stage();
    await world.change(() => {
      putPair(world, 'web');
      putPair(world, 'bad', '127.0.0.1');
      putPair(world, 'db', '10.0.0.2', { namespace: 'shop' });
    });
    const rows = (filter: Parameters<typeof listObjects>[1]) =>
      [...listObjects(world.sync, filter)].map(({ object, state }) => `${object} ${state}`);
    expect(rows({})).toEqual(['default/web inSync', 'default/bad refused/AddressRefused', 'shop/db inSync']);
    expect(rows({ namespace: 'shop' })).toEqual(['shop/db inSync']);
    expect(rows({ state: 'refused' })).toEqual(['default/bad refused/AddressRefused']);
    expect(rows({ state: 'refus' })).toEqual([]);
  });
});
