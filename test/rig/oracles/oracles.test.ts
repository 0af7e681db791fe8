// The oracles see what is wrong, and say nothing of what is right.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoConfiguration } from '../../../src/cli/demo/demo-patches.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import type { LiveFault } from '../faults/live-fault.ts';
import { play } from '../play/run.ts';
import { slopeOf } from '../play/soak.ts';
import { World } from '../play/world.ts';
import { passingOf } from '../proxy/passing.ts';
import type { RigDaemon } from '../stage/rig-daemon.ts';
import type { Act } from '../traffic/acts.ts';
import { demoLeaseSeconds } from '../traffic/features.ts';
import { storyOf } from '../traffic/stories.ts';
import { Board } from './board.ts';
import { FailOver, lookMs } from './fail-over.ts';
import { Repairs } from './repairs.ts';
import { RequestOracle } from './requests.ts';
import { RetryAfter } from './retry-after.ts';
import { Futures } from './rules/futures.ts';
import { MissedChanges } from './rules/missed-changes.ts';
import { NoList } from './rules/no-list.ts';
import { OneName } from './rules/one-name.ts';

/** On a machine that does much else, a run takes many times its half a second. */
const timeout = 300_000;

describe('the oracles of requests', () => {
  const scenario = {
    configurations: [{ hostward: { leaderElection: 'always' } }],
    daemons: 1,
    isMapped: false,
    kinds: ['endpoints'] as const,
    before: [
      { do: 'endpoints', at: { namespace: 't1', name: 'web' }, version: 1, labels: {}, annotations: {} },
      { do: 'stranger', resource: 'endpoints', at: { namespace: 't1', name: 'web' }, marks: 'otherCluster' },
    ] as const,
    acts: [],
  };
  let world: World;
  beforeAll(async () => {
    world = new World(scenario, 1);
    await world.prepare();
  });
  afterAll(() => world.stop());

  const said = (side: 'virtual' | 'host', method: string, path: string, body?: object): string[] => {
    const board = new Board(() => 0);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const raw = { id: 1, side, daemon: 'hostward-0', method, path, headers, atMs: 0 };
    new RequestOracle(world, board).passed(passingOf({ ...raw, body: body === undefined ? '' : JSON.stringify(body) }));
    return board.violations.map(({ oracle, kind }) => `${oracle} ${kind}`);
  };
  const copies = '/api/v1/namespaces/vcluster-vc/endpoints';
  const foreign = () => {
    const { uid, resourceVersion } =
      world.clusters.host.find('endpoints', 'vcluster-vc', 'web-x-t1-x-vc')?.metadata ?? {};
    return { uid, resourceVersion };
  };

  it('see a write without a lease', () => {
    expect(said('host', 'PATCH', `${copies}/none`, { metadata: { uid: 'a', resourceVersion: '1' } })).toEqual([
      'S6 not the holder',
    ]);
  });

  it('see a change and a delete of what is not ours', () => {
    expect(said('host', 'PATCH', `${copies}/web-x-t1-x-vc`, { metadata: foreign() })).toContain('S1 changes foreign');
    expect(said('host', 'DELETE', `${copies}/web-x-t1-x-vc`, { preconditions: foreign() })).toContain(
      'S1 deletes foreign',
    );
  });

  it('see a change of what is being deleted', async () => {
    const at = { namespace: 't1', name: 'going' };
    await world.act({ do: 'stranger', resource: 'endpoints', at, marks: 'otherCluster' });
    await world.act({ do: 'finalizer', resource: 'endpoints', at, isSet: true });
    await world.act({ do: 'remove', side: 'host', resource: 'endpoints', at });
    const { uid, resourceVersion } =
      world.clusters.host.find('endpoints', 'vcluster-vc', 'going-x-t1-x-vc')?.metadata ?? {};
    const change = { metadata: { uid, resourceVersion } };
    expect(said('host', 'PATCH', `${copies}/going-x-t1-x-vc`, change)).toContain('S1 changes what goes');
  });

  it('see writes without preconditions', () => {
    expect(said('host', 'DELETE', `${copies}/a`)).toContain('S3 no precondition');
    expect(said('host', 'PATCH', `${copies}/a`, { metadata: {} })).toContain('S1 no precondition');
    expect(said('host', 'PUT', `${copies}/a`, { metadata: {} })).toContain('S1 no merge patch');
  });

  it('see a copy without marks, and a write to an object that is never ours', () => {
    expect(said('host', 'POST', copies, { metadata: { name: 'a' } })).toContain('S1 unmarked');
    expect(said('host', 'DELETE', '/api/v1/namespaces/vcluster-vc/services/vc')).toContain('S1 writes services');
  });

  it('see a tenant’s object that is deleted, made, or changed beyond its labels', () => {
    const tenants = '/api/v1/namespaces/t1/endpoints';
    expect(said('virtual', 'DELETE', `${tenants}/web`)).toContain('S4 deletes endpoints');
    expect(said('virtual', 'POST', tenants, {})).toContain('S4 creates endpoints');
    expect(said('virtual', 'PATCH', `${tenants}/web`, { subsets: [] })).toContain('S4 more than labels');
    expect(said('virtual', 'PATCH', '/api/v1/namespaces/t1/secrets/a', {})).toContain('S4 no precondition');
  });

  it.each([
    ['a list', { kind: 'EndpointsList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }, []],
    ['another kind', { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }, ['no list']],
    ['no items', { kind: 'EndpointsList', apiVersion: 'v1', metadata: { resourceVersion: '1' } }, ['no list']],
    ['no version', { kind: 'EndpointsList', apiVersion: 'v1', metadata: {}, items: [] }, ['no list']],
    ['no JSON', '<html>', ['no list']],
  ])('see a watch behind an answer with %s', (_, list, kinds) => {
    const board = new Board(() => 0);
    const oracle = new NoList(board);
    const raw = { id: 1, side: 'host', daemon: 'hostward-0', method: 'GET', headers: {}, body: '', atMs: 0 } as const;
    oracle.given(passingOf({ ...raw, path: copies }), 200, typeof list === 'string' ? list : JSON.stringify(list));
    oracle.passed(passingOf({ ...raw, path: `${copies}?watch=1` }));
    expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
  });

  it.each([
    [7, []],
    [8, ['a future']],
  ])('see a watch from a revision that the server does not have: from %i of 7', (from, kinds) => {
    const board = new Board(() => 0);
    const raw = { id: 1, side: 'host', daemon: 'hostward-0', method: 'GET', headers: {}, body: '', atMs: 0 } as const;
    const clusters = { host: { store: { revision: 7 } } } as unknown as World['clusters'];
    const oracle = new Futures({ clusters }, board);
    const watch = (revision: number) => passingOf({ ...raw, path: `${copies}?watch=1&resourceVersion=${revision}` });
    oracle.passed(watch(from));
    expect(board.violations).toEqual([]);
    oracle.passed(watch(from));
    expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
  });

  it.each([
    ['of the same Service', 't1', 'hostward-0', []],
    ['of another Service', 't2', 'hostward-0', ['two Services']],
    ['of another Service, as people have put it there', 't2', undefined, []],
  ])('see a copy behind a host name beside a slice %s', (_, tenant, daemon, kinds) => {
    const marked = (namespace: string, name: string, labels: Record<string, string> = {}) => ({
      metadata: {
        ...{ namespace: 'vcluster-vc', name, labels: { 'vcluster.loft.sh/managed-by': 'vc', ...labels } },
        annotations: { 'vcluster.loft.sh/object-name': 'a', 'vcluster.loft.sh/object-namespace': namespace },
      },
    });
    const [key, other] = ['/registry/services/endpoints/vcluster-vc/web', '/registry/endpointslices/vcluster-vc/web-1'];
    const [copy, slice] = [marked('t1', 'web'), marked(tenant, 'web-1', { 'kubernetes.io/service-name': 'web' })];
    const entries = [[key, copy] as const, [other, slice] as const];
    const store = {
      written: [
        { key: other, by: { daemon, request: 0 }, after: slice },
        { key, by: { daemon: 'hostward-0', request: 1 }, after: copy },
      ],
      entries: (prefix: string) => entries.filter(([one]) => one.startsWith(prefix)),
    };
    const board = new Board(() => 0);
    const oracle = new OneName({ clusters: { host: { store } } } as unknown as World, board);
    const raw = {
      id: 1,
      side: 'host',
      daemon: 'hostward-0',
      method: 'POST',
      headers: {},
      body: '{}',
      atMs: 0,
    } as const;
    oracle.answered(passingOf({ ...raw, path: copies }), 201);
    expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
  });

  it('see that a watch has lost a change that no fault has hidden', async () => {
    const board = new Board(() => 0);
    const lost = { everyDaemon: [{ name: 'hostward-0', missedChanges: 1 }] } as unknown as World;
    await new MissedChanges(lost, board, []).calm();
    expect(board.violations.map(({ kind }) => kind)).toEqual(['missed changes']);
  });
});

describe('the bounds', () => {
  const passing = (atMs: number, verb = 'GET') => {
    const raw = { id: 1, side: 'host', daemon: 'hostward-0', method: verb, path: '/api/v1/endpoints?watch=1' } as const;
    return passingOf({ ...raw, headers: {}, body: '', atMs });
  };

  const rawPatch = (path: string) => {
    const raw = { id: 1, side: 'host', daemon: 'hostward-0', method: 'PATCH', headers: {}, body: '', atMs: 0 } as const;
    return { ...raw, path };
  };

  it('say that a server was asked earlier than it wished', () => {
    let nowMs = 0;
    const board = new Board(() => nowMs);
    const oracle = new RetryAfter({ clock: { now: () => nowMs } } as World, board);
    oracle.madeUp(passing(0), 429, { 'retry-after': '3' });
    oracle.passed(passing(0));
    nowMs = 3_000;
    oracle.passed(passing(nowMs));
    expect(board.violations).toEqual([]);
    nowMs = 2_000;
    oracle.passed(passing(nowMs));
    expect(board.violations.map(({ kind }) => kind)).toEqual(['early after Retry-After: watch']);
  });

  it.each([
    ['each second', 1_000, {}, undefined, []],
    ['each 100 ms', 100, {}, undefined, ['fights']],
    ['each 100 ms, with something of the tenant’s', 100, { team: 'one' }, undefined, []],
    ['each 100 ms, and the answers are lost', 100, {}, 'cut', []],
  ])('say whether a copy is repaired again and again: %s', (_, pauseMs, labels, fate, kinds) => {
    let nowMs = 0;
    const written: object[] = [];
    const clusters = { virtual: { store: { written: [] } }, host: { store: { written } } };
    const board = new Board(() => nowMs);
    const oracle = new Repairs({ clock: { now: () => nowMs }, clusters } as unknown as World, board);
    const key = '/registry/services/endpoints/vcluster-vc/web';
    const [right, wrong] = [
      { metadata: {}, subsets: [1] },
      { metadata: {}, subsets: [2] },
    ];
    for (let nth = 0; nth < 8; nth++, nowMs += pauseMs) {
      const passing = passingOf(rawPatch('/api/v1/namespaces/vcluster-vc/endpoints/web'));
      const by = { daemon: passing.daemon, request: passing.id };
      written.push({ key, before: right, after: wrong });
      written.push({ key, by, before: wrong, after: { ...right, metadata: { labels } } });
      if (fate !== undefined) passing.fate = fate;
      oracle.answered(passing, 200);
    }
    expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
  });

  it.each([
    [3_000, undefined, ['taken early']],
    [3_000, 'virtual', ['taken early']],
    [3_000, 'host', []],
    [5_000, undefined, []],
  ])('say whether a lease of five seconds was taken too early: after %i ms, %s was set back', (atMs, side, kinds) => {
    const key = '/registry/leases/vcluster-vc/hostward-vc';
    const lease = (holderIdentity: string) => ({ spec: { holderIdentity, leaseDurationSeconds: 5 } });
    const renewed = { key, atMs: 0, after: lease('hostward-1_a') };
    const by = { daemon: 'hostward-0', request: 1 };
    const taken = { key, atMs, by, before: renewed.after, after: lease('hostward-0_b') };
    const clusters = { host: { store: { written: [renewed, taken] } } };
    const board = new Board(() => atMs);
    const path = '/apis/coordination.k8s.io/v1/namespaces/vcluster-vc/leases/hostward-vc';
    const back = { hasStruck: true, recipe: { class: 'F36' }, placed: { side } } as unknown as LiveFault;
    const oracle = new FailOver({ clusters } as unknown as World, board, side === undefined ? [] : [back]);
    oracle.answered(passingOf(rawPatch(path)), 200);
    expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
  });

  it('say that nobody took a lease in time', { timeout }, async () => {
    const story = storyOf('objects are made');
    const configuration = structuredClone(story.configurations[0]) as { hostward: object };
    const election = { leaderElection: 'always', leaseDurationSeconds: demoLeaseSeconds };
    configuration.hostward = { ...configuration.hostward, ...election };
    const at = { namespace: 't1', name: 'web' };
    const made = (version: number): Act => ({ do: 'endpoints', at, version, labels: {}, annotations: {} });
    const before: Act[] = [{ do: 'service', at, hasSelector: false, isCopied: true }, made(1)];
    const acts: Act[] = [{ do: 'wait', ms: 5_000 }, made(2), { do: 'wait', ms: 40_000 }, { do: 'calm' }];
    const scenario = { ...story, configurations: [configuration], daemons: 2, before, acts };
    const place = { class: 'F1', side: 'host', verb: 'update', nth: 1, times: 1, size: 1 } as const;
    const crash = { ...place, recipe: 'crash before a write', ms: 0 };
    const crashed = await play({ seed: 1, scenario, faults: [crash] });
    expect([crashed.struck.length, crashed.violations]).toEqual([1, []]);
    const world = new World(scenario, 1);
    const board = new Board(() => world.clock.now());
    const oracle = new FailOver(world, board, []);
    world.ears.push(oracle);
    await world.prepare();
    await world.begin();
    await world.advance(5_000);
    // Both are gone for longer than the lease lasts.
    world.crash('hostward-0', 30_000);
    world.daemonOf('hostward-1')?.hold();
    await world.advance(25_000);
    world.daemonOf('hostward-1')?.resume();
    await world.advance(20_000);
    await world.stop();
    expect(board.violations.map(({ kind }) => kind)).toEqual(['fail-over after a crash']);
  });

  it('hold the lease of the demo to six seconds', () => {
    const loaded = loadConfiguration({
      files: [{ name: 'demo', text: demoConfiguration }],
      environment: { VCLUSTER_NAME: 'vc', NAMESPACE: 'host' },
    });
    expect(loaded.kind === 'ok' && loaded.settings.leaseDurationSeconds).toBe(demoLeaseSeconds);
    expect(demoLeaseSeconds * 1000 + lookMs).toBeLessThanOrEqual(6_000);
  });

  it('tell the slope of memory, whatever one round says', () => {
    const points = Array.from({ length: 9 }, (_, at) => [at, 10 * at + (at === 4 ? 5_000 : 0)] as const);
    expect(slopeOf(points)).toBe(10);
  });
});

describe('the truth of our own words', { timeout }, () => {
  const inStep = { isWell: true, state: 'inStep', sentence: 'in step: 2 objects' };
  const saysInStep = (daemon: RigDaemon) =>
    Object.defineProperty(daemon, 'status', { value: { verdict: inStep, leadership: 'alone' } });
  const lagTimes = (factor: number) => (daemon: RigDaemon) => {
    const { lags } = daemon;
    daemon.lags = () =>
      new Map([...lags.call(daemon)].map(([kind, { ms, changes }]) => [kind, { ms: ms * factor, changes }]));
  };

  it.each<[lie: string, recipe: string, ms: number, corrupt: (daemon: RigDaemon) => void, kinds: string[]]>([
    ['nothing', 'slow request', 10_000, () => {}, []],
    ['nothing', '503 burst', 20_000, () => {}, []],
    ['a lag of nothing', 'slow request', 10_000, lagTimes(0), ['lag too short']],
    ['a lag of hours', 'slow request', 10_000, lagTimes(1_000), ['lag too long']],
    ['that all is in step', 'slow request', 10_000, saysInStep, ['in step']],
    ['that all is in step', '503 burst', 20_000, saysInStep, ['a failed write', 'in step']],
    [
      'that it leads',
      'slow request',
      10_000,
      (daemon) => Object.defineProperty(daemon, 'status', { value: { verdict: inStep, leadership: 'leading' } }),
      ['leading', 'leading unproven', 'in step'],
    ],
  ])('hears a lie: %s, at a %s', async (_, recipe, ms, corrupt, kinds) => {
    const at = { namespace: 't1', name: 'web' };
    const made = (version: number): Act => ({ do: 'endpoints', at, version, labels: {}, annotations: {} });
    const before: Act[] = [{ do: 'service', at, hasSelector: false, isCopied: true }, made(1)];
    const acts: Act[] = [{ do: 'wait', ms: 5_000 }, made(2), { do: 'wait', ms: 40_000 }, { do: 'calm' }];
    const fault = { class: 'F0', recipe, side: 'host', verb: 'update', nth: 1, times: 1, ms, size: 1 } as const;
    const scenario = { ...storyOf('objects are made'), before, acts };
    const { violations, struck } = await play({ seed: 1, scenario, faults: [fault] }, { corrupt });
    expect(struck).toHaveLength(1);
    const found = violations.filter(({ oracle }) => oracle === 'truth').map(({ kind }) => kind);
    if (kinds.length === 0) expect(found).toEqual([]);
    else expect(found).toEqual(expect.arrayContaining(kinds));
  });

  it('hears that a window is not proven, that an object waits, that more are in sync than there are, and that nobody was told of a refusal, when all is calm', async () => {
    const windows = [{ window: 'host endpoints', provenSecondsAgo: 500 }];
    const states = ['waiting/HostNameBusy', 'refused/NotOwned'];
    const trouble = states.map((state) => ({ object: 't1/web', state }));
    const objects = { virtual: 1, inSync: 2 };
    const worried = (daemon: RigDaemon) => {
      const of = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(daemon), 'status');
      Object.defineProperty(daemon, 'status', { get: () => ({ ...of?.get?.call(daemon), windows, trouble, objects }) });
    };
    const schedule = { seed: 1, scenario: storyOf('objects stood there before the daemon'), faults: [] };
    const kinds = (await play(schedule, { corrupt: worried })).violations.map(({ kind }) => kind);
    expect(kinds).toEqual(['waits', 'too many in sync', 'no event: NotOwned', 'unproven']);
    expect((await play(schedule)).violations).toEqual([]);
  });

  it('hears that an outage is kept secret', async () => {
    const silent = (daemon: RigDaemon) => {
      const of = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(daemon), 'status');
      Object.defineProperty(daemon, 'status', { get: () => ({ ...of?.get?.call(daemon), outages: [] }) });
    };
    const place = { class: 'F0', side: 'virtual', verb: 'watch', times: 1, size: 1 } as const;
    // The watch of Services ends with the line about a new one, and cannot come back.
    const faults = [
      { ...place, recipe: 'end of a watch', nth: 1, ms: 0 },
      { ...place, recipe: '503 burst', nth: 4, ms: 120_000 },
    ];
    const { before } = storyOf('objects stood there before the daemon');
    const api: Act = { do: 'service', at: { namespace: 't1', name: 'api' }, hasSelector: false, isCopied: false };
    const acts: Act[] = [{ do: 'wait', ms: 5_000 }, api, { do: 'calm' }];
    const scenario = { ...storyOf('objects are made'), before, acts };
    const heard = await play({ seed: 1, scenario, faults }, { corrupt: silent });
    expect(heard.violations.map(({ kind }) => kind)).toContain('no outage');
    expect((await play({ seed: 1, scenario, faults })).violations).toEqual([]);
  });
});
