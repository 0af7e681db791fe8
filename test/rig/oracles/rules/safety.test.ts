// The oracles that no story of a sound daemon makes speak: an older payload after a newer one, a write that changes nothing, a lease that is old or unproven, a
// secret that is told, and what must be true at the end.
import { describe, expect, it } from 'vitest';
import type { LiveFault } from '../../faults/live-fault.ts';
import type { Played } from '../../play/run.ts';
import type { World } from '../../play/world.ts';
import { type Passing, passingOf } from '../../proxy/passing.ts';
import { Board } from '../board.ts';
import { EndOracle } from '../ends.ts';
import { RequestOracle } from '../requests.ts';

const daemon = 'hostward-0';
const registry = '/registry/services/endpoints';
const subsets = (version: string) => [{ addresses: [{ ip: `10.${version}` }] }];

describe('the oracle of requests', () => {
  const marks = {
    'vcluster.loft.sh/object-name': 'web',
    'vcluster.loft.sh/object-namespace': 't1',
    'vcluster.loft.sh/object-uid': 'v1',
  };
  const copy = (version: string, labels = {}) => ({
    metadata: { annotations: marks, labels },
    subsets: subsets(version),
  });

  function stage({
    lease,
    nowMs = 0,
    isTrusted = true,
  }: {
    lease?: { by: string; atMs: number };
    nowMs?: number;
    isTrusted?: boolean;
  } = {}) {
    const written: { host: object[]; virtual: object[] } = {
      host:
        lease === undefined
          ? []
          : [
              {
                key: '/registry/leases/vcluster-vc/hostward-vc',
                atMs: lease.atMs,
                after: { spec: { holderIdentity: lease.by } },
              },
            ],
      virtual: ['0.0.1', '0.0.2', '0.0.3'].map((version) => ({
        key: `${registry}/t1/web`,
        after: { metadata: { uid: 'v1' }, subsets: subsets(version) },
      })),
    };
    const board = new Board(() => nowMs);
    const clusters = {
      host: { store: { written: written.host } },
      virtual: { store: { written: written.virtual }, find: () => undefined },
    };
    const configuration = {
      hostward: { leaderElection: lease === undefined ? 'never' : 'always', leaseDurationSeconds: 15 },
    };
    const world = {
      clock: { now: () => nowMs },
      clusters,
      configuration,
      isTrusted: () => isTrusted,
    } as unknown as World;
    const oracle = new RequestOracle(world, board);
    let id = 0;
    const sent = (side: 'host' | 'virtual', body: object = {}, path = '/api/v1/namespaces/t1/endpoints/web'): Passing =>
      passingOf({
        ...{ id: ++id, side, daemon, method: 'PATCH', headers: {}, atMs: nowMs, path },
        body: JSON.stringify(body),
      });
    /** The API server carries it out. */
    const wrote = (before: object, after: object): void => {
      const passing = sent('host', {}, '/api/v1/namespaces/vcluster-vc/endpoints/web');
      written.host.push({ key: `${registry}/vcluster-vc/web`, by: { daemon, request: passing.id }, before, after });
      oracle.answered(passing, 200);
    };
    const said = () => board.violations.map(({ oracle: name, kind }) => `${name} ${kind}`);
    return { oracle, sent, wrote, said };
  }

  it('sees an older payload after a newer one, and one that nobody has made', () => {
    const { wrote, said } = stage();
    wrote(copy('0.0.1'), copy('0.0.2'));
    wrote(copy('0.0.2'), copy('0.0.3'));
    wrote(copy('0.0.2'), copy('0.0.2', { mended: 'true' }));
    expect(said()).toEqual([]);
    wrote(copy('0.0.3'), copy('0.0.2'));
    expect(said()).toEqual(['S2 back']);
    wrote(copy('0.0.2'), copy('0.0.9'));
    expect(said()).toEqual(['S2 back', 'S2 of nobody']);
  });

  it('sees a write that changes nothing', () => {
    const { oracle, sent, said } = stage();
    oracle.answered(sent('host'), 409);
    expect(said()).toEqual([]);
    oracle.answered(sent('host'), 200);
    expect(said()).toEqual(['S7 a write of nothing']);
  });

  const change = { metadata: { uid: 'v1', resourceVersion: '1', labels: {} } };
  it.each([
    ['of its holder, in time', { by: `${daemon}_a`, atMs: 90_000 }, 90_000, []],
    ['of another replica', { by: 'hostward-1_b', atMs: 90_000 }, 90_000, ['S6 not the holder']],
    ['that was renewed too long ago', { by: `${daemon}_a`, atMs: 80_000 }, 80_000, ['S6 an old lease']],
    ['whose last renewal had no answer', { by: `${daemon}_a`, atMs: 90_000 }, 80_000, ['S6 an unproven lease']],
  ])('sees a write under a lease %s', (_, lease, provenMs, kinds) => {
    const { oracle, sent, said } = stage({ lease, nowMs: 100_000 });
    const path = '/apis/coordination.k8s.io/v1/namespaces/vcluster-vc/leases/hostward-vc';
    const renewal = passingOf({
      id: 99,
      side: 'host',
      daemon,
      method: 'PATCH',
      headers: {},
      body: '{}',
      path,
      atMs: provenMs,
    });
    oracle.given(renewal, 200);
    oracle.passed(sent('virtual', change));
    expect(said()).toEqual(kinds);
  });

  it('sees a word to a server whose certificate is to be refused', () => {
    const { oracle, sent, said } = stage({ isTrusted: false });
    oracle.passed({ ...sent('virtual'), method: 'GET', verb: 'list' });
    expect(said()).toEqual(['S8 untrusted server']);
  });
});

