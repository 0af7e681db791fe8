// The judges of runs with real processes: each of them speaks when it must.
import { once } from 'node:events';
import { request } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeServingCertificate } from '../../../../src/apiserver/tls/certificates.ts';
import { author, type Written } from '../../stage/replayed-store.ts';
import { pathOf } from '../../stage/rig-cluster.ts';
import { hostEdit, mergePatch } from '../../traffic/play.ts';
import { Door } from './door.ts';
import { leaseFaults } from './lease-faults.ts';
import { playReal } from './play-real.ts';

const leaseKey = '/registry/leases/vcluster-vc/hostward-vc';
const always = { hostward: { leaderElection: 'always', leaseDurationSeconds: 5 } };

function lease(atMs: number, holder: string, former = holder): Partial<Written> {
  const of = (holderIdentity: string) => ({ spec: { holderIdentity } }) as never;
  return { key: leaseKey, atMs, before: of(former), after: of(holder) };
}

function write(atMs: number, daemon: string): Partial<Written> {
  return { key: '/registry/services/endpoints/vcluster-vc/a', atMs, by: { daemon, request: 1 } };
}

function found(
  written: Partial<Written>[],
  { configuration = always as object, frozenMs = [] as { fromMs: number; toMs: number }[] } = {},
): string[] {
  return leaseFaults({
    clusters: { virtual: { store: { written: [] } }, host: { store: { written } } },
    doors: { virtual: { frozenMs: [] }, host: { frozenMs } },
    configurations: [{ configuration, sinceMs: 0 }],
  } as never);
}

describe('leaseFaults()', () => {
  it.each([
    ['the holder writes', [lease(0, 'hostward-0'), write(2_000, 'hostward-0')], 0],
    ['another daemon writes', [lease(0, 'hostward-0'), write(2_000, 'hostward-1')], 1],
    ['nobody has the lease yet', [write(2_000, 'hostward-0')], 1],
    ['the lease ran out', [lease(0, 'hostward-0'), write(9_000, 'hostward-0')], 1],
    ['a write was on its way', [lease(3_000, 'hostward-1', 'hostward-0'), write(3_500, 'hostward-0')], 0],
    ['it was lost long ago', [lease(3_000, 'hostward-1', 'hostward-0'), write(6_000, 'hostward-0')], 1],
    ['a name that begins alike', [lease(0, 'hostward-12'), write(2_000, 'hostward-1')], 1],
  ])('%s', (_what, written, faults) => {
    expect(found(written)).toHaveLength(faults);
  });

  it('leaves out what a frozen way has held back, and runs without a lease', () => {
    const written = [lease(0, 'hostward-0'), write(9_000, 'hostward-0')];
    expect(found(written, { frozenMs: [{ fromMs: 1_000, toMs: 8_800 }] })).toEqual([]);
    expect(found(written, { configuration: { hostward: { leaderElection: 'never' } } })).toEqual([]);
  });
});

describe('Door', () => {
  const opened = async () => {
    const seen: (string | undefined)[] = [];
    const handler = (_request: unknown, response: { end(text: string): void }) => {
      seen.push(author.getStore()?.daemon);
      response.end('x'.repeat(200_000));
    };
    const certificate = await makeServingCertificate('door', ['127.0.0.1'], new Date());
    const cluster = { cluster: { server: { handler } } } as never;
    const door = new Door({ cluster, certificate, daemons: new Map([['secret', 'hostward-3']]) });
    await door.open();
    onTestFinished(() => door.close());
    const ask = (): Promise<number | string> =>
      new Promise((resolve) => {
        const { caPem: ca } = certificate;
        const headers = { authorization: 'Bearer secret' };
        const sent = request({ host: '127.0.0.1', port: door.port, ca, headers, agent: false }, async (answer) => {
          let bytes = 0;
          answer.on('data', (part: Buffer) => {
            bytes += part.length;
          });
          answer.on('error', () => resolve('cut'));
          await once(answer, 'end').then(
            () => resolve(bytes),
            () => {},
          );
        });
        sent.on('error', () => resolve('refused'));
        sent.end();
      });
    return { door, seen, ask };
  };

  it('knows the daemon by its token, and passes all on', async () => {
    const { seen, ask } = await opened();
    expect(await ask()).toBe(200_000);
    expect(seen).toEqual(['hostward-3']);
  });

  it('is shut, cuts in an answer, and holds every byte while it is frozen', async () => {
    const { door, ask } = await opened();
    door.shut();
    expect(await ask()).toBe('refused');
    door.mend(0);
    door.cutAnswerAfter(60_000);
    expect(await ask()).toBe('cut');
    expect(await ask()).toBe(200_000);
    door.freeze(5);
    let isAnswered = false;
    const late = ask().finally(() => {
      isAnswered = true;
    });
    // Whatever could pass on loopback has passed by then.
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isAnswered).toBe(false);
    door.mend(9);
    expect(await late).toBe(200_000);
    expect(door.frozenMs).toEqual([{ fromMs: 5, toMs: 9 }]);
  });
});

describe('playReal()', () => {
  it('finds what somebody has done to a copy while the daemon stood still, and a process that ends by itself (at length)', async () => {
    const { violations, writes } = await playReal(4, {
      mostCalms: 1,
      meddle: async (world) => {
        for (const daemon of world.daemons) daemon.hold();
        const { host } = world.clusters;
        for (const resource of ['endpoints', 'endpointslices'] as const)
          for (const { metadata } of host.objects(resource)) {
            if (metadata.annotations?.['vcluster.loft.sh/object-name'] === undefined) continue;
            const path = pathOf(resource, metadata.namespace ?? '', metadata.name);
            await host.people('PATCH', path, hostEdit(resource), mergePatch);
          }
        world.misdeeds.push('hostward-0 ended with SIGSEGV');
      },
    });
    expect(writes).toBeGreaterThan(0);
    const kinds = violations.map(({ oracle, kind }) => `${oracle}: ${kind}`);
    expect(kinds).toContainEqual(expect.stringMatching(/^model: host (?:Endpoints subsets|EndpointSlice endpoints)/));
    expect(kinds).toContain('process: wrong');
  });
});
