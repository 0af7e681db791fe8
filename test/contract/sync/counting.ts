// Rule 10, counted at the servers: one write per effective change, two for a back-flow, and no other write.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SyncBackend } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { ipsOf, SyncStage, subsetsOf } from '../sync-stage/stage.ts';

interface Case {
  says: string;
  act: (stage: SyncStage, name: string) => Promise<unknown>;
  /** Writes as `side verb`; the cases run one after the other, so names are not needed. */
  writes: string[];
}

/** Each case starts with a pair in sync: an Endpoints with label app, annotation a and one address. */
const cases: Case[] = [
  {
    says: 'a new address',
    act: (stage, name) => stage.editTenants(name, { subsets: subsetsOf('10.0.0.2') }),
    writes: ['host patch'],
  },
  {
    says: 'a label, an annotation and an address in one edit',
    act: (stage, name) =>
      stage.editTenants(name, {
        metadata: { labels: { app: 'y' }, annotations: { a: null, b: '1' } },
        subsets: subsetsOf('10.0.0.3'),
      }),
    writes: ['host patch'],
  },
  {
    says: 'the virtual object is deleted',
    act: (stage, name) => stage.removeTenants(name),
    writes: ['host delete'],
  },
  {
    says: 'the host copy is deleted',
    act: (stage, name) => stage.removeCopy(name),
    writes: ['host create'],
  },
  {
    says: 'addresses edited on the host',
    act: (stage, name) => stage.editCopy(name, { subsets: subsetsOf('203.0.113.1') }),
    writes: ['host patch'],
  },
  {
    says: 'a label edited on the host',
    act: (stage, name) => stage.editCopy(name, { metadata: { labels: { app: 'from-host' } } }),
    writes: ['virtual patch', 'host patch'],
  },
  {
    says: 'an annotation added and a label removed on the host in one edit',
    act: (stage, name) => stage.editCopy(name, { metadata: { labels: { app: null }, annotations: { own: '1' } } }),
    writes: ['virtual patch', 'host patch'],
  },
  {
    says: 'the marker labels, the owner and one of the six damaged in one edit',
    act: (stage, name) =>
      stage.editCopy(name, {
        metadata: {
          labels: { 'vcluster.loft.sh/namespace': null },
          ownerReferences: null,
          annotations: { 'vcluster.loft.sh/object-kind': 'x' },
        },
      }),
    writes: ['host patch'],
  },
  {
    says: 'only the resourceVersion and the managed fields of the virtual object',
    act: (stage, name) => stage.resetManagers('virtual', { namespace: stage.tenant, name }),
    writes: [],
  },
  {
    says: 'only the resourceVersion and the managed fields of the host copy',
    act: (stage, name) => stage.resetManagers('host', stage.at(name)),
    writes: [],
  },
  {
    says: 'many changes of the leader annotation',
    act: async (stage, name) => {
      for (const holder of ['a', 'b', 'c', null])
        await stage.editTenants(name, {
          metadata: { annotations: { 'control-plane.alpha.kubernetes.io/leader': holder } },
        });
    },
    writes: [],
  },
  {
    says: 'the leader annotation on the host',
    act: (stage, name) =>
      stage.editCopy(name, { metadata: { annotations: { 'control-plane.alpha.kubernetes.io/leader': 'h' } } }),
    writes: [],
  },
  {
    says: 'a reserved key of the tenant',
    act: (stage, name) =>
      stage.editTenants(name, {
        metadata: { annotations: { 'vcluster.loft.sh/skip-backsync': 'true' }, labels: { 'hostward.dev/x': 'y' } },
      }),
    writes: [],
  },
  {
    says: 'an unknown reserved key on the host',
    act: (stage, name) => stage.editCopy(name, { metadata: { annotations: { 'vcluster.loft.sh/whatever': 'h' } } }),
    writes: [],
  },
  {
    says: 'a label of the virtual Service',
    act: (stage, name) =>
      stage.patch('virtual', 'services', {
        namespace: stage.tenant,
        name,
        mergePatch: { metadata: { labels: { any: '1' } } },
      }),
    writes: [],
  },
];

