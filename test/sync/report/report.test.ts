// Other reports of a whole daemon over fake clusters: missing rights, quotas, namespaces and configurations that wait.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { statusOf } from '../../../src/daemon/report.ts';
import { attentionIn, attentionOf } from '../../../src/sync/report/attention/attention.ts';
import { listObjects } from '../../../src/sync/report/object-list.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { putPair } from '../fake-sync.ts';
import { setUp, stage, world } from './report-stage.ts';

setUp();

const forbidden: Answer = { kind: 'forbidden', message: 'no verb', namespaceTerminating: false };

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
  const refusal = (resource: string, namespace = 'h') =>
    `${resource} is forbidden: User "u" cannot list resource "${resource}" in API group "" in the namespace "${namespace}"`;
  const forbidden = (resource: string, namespace = 'h') => ({
    ...{ message: refusal(resource, namespace), sinceMs: 4000, unservedMs: 4000, isAnswered: true, isForbidden: true },
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
          trouble: {
            ...forbidden(resource),
            message: `GET /api/v1/x?label=${at} at https://h: 403 ${refusal(resource)}`,
          } as never,
        },
      });
    await on.pass(3000);
    const since = '2026-01-01T00:00:04Z';
    expect(on.verdict()).toMatchObject({
      state: 'incomplete',
      isWell: false,
      sentence: `a right is missing in the host cluster since ${since}: not allowed to list secrets in namespace "h"; a right is missing in the host cluster since ${since}: not allowed to list configmaps in namespace "h"; in step: 0 objects`,
    });
    expect([await on.outageSeconds(), await on.missingRights()]).toEqual(['0', ['virtual 0', 'host 2']]);
    const items = attentionOf(statusOf(on.view) as StatusJson);
    expect(items.map(({ about, reason, remedy }) => [about, reason, remedy])).toEqual(
      ['secrets', 'configmaps'].map((resource) => [
        `host ${resource}`,
        'Forbidden',
        `grant "list" of ${resource} in the namespace h; this grants all that is missing, with a kubectl of an administrator of the host cluster`,
      ]),
    );
    expect(attentionIn(statusOf(on.view) as StatusJson).groups.map(({ count }) => count)).toEqual([2]);
    expect(
      on
        .verdict()
        .parts?.map((part) => part.since)
        .slice(0, 2),
    ).toEqual([since, since]);
    on.window.window.trouble = forbidden('endpoints') as never;
    expect(on.verdict().state).toBe('unreadable');
  });

  it('is one sentence where it is every right in a namespace of a mapping', async () => {
    const on = await stage();
    await on.pass(5000);
    for (const resource of ['endpoints', 'services', 'endpointslices']) {
      const trouble = forbidden(resource, 'team');
      on.windows.push({
        ...{ name: `host ${resource} in team`, namespace: 'team' },
        window: { ...on.window.window, trouble: trouble as never },
      });
    }
    await on.pass(3000);
    // A write there is refused too, and no other one was sent: it is no outage of the cluster.
    const refused = { kind: 'forbidden', message: refusal('endpoints', 'team'), namespaceTerminating: false } as const;
    on.view.outages.writes.host.note(refused, { verb: 'patch', resource: 'endpoints', path: '/x' }, 3000);
    const since = '2026-01-01T00:00:04Z';
    const says =
      'every read in namespace "team" is refused: it is being deleted or does not exist, or it has no Role for this account (kubectl get namespace team)';
    expect(on.verdict().sentence).toBe(
      `rights are missing in the host cluster since ${since}: ${says}; as far as they can be read, in step: 0 objects`,
    );
    expect(on.readiness().lines.filter((line) => line.startsWith('host '))).toEqual([
      'host endpoints: watching',
      ...['endpoints', 'services', 'endpointslices'].map((resource) => `host ${resource} in team: watching`),
      `host cluster since ${since}: ${says}`,
    ]);
    expect(attentionOf(statusOf(on.view) as StatusJson)).toMatchObject([
      {
        ...{ about: 'host objects in team', reason: 'RightsLost' },
        remedy: expect.stringMatching(/^see whether the namespace stands, with a kubectl of an administrator/),
        command: expect.stringMatching(/^kubectl .*get namespace team; .*hostward doctor/),
      },
    ]);
    // With one of them back it is the others that are missing.
    Object.assign(on.windows[1]?.window ?? {}, { trouble: undefined });
    const named = ['services', 'endpointslices'].map((one) => `host ${one} in team`);
    expect(attentionOf(statusOf(on.view) as StatusJson).map(({ about }) => about)).toEqual(named);
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

describe('a kind that a cluster does not serve', () => {
  it('has a field and a remedy of its own, and asks for no right', async () => {
    const on = await stage();
    const sentence = 'the host cluster does not serve apis/discovery.k8s.io/v1/endpointslices';
    on.view.slices = { sync: undefined, missingVerbs: [], notServed: [sentence] };
    const status = statusOf(on.view) as StatusJson;
    expect(status['endpointSlices']).toEqual({ notServed: [sentence] });
    expect(status['verdict']).toMatchObject({ isWell: false, sentence: expect.stringContaining(sentence) });
    expect(attentionOf(status)).toMatchObject([
      {
        reason: 'NotServed',
        remedy: expect.stringMatching(/^upgrade the host cluster, or switch the sync of this kind off/),
        command: 'kubectl api-versions',
      },
    ]);
    on.view.slices = { sync: undefined, missingVerbs: ['not allowed to list them'], notServed: [] };
    expect((statusOf(on.view) as StatusJson)['endpointSlices']).toEqual({ missingVerbs: ['not allowed to list them'] });
  });
});

describe('a cluster whose trouble changes its kind', () => {
  it('has one outage throughout', async () => {
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

describe('a configuration that is being taken over', () => {
  it('appears in the verdict until it is in force, and keeps readiness', async () => {
    const on = await stage();
    on.view.isChanging = true;
    expect(on.verdict()).toMatchObject({
      state: 'inStep',
      isWell: false,
      sentence: 'a new configuration is being taken over, and the old one is in force until then; in step: 0 objects',
    });
    expect(on.readiness().isReady).toBe(true);
    on.view.isChanging = false;
    expect(on.verdict()).toMatchObject({ isWell: true, sentence: 'in step: 0 objects' });
  });
});

describe('a host namespace that is being deleted', () => {
  it('appears as OwnerMissing in verdict and readiness although the owner Service still exists', async () => {
    const on = await stage();
    on.host.answer = { ...forbidden, namespaceTerminating: true } as Answer;
    await world.change(() => putPair(world, 'web'));
    await on.pass(6000);
    expect(on.verdict().sentence).toBe(
      'blocked: OwnerMissing: the host namespace "vcluster-vc" is being deleted; 1 of 1 object cannot reach the host (1 OwnerMissing)',
    );
    expect(on.readiness().lines).toContain('OwnerMissing: the host namespace "vcluster-vc" is being deleted (1 wait)');
    on.host.answer = undefined;
    await on.pass(6000);
    expect(on.verdict().state).toBe('inStep');
    expect(on.readiness().lines.filter((line) => line.includes('OwnerMissing'))).toEqual([]);
  });

  it('appears beside another one in readiness, each with the objects that wait for it', async () => {
    const mapping = { hostNamespaceOf: (namespace: string) => `${namespace}-of-vc`, mappingsOnly: true };
    const on = await stage({ mapping });
    on.host.answer = { kind: 'notFound', message: 'namespace not found' };
    for (const [name, namespace] of [
      ['a', 'shop'],
      ['b', 'shop'],
      ['c', 'other'],
    ] as const)
      await world.change(() => putPair(world, name, undefined, { namespace }));
    expect(on.readiness().lines.filter((line) => line.startsWith('HostNamespaceMissing'))).toEqual([
      'HostNamespaceMissing: there is no host namespace "shop-of-vc" yet (2 wait)',
      'HostNamespaceMissing: there is no host namespace "other-of-vc" yet (1 wait)',
    ]);
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
