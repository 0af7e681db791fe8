// The contract of windows, writers and leases with any API server, while a proxy cuts and delays their connections. The
// embedded cluster and a real kube-apiserver run the same suite.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Answer } from '../../src/cluster/answer.ts';
import type { ClusterAccess, Credentials } from '../../src/cluster/credentials/access.ts';
import { openWindow, type WindowOptions } from '../../src/cluster/window/open-window.ts';
import type { Window, WindowChange } from '../../src/cluster/window/window.ts';
import type { Connection } from '../../src/cluster/wire/connection.ts';
import { checkPermissions, probe } from '../../src/cluster/wire/probe.ts';
import { endpointsResource, type ResourceRef } from '../../src/cluster/wire/scope.ts';
import { openConnection } from '../../src/cluster/wire/transport.ts';
import { openLease } from '../../src/cluster/write/lease.ts';
import { openWriter } from '../../src/cluster/write/open-writer.ts';
import type { Writer } from '../../src/cluster/write/writer.ts';
import { silentLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { ownTime } from '../own-time.ts';
import { Counting, endpoints, type Kept, namespaces, project, until, Wire } from './reflector-stage.ts';

export interface ReflectorSubject {
  url: string;
  caPem: string;
  adminToken: string;
  strangerToken: string;
  /** Compacts the history of the server. */
  compact(): Promise<void>;
  /** Whether a quiet watch gets bookmarks often enough for a test to wait for one. */
  bookmarkWithinMs?: number;
  stop(): Promise<void>;
}

export function reflectorContract(
  name: string,
  makeSubject: () => Promise<ReflectorSubject>,
  options: { skip?: string | undefined } = {},
): void {
  const title = `windows onto ${name}${options.skip === undefined ? '' : ` (skipped: ${options.skip})`}`;
  describe.skipIf(options.skip !== undefined)(title, () => {
    let subject: ReflectorSubject;
    let wire: Wire;
    let url: string;
    let connection: Counting;
    /** Another client, which does not use the proxy. */
    let other: Writer;
    let namespace: string;
    let rounds = 0;
    const closers: (() => Promise<unknown>)[] = [];

    const credentials = (server: string, token: string): Credentials => {
      const tls = {
        ca: subject.caPem,
        cert: undefined,
        key: undefined,
        servername: undefined,
        rejectUnauthorized: true,
      };
      const access: ClusterAccess = {
        server,
        proxy: undefined,
        headers: { authorization: `Bearer ${token}` },
        tls,
        from: 'files',
      };
      return { server, source: 'the contract', namespace: undefined, proxy: undefined, read: async () => access };
    };
    const open = (server: string, token = subject.adminToken): Connection => {
      const opened = openConnection({
        name: 'host',
        credentials: credentials(server, token),
        clock: systemClock,
        log: silentLog,
      });
      closers.push(() => opened.close());
      return opened;
    };
    const writerOn = (through: Connection): Writer =>
      openWriter({
        connection: through,
        clock: systemClock,
        random: () => 0,
        log: silentLog,
        metrics: createMetrics(),
        permit: () => true,
        fieldManager: 'contract',
      });
    const windowOn = (extra: Partial<WindowOptions<Kept>> = {}): { window: Window<Kept>; changes: WindowChange[] } => {
      const window = openWindow<Kept>({
        connection,
        ref: endpointsResource,
        namespace,
        project,
        clock: systemClock,
        random: () => 0.5,
        log: silentLog,
        metrics: createMetrics(),
        ...extra,
      });
      const changes: WindowChange[] = [];
      window.subscribe({ changed: (change) => changes.push(change) });
      closers.push(() => window.stop());
      window.start();
      return { window, changes };
    };
    const written = async (answer: Promise<Answer>): Promise<KubeObject> => {
      const settled = await answer;
      if (settled.kind !== 'ok') throw new Error(`wanted the write to succeed, got ${JSON.stringify(settled)}`);
      return settled.object;
    };
    const versionOf = (object: KubeObject) => ({
      uid: object.metadata.uid ?? '',
      resourceVersion: object.metadata.resourceVersion ?? '',
    });
    const setIp = (object: KubeObject, ip: string): Promise<KubeObject> => {
      const { name = '' } = object.metadata;
      const subsets = [{ addresses: [{ ip }], ports: [{ port: 80 }] }];
      return written(other.patch(endpointsResource, { namespace, name }, { metadata: versionOf(object), subsets }));
    };

    beforeAll(async () => {
      subject = await makeSubject();
    }, 120_000);

    afterAll(async () => {
      await subject?.stop();
    }, 60_000);

    beforeEach(async () => {
      wire = new Wire(subject.url);
      url = await wire.start();
      closers.push(() => wire.stop());
      connection = new Counting(open(url));
      other = writerOn(open(subject.url));
      namespace = `reflector-${++rounds}`;
      await written(other.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }));
    });

    afterEach(async () => {
      for (const close of closers.splice(0).reverse()) await close();
    });

    it('show the existing objects, and then creates, updates and deletes in order', async () => {
      await written(other.create(endpointsResource, endpoints(namespace, 'before', '10.1.0.1')));
      const { window, changes } = windowOn();
      await window.whenSynced();
      expect(window.get(`${namespace}/before`)?.ips).toEqual(['10.1.0.1']);
      const created = await written(other.create(endpointsResource, endpoints(namespace, 'a', '10.1.0.2')));
      await setIp(created, '10.1.0.3');
      await until(() => window.get(`${namespace}/a`)?.ips[0] === '10.1.0.3', 'the update');
      await written(other.remove(endpointsResource, { namespace, name: 'a' }, { uid: created.metadata.uid ?? '' }));
      await until(() => !window.has(`${namespace}/a`), 'the delete');
      const kinds = changes.filter((change) => change.key === `${namespace}/a`).map((change) => change.kind);
      expect(kinds.at(0)).toBe('set');
      expect(kinds.at(-1)).toBe('removed');
      expect(kinds.slice(0, -1)).not.toContain('removed');
    });

    it('say of a version that the server does not serve that it is not served, and not that the server is a stranger', async () => {
      for (const path of ['apis/discovery.k8s.io/v9', 'apis/hostward.example/v1']) {
        const ref = { path, resource: 'endpointslices', kind: 'EndpointSlice' };
        const { window } = windowOn({ ref });
        await until(() => window.trouble !== undefined, 'the trouble');
        expect(window.trouble).toMatchObject({
          isUnserved: true,
          message: `the host cluster does not serve ${path}/endpointslices`,
        });
      }
    });

    it('read a list of several pages', async () => {
      const names = Array.from({ length: 620 }, (_, index) => `n${index}`);
      await Promise.all(
        names.map((name) => written(other.create(endpointsResource, endpoints(namespace, name, '10.1.0.1')))),
      );
      const { window } = windowOn();
      await window.whenSynced();
      expect([...window.keys()].sort()).toEqual(names.map((name) => `${namespace}/${name}`).sort());
      expect(connection.lists).toBe(1);
    });

    it('continue after a cut connection without a new list, and miss no change', async () => {
      const created = await written(other.create(endpointsResource, endpoints(namespace, 'a', '10.1.0.1')));
      const doomed = await written(other.create(endpointsResource, endpoints(namespace, 'doomed', '10.1.0.1')));
      const { window } = windowOn();
      await window.whenSynced();
      for (let round = 0; round < 3; round++) {
        wire.cut();
        await new Promise((resolve) => setImmediate(resolve));
      }
      wire.down();
      await until(() => window.state === 'retrying', 'the window to notice');
      await setIp(created, '10.1.0.9');
      await written(other.remove(endpointsResource, { namespace, name: 'doomed' }, { uid: doomed.metadata.uid ?? '' }));
      expect(window.has(`${namespace}/doomed`)).toBe(true);
      wire.up();
      await until(() => window.get(`${namespace}/a`)?.ips[0] === '10.1.0.9', 'the update made in the meantime');
      await until(() => !window.has(`${namespace}/doomed`), 'the delete made in the meantime');
      expect(connection.lists).toBe(1);
    });

    it('list once when the history is gone, and report the objects that vanished', async () => {
      const doomed = await written(other.create(endpointsResource, endpoints(namespace, 'doomed', '10.1.0.1')));
      await written(other.create(endpointsResource, endpoints(namespace, 'stays', '10.1.0.1')));
      const { window, changes } = windowOn();
      await window.whenSynced();
      changes.length = 0;
      wire.down();
      await until(() => window.state === 'retrying', 'the window to notice');
      await written(other.remove(endpointsResource, { namespace, name: 'doomed' }, { uid: doomed.metadata.uid ?? '' }));
      await subject.compact();
      wire.up();
      await until(() => !window.has(`${namespace}/doomed`), 'the delete', 40_000);
      await until(() => window.state === 'watching', 'the watch');
      expect(changes).toContainEqual({ key: `${namespace}/doomed`, kind: 'removed', origin: 'list' });
      expect(changes.map((change) => change.key)).not.toContain(`${namespace}/stays`);
      expect(connection.lists).toBeLessThanOrEqual(2);
    }, 90_000);

    it('lose an object that no longer matches their selector, and find it again', async () => {
      const created = await written(
        other.create(endpointsResource, endpoints(namespace, 'a', '10.1.0.1', { app: 'x' })),
      );
      const { window } = windowOn({ labelSelector: 'app=x' });
      await window.whenSynced();
      expect(window.size).toBe(1);
      const place = { namespace, name: 'a' };
      const moved = await written(
        other.patch(endpointsResource, place, { metadata: { ...versionOf(created), labels: { app: 'y' } } }),
      );
      await until(() => window.size === 0, 'the object to go');
      await written(other.patch(endpointsResource, place, { metadata: { ...versionOf(moved), labels: { app: 'x' } } }));
      await until(() => window.get(`${namespace}/a`)?.label === 'x', 'the object to come back');
    });

    it('show our own writes at once and do not report them again', async () => {
      const { window, changes } = windowOn();
      await window.whenSynced();
      const writer = writerOn(connection);
      const own = await written(writer.create(endpointsResource, endpoints(namespace, 'own', '10.1.0.1')));
      window.remember(own);
      expect(window.get(`${namespace}/own`)?.ips).toEqual(['10.1.0.1']);
      await written(other.create(endpointsResource, endpoints(namespace, 'later', '10.1.0.1')));
      await until(() => window.has(`${namespace}/later`), 'the write of another client');
      const keys = changes.map((change) => change.key);
      expect(keys.filter((key) => key === `${namespace}/own`).length).toBeLessThanOrEqual(1);
      await written(writer.remove(endpointsResource, { namespace, name: 'own' }, versionOf(own)));
      window.forget(`${namespace}/own`, own.metadata.resourceVersion);
      expect(window.has(`${namespace}/own`)).toBe(false);
      await window.relist('to see it stays away');
      expect(window.has(`${namespace}/own`)).toBe(false);
    });

    it('stay current in quiet times through bookmarks', async ({ skip }) => {
      if (subject.bookmarkWithinMs === undefined) return skip('this server sends a bookmark once a minute');
      const { window } = windowOn();
      await window.whenSynced();
      const heardMs = window.lastHeardMs;
      await until(() => window.lastHeardMs > heardMs, 'a bookmark', subject.bookmarkWithinMs * 5);
      expect(window.state).toBe('watching');
    });

    it('report missing rights in a sentence, also before the start', async () => {
      const stranger = open(url, subject.strangerToken);
      const window = openWindow<Kept>({
        connection: stranger,
        ref: endpointsResource,
        namespace,
        project,
        clock: systemClock,
        random: () => 0,
        log: silentLog,
        metrics: createMetrics(),
      });
      closers.push(() => window.stop());
      window.start();
      await until(() => window.trouble !== undefined, 'the trouble');
      expect(window.trouble?.message).toContain('cannot list resource "endpoints"');
      const permissions = (['list', 'watch'] as const).map((verb) => ({
        verb,
        group: '',
        resource: 'endpoints',
        namespace,
      }));
      expect((await checkPermissions(stranger, permissions)).map((fault) => fault.code)).toEqual([
        'CLUSTER_PERMISSION_MISSING',
        'CLUSTER_PERMISSION_MISSING',
      ]);
      expect(await checkPermissions(connection, permissions)).toEqual([]);
      expect((await probe(open(url, 'unknown-user'))).kind).toBe('faults');
      expect(await probe(connection)).toMatchObject({ kind: 'ok', version: expect.stringMatching(/^v1\./) });
    });

    it('writers distinguish the meanings of answers', async () => {
      const writer = writerOn(connection);
      const place = { namespace, name: 'a' };
      const created = await written(writer.create(endpointsResource, endpoints(namespace, 'a', '10.1.0.1')));
      const again = await writer.create(endpointsResource, endpoints(namespace, 'a', '10.1.0.1'));
      expect(again.kind).toBe('alreadyExists');
      await setIp(created, '10.1.0.2');
      const late = await writer.patch(endpointsResource, place, {
        metadata: { ...versionOf(created), labels: { a: 'b' } },
      });
      expect(late.kind).toBe('conflict');
      const uid = 'another';
      const recreated = { metadata: { ...versionOf(created), uid, labels: { a: 'b' } } };
      expect((await writer.patch(endpointsResource, place, recreated)).kind).toBe('conflict');
      // Without a resourceVersion, the uid is only an immutable field.
      const blind = await writer.patch(endpointsResource, place, { metadata: { uid, labels: { a: 'b' } } });
      expect(blind).toMatchObject({ kind: 'refused', status: 422 });
      const removed = await writer.remove(endpointsResource, place, { uid: 'another' });
      expect(removed.kind).toBe('conflict');
      const badIp = await writer.create(endpointsResource, endpoints(namespace, 'b', 'not an address'));
      expect(badIp).toMatchObject({ kind: 'refused', status: 422, reason: 'Invalid' });
      await written(writer.remove(endpointsResource, place, { uid: created.metadata.uid ?? '' }));
      expect((await writer.get(endpointsResource, place)).kind).toBe('notFound');
      expect((await writer.patch(endpointsResource, place, { metadata: versionOf(created) })).kind).toBe('notFound');
      const nowhere = await writer.create(endpointsResource, endpoints('no-such-namespace', 'a', '10.1.0.1'));
      expect(nowhere.kind).toBe('notFound');
    });

    it('a lease passes from one holder to the next, and a deleted lease is recreated with a new uid', async () => {
      const lease = (identity: string) => {
        const opened = openLease({
          connection,
          namespace,
          name: 'hostward-contract',
          identity,
          clock: systemClock,
          random: () => 0,
          log: silentLog,
          metrics: createMetrics(),
          retryMs: 200,
        });
        closers.push(() => opened.stop());
        return opened;
      };
      const [a, b] = [lease('a'), lease('b')];
      a.start();
      await until(() => a.isHeld(), 'the first holder');
      b.start();
      await until(() => b.state.kind === 'standby' && b.state.holder === 'a', 'the standby to know the leader');
      const tookMs = ownTime();
      await a.stop();
      await until(() => b.isHeld(), 'the second holder');
      expect(tookMs()).toBeLessThan(3_000);
      expect(a.isHeld()).toBe(false);
      const leases: ResourceRef = { path: 'apis/coordination.k8s.io/v1', resource: 'leases', kind: 'Lease' };
      const place = { namespace, name: 'hostward-contract' };
      const held = await written(other.get(leases, place));
      await written(other.remove(leases, place, { uid: held.metadata.uid ?? '' }));
      await until(async () => {
        const now = await other.get(leases, place);
        return now.kind === 'ok' && now.object.metadata.uid !== held.metadata.uid && b.isHeld();
      }, 'a new lease');
    });
  });
}