export function countingSuite(backend: () => SyncBackend): void {
  describe('writes counted at the server', () => {
    let stage: SyncStage;
    const pair = (name: string) => stage.pair({ name, metadata: { labels: { app: 'x' }, annotations: { a: '1' } } });
    const writesOf = async (name: string): Promise<string[]> => {
      const written = await stage.writes();
      return written.filter((one) => !isOfOther(one, name)).map((one) => one.split(' ').slice(0, 2).join(' '));
    };

    describe('while the daemon runs', () => {
      let daemon: LiveDaemon;
      beforeAll(async () => {
        stage = new SyncStage(backend());
        await stage.set();
        daemon = await stage.daemon();
      });
      afterAll(async () => {
        await stage.clear();
        stage.close();
      });

      it.each(cases.map((one, at) => ({ ...one, name: `case-${at}` })))('$says', async ({ act, writes, name }) => {
        await pair(name);
        await daemon.settled();
        await stage.forgetWrites();
        await act(stage, name);
        await daemon.settled();
        expect(await writesOf(name)).toEqual(writes);
        const patches = daemon.logged.filter((line) => String(line['key']).endsWith(`/${name}`) && 'touches' in line);
        for (const { touches } of patches) expect(touches, 'the log line names the written fields').not.toBe('');
        expect(await stage.forbidden()).toEqual([]);
      });
    });

    describe('across restarts', () => {
      beforeEach(async () => {
        stage = new SyncStage(backend());
        await stage.set();
      });
      afterEach(async () => {
        await stage.clear();
        stage.close();
      });

      it('changes during a downtime cost the same writes, and the next start writes nothing', async () => {
        const played = cases.map((one, at) => ({ ...one, name: `case-${at}` }));
        for (const { name } of played) await pair(name);
        const daemon = await stage.daemon();
        await daemon.stop();
        for (const { act, name } of played) await act(stage, name);
        await stage.forgetWrites();
        const next = await stage.daemon();
        const creates = played.filter(({ writes }) => writes.includes('host create')).length;
        const written = await stage.writes();
        expect(written.filter((one) => one.startsWith('host create'))).toHaveLength(creates);
        for (const { says, name, writes } of played) {
          const found = written.filter((one) => isOf(one, name)).map((one) => one.split(' ').slice(0, 2).join(' '));
          expect(found, says).toEqual(writes.filter((one) => one !== 'host create'));
        }
        await next.stop();
        await stage.forgetWrites();
        await stage.daemon();
        expect(await stage.writes()).toEqual([]);
      });

      it('a recreated virtual object takes over the copy in one write, without a gap and without a back-flow', async () => {
        await pair('web');
        const daemon = await stage.daemon();
        const before = await stage.copy('web');
        await daemon.stop();
        // These host edits belong to the old object, so they must be dropped.
        await stage.editCopy('web', {
          metadata: { labels: { app: 'h', own: 'h' }, annotations: { a: 'h', own: 'h' } },
        });
        await stage.removeTenants('web');
        const metadata = { namespace: stage.tenant, name: 'web', labels: { app: 'x' }, annotations: { a: '1' } };
        await stage.create('virtual', 'endpoints', { metadata, subsets: subsetsOf('10.0.0.9') } as never);
        await stage.forgetWrites();
        await stage.daemon();
        expect(await writesOf('web')).toEqual(['host patch']);
        const after = await stage.copy('web');
        expect(after?.metadata.uid).toBe(before?.metadata.uid);
        expect(ipsOf(after)).toEqual(['10.0.0.9']);
        expect(after?.metadata.labels).toMatchObject({ app: 'x' });
        expect(after?.metadata.labels).not.toHaveProperty('own');
        expect(after?.metadata.annotations).toMatchObject({ a: '1' });
        expect(after?.metadata.annotations).not.toHaveProperty('own');
        expect((await stage.tenants('web'))?.metadata).toMatchObject({ labels: { app: 'x' }, annotations: { a: '1' } });
      });

      it('excluded keys and backSync none are respected', async () => {
        const hostward = { backSync: 'none', exclude: { labels: ['secret-*'], annotations: ['note'] } };
        await stage.pair({
          name: 'web',
          metadata: { labels: { app: 'x', 'secret-a': '1' }, annotations: { note: 'v', a: '1' } },
        });
        const daemon = await stage.daemon({ config: { hostward } });
        expect((await stage.copy('web'))?.metadata.labels).not.toHaveProperty('secret-a');
        expect((await stage.copy('web'))?.metadata.annotations).not.toHaveProperty('note');
        await stage.forgetWrites();
        await stage.editCopy('web', {
          metadata: { labels: { app: 'h', own: 'h', 'secret-b': 'h' }, annotations: { note: 'h' } },
        });
        await daemon.settled();
        expect(await writesOf('web'), 'one revert').toEqual(['host patch']);
        const [written] = daemon.logged.filter(
          ({ msg, request }) => msg === 'object written' && request === 'host patch',
        );
        expect(written?.['touches']).toBe('label app');
        const copy = (await stage.copy('web'))?.metadata;
        expect(copy?.labels).toMatchObject({ app: 'x', own: 'h', 'secret-b': 'h' });
        expect(copy?.annotations?.['note']).toBe('h');
        const virtual = (await stage.tenants('web'))?.metadata;
        expect([virtual?.labels, virtual?.annotations]).toEqual([
          { app: 'x', 'secret-a': '1' },
          { note: 'v', a: '1' },
        ]);
      });

      it('a native object is taken over in one write', async () => {
        const native = { metadata: stage.at('web'), subsets: subsetsOf('192.168.0.1') };
        await stage.create('host', 'endpoints', native as never);
        const daemon = await stage.daemon();
        await pair('web');
        await daemon.settled();
        expect(await writesOf('web')).toEqual(['host patch']);
      });

      it('many changes at once cost one write each, and a quiet time after a restart costs none', async () => {
        const names = Array.from({ length: 60 }, (_, at) => `many-${at}`);
        await Promise.all(names.map((name) => stage.pair({ name, metadata: { labels: { release: name } } })));
        const daemon = await stage.daemon();
        expect(await stage.writes()).toHaveLength(names.length);
        await stage.forgetWrites();
        await Promise.all(names.map((name) => stage.editTenants(name, { subsets: subsetsOf('10.0.0.77') })));
        await daemon.settled();
        const wanted = names.map((name) => `host patch ${stage.at(name).name}`);
        expect((await stage.writes()).toSorted()).toEqual(wanted.toSorted());
        await daemon.stop();
        await stage.forgetWrites();
        const next = await stage.daemon();
        await next.clock.jump(quietMs);
        await next.settled();
        expect(await stage.writes()).toEqual([]);
      });
    });
  });
}

/** Longer than the audit interval of ten minutes. */
const quietMs = 11 * 60_000;

/** The path of a create has no name, so a create cannot be assigned to an object. */
function isOf(written: string, name: string): boolean {
  const found = written.split(' ')[2] ?? '';
  return found === name || found.startsWith(`${name}-x-`);
}

function isOfOther(written: string, name: string): boolean {
  return !written.includes(' create') && !isOf(written, name);
}