describe('the oracle of the end', () => {
  interface Given {
    log?: string[];
    overdue?: string[];
    isReady?: boolean;
    /** Writes of a daemon: before the end, behind its restart, and while all should be still. */
    written?: number;
    onRestart?: object;
    onAdvance?: (nowMs: number) => object | undefined;
    faultless?: Map<string, number>;
  }
  async function said(
    { log = [], overdue = [], isReady = true, written = 0, onRestart, onAdvance, faultless }: Given,
    ask: 'finish' | 'calm',
  ): Promise<string[]> {
    let nowMs = 1_000_000;
    const by = { daemon, request: 1 };
    const write = (atMs: number) => ({
      key: `${registry}/vcluster-vc/web`,
      by,
      atMs,
      before: undefined,
      after: { metadata: { uid: 'h1', resourceVersion: String(atMs) } },
    });
    const host: ReturnType<typeof write>[] = Array.from({ length: written }, () => write(0));
    const cluster = (all: typeof host) => ({
      store: { written: all },
      objects: () => all.slice(-1).map(({ after }) => after),
    });
    const world = {
      ...{
        clusters: { virtual: cluster([]), host: cluster(host) },
        proxies: { virtual: {}, host: {} },
        overdue,
        isStarting: false,
      },
      ...{ clock: { now: () => nowMs }, daemons: ask === 'finish' ? [{ isReady }] : [], everyDaemon: [{ log }] },
      restart: async () => void (onRestart && host.push(write(nowMs))),
      until: async (isTrue: () => boolean) => isTrue(),
      advance: async (ms: number) => {
        nowMs += ms;
        if (onAdvance?.(nowMs) !== undefined) host.push(write(nowMs));
      },
    };
    const board = new Board(() => nowMs);
    const faults: LiveFault[] = [];
    const played = faultless && ({ writes: faultless } as unknown as Played);
    const oracle = new EndOracle({
      world: world as unknown as World,
      board,
      faults,
      faultless: played,
      model: undefined,
    });
    if (ask === 'finish') await oracle.finish();
    else await oracle.calm({ do: 'calm' });
    return board.violations.map(({ oracle: name, kind }) => `${name} ${kind}`);
  }
  const key = `host ${registry}/vcluster-vc/web`;

  it.each<[string, Given, string[]]>([
    ['nothing wrong', { log: ['in sync'], written: 3, faultless: new Map([[key, 3]]) }, []],
    ['a token in a log', { log: ['sent with rig-token-of-hostward-0'] }, ['S8 told']],
    ['a value of a Secret in a log', { log: ['the value content-7 is new'] }, ['S8 told']],
    ['a restart that writes', { onRestart: {} }, ['silence writes']],
    ['a restart that does not come to its end', { isReady: false }, ['liveness not ready']],
    ['a daemon that did not end', { overdue: ['hostward-0'] }, ['liveness SIGTERM']],
    // Twice as many as without faults, three, and one for each process.
    ['as many writes as a fault may cost', { written: 10, faultless: new Map([[key, 3]]) }, []],
    ['too many writes', { written: 11, faultless: new Map([[key, 3]]) }, ['counts too many writes']],
  ])('hears of %s', async (_, given, kinds) => {
    expect(await said(given, 'finish')).toEqual(kinds);
  });

  it.each<[string, Given, string[]]>([
    ['a calm', {}, []],
    ['a write behind the bound', { onAdvance: (ms) => (ms === 1_040_000 ? {} : undefined) }, ['bound late']],
    ['something that goes on changing', { onAdvance: (ms) => (ms > 1_040_000 ? {} : undefined) }, ['liveness not yet']],
  ])('hears of %s', async (_, given, kinds) => {
    expect(await said(given, 'calm')).toEqual(kinds);
  });
});
