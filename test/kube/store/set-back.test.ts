// Records that come back from a copy: etcd set back, a restore as Velero does it, whole and in part; and etcd compacted.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { ApiClient } from '../../contract/client.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { type Copied, type Existing, restoreAsVelero } from '../../contract/store/velero.ts';
import { until } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { Replicas } from './replicas.ts';

const assets = kubeAssets();
/** An embedded host needs no time to start, and has no etcd: for work on this file. */
const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
/** The others show most of it, and each recovery takes a quarter of a minute. */
const isFull = process.env['HOSTWARD_REPLICA_PROOFS'] === '1' || isEmbedded;

describe.skipIf(assets.found === undefined)('two replicas whose records come back from a copy', () => {
  let host: EmbeddedHost & Partial<Pick<KubeCluster, 'compact' | 'snapshotEtcd' | 'setBack'>>;
  let replicas: Replicas;
  let namespace: string;
  let client: ApiClient;
  beforeAll(async () => {
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'set-back' });
    client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
    namespace = await newNamespace(host);
    replicas = new Replicas(host, namespace);
    await replicas.start();
  }, 120_000);
  afterAll(async () => {
    await replicas?.stop();
    await client?.close();
    await host?.stop();
  });

  const keyOf = async (at: number, name: string) => {
    const { status, json, text } = await replicas.create(at, name);
    if (status !== 201) throw new Error(`create ${name}: ${status} ${text}`);
    return (json as { spec: { key: string } }).spec.key;
  };
  const code = async (at: number, name: string, key?: string) => (await replicas.get(at, name, key)).status;
  const versionOf = async (at: number) => {
    const { json } = await replicas.client(at).request('GET', listPath);
    return Number((json as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
  };
  const listPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
  const secretsPath = () => `/api/v1/namespaces/${namespace}/secrets`;
  const records = async () =>
    (
      (await client.request('GET', `${secretsPath()}?labelSelector=hostward.dev%2Frecord`)).json as {
        items: KubeObject[];
      }
    ).items;
  const both = async (test: (at: number) => Promise<boolean>, what: string) => {
    for (const at of [0, 1]) await until(() => test(at), `${what} on ${at}`, 30_000);
  };
  const endBoth = () => Promise.all([0, 1].map((at) => replicas.replica(at).end()));
  const startBoth = () => Promise.all([0, 1].map((at) => replicas.replica(at).start()));
  const recover = () =>
    replicas.hostward(
      ...['store', 'recover', '--config', replicas.replica(0).configPath],
      ...['--journals', `${replicas.folder}/b`],
    );

  const copiedRecords = async (): Promise<Copied[]> =>
    (await records()).map((object) => ({ path: secretsPath(), object }));

  const copiedNamespace = async (): Promise<Copied[]> => {
    const kinds = ['/api/v1/namespaces/*/configmaps', '/apis/coordination.k8s.io/v1/namespaces/*/leases'];
    const paths = [secretsPath(), ...kinds.map((path) => path.replace('*', namespace))];
    const lists = paths.map(async (path) => {
      const { items } = (await client.request('GET', path)).json as { items: KubeObject[] };
      return items.map((object) => ({ path, object }));
    });
    return (await Promise.all(lists)).flat();
  };

  const putBack = (copied: readonly Copied[], existing?: Existing) => restoreAsVelero(client, copied, existing);

  it.skipIf(isEmbedded)(
    'go on when etcd was compacted, also after the API server has forgotten everything, and remember what it has forgotten',
    async () => {
      const key = await keyOf(0, 'compacted');
      const before = await versionOf(0);
      const { json } = await client.request('GET', `${secretsPath()}?limit=1`);
      const onHost = (json as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
      await keyOf(1, 'remembered');
      await host.compact?.();
      await both(async (at) => (await code(at, 'compacted', key)) === 200, 'the way back');
      const told = await client.watch(`${secretsPath()}?watch=true&resourceVersion=${onHost}`);
      if ('next' in told) {
        expect((await told.next())?.object).toMatchObject({ code: 410 });
        told.close();
      } else expect(told.status).toBe(410);
      for (const at of [0, 1]) {
        const watch = await replicas.client(at).watch(`${listPath}?watch=true&resourceVersion=${before}`);
        if (!('next' in watch)) throw new Error(`watch from ${before}: ${watch.status}`);
        expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'remembered' } } });
        watch.close();
      }
      expect((await replicas.remove(1, 'compacted')).status).toBe(200);
      await both(async (at) => (await code(at, 'compacted', key)) === 401, 'revoked');
      expect(await versionOf(0)).toBeGreaterThan(before);
    },
    90_000,
  );

  it('do not believe revoked keys that a restore of missing objects brings back while they run', async () => {
    const [kept, revoked] = [await keyOf(0, 'kept-part'), await keyOf(1, 'revoked-part')];
    const copy = await copiedRecords();
    expect((await replicas.remove(0, 'revoked-part')).status).toBe(200);
    await putBack(copy);
    for (const at of [0, 1]) {
      await until(() => replicas.replica(at).output.includes('an older version of this record'), 'said in the log');
      expect([await code(at, 'kept-part', kept), await code(at, 'root', revoked)]).toEqual([200, 401]);
    }
    // The operator removes what the log names.
    const held = new Set((await records()).map(({ metadata }) => metadata.name ?? ''));
    for (const { metadata } of copy.map(({ object }) => object))
      if (held.has(metadata.name ?? '') && replicas.replica(0).output.includes(metadata.name ?? '-'))
        await client.request('DELETE', `${secretsPath()}/${metadata.name}`);
    expect((await replicas.create(1, 'revoked-part')).status).toBe(201);
  }, 60_000);

  it('do not believe revoked keys that come back while none runs, or before one that starts', async () => {
    const [first, second] = [await keyOf(0, 'asleep-first'), await keyOf(1, 'asleep-second')];
    const copy = await copiedRecords();
    const names = new Set(copy.map(({ object }) => object.metadata.name ?? ''));
    expect((await replicas.remove(0, 'asleep-first')).status).toBe(200);
    await both(async (at) => (await code(at, 'asleep-first', first)) === 401, 'the end of the first');
    await endBoth();
    await putBack(copy);
    await startBoth();
    for (const at of [0, 1]) expect(await code(at, 'asleep-first', first)).toBe(401);
    // One has seen nothing of the second one: it was down.
    await replicas.replica(1).end();
    expect((await replicas.remove(0, 'asleep-second')).status).toBe(200);
    await putBack(copy);
    await until(
      () => replicas.replica(0).output.split('an older version of this record').length > 2,
      'said in the log',
    );
    // A list waits for a heartbeat, and the second one is of after the first: it names them.
    for (let lists = 0; lists < 2; lists++) await versionOf(0);
    await replicas.replica(1).start();
    for (const at of [0, 1]) expect(await code(at, 'asleep-second', second)).toBe(401);
    const output = replicas.all.map((one) => one.output).join('');
    for (const { metadata } of await records())
      if (names.has(metadata.name ?? '') && output.includes(`"record":"${metadata.name}"`))
        await client.request('DELETE', `${secretsPath()}/${metadata.name}`);
    expect((await replicas.create(1, 'asleep-second')).status).toBe(201);
  }, 120_000);

  it.skipIf(!isFull).each([
    ['was deleted and is restored', 'none'],
    ['is restored over what is there', 'update'],
  ] as const)(
    'answer 503 after a namespace %s, and recover with what was revoked since still revoked',
    async (_, existing) => {
      const names = ['kept', 'revoked', 'disabled'].map((name) => `${name}-${existing}`) as [string, string, string];
      const [kept, revoked, disabled] = [await keyOf(0, names[0]), await keyOf(1, names[1]), await keyOf(0, names[2])];
      const copy = await copiedNamespace();
      expect((await replicas.remove(0, names[1])).status).toBe(200);
      const off = { headers: { 'content-type': 'application/merge-patch+json' }, body: { spec: { disabled: true } } };
      expect((await replicas.client(1).request('PATCH', `${listPath}/${names[2]}`, off)).status).toBe(200);
      const before = await versionOf(0);
      if (existing === 'none') await host.kubectl('-n', namespace, 'delete', 'secrets,configmaps,leases', '--all');
      await putBack(copy, existing);
      await both(async (at) => (await code(at, 'root')) === 503 && !(await replicas.replica(at).isReady()), '503');
      expect(await code(0, 'root', revoked)).toBe(503);
      await endBoth();
      expect(await recover()).toContain('revoked again: 1 deleted');
      await startBoth();
      await both(async (at) => (await code(at, names[0], kept)) === 200, 'the kept key');
      for (const at of [0, 1])
        expect([await code(at, 'root', revoked), await code(at, 'root', disabled)]).toEqual([401, 401]);
      expect(await versionOf(1)).toBeGreaterThan(before);
      expect(await replicas.replica(0).status()).toMatchObject({ management: { store: { isSealed: true, aside: 0 } } });
    },
    120_000,
  );

  // As Kubernetes' own pages restore etcd, so that its revisions are above all former ones; and without that, where they are given out again.
  it.skipIf(isEmbedded).each(isFull ? [1_000_000_000, 0] : [1_000_000_000])(
    'answer 503 after etcd was restored from a snapshot with revisions that are raised by %i, and recover',
    async (raisedBy) => {
      const names = ['kept', 'revoked', 'lost', 'late'].map((name) => `${name}-etcd-${raisedBy}`);
      const [ofKept, ofRevoked, ofLost, ofLate] = names as [string, string, string, string];
      const [kept, revoked] = [await keyOf(0, ofKept), await keyOf(1, ofRevoked)];
      const snapshot = (await host.snapshotEtcd?.()) ?? '';
      expect((await replicas.remove(1, ofRevoked)).status).toBe(200);
      const lost = await keyOf(0, ofLost);
      // Their journals begin again behind the snapshot, and lack nothing together.
      await endBoth();
      await startBoth();
      const before = await versionOf(1);
      await host.setBack?.(snapshot, raisedBy);
      await both(async (at) => (await code(at, 'root')) === 503 && !(await replicas.replica(at).isReady()), '503');
      await endBoth();
      await expect(replicas.replica(0).start()).rejects.toThrow('hostward store recover');
      expect(await recover()).toContain('revoked again: 1 deleted, 0 changed, 0 disabled');
      const goOn = async (above: number) => {
        await startBoth();
        await both(async (at) => (await code(at, ofKept, kept)) === 200, 'the kept key');
        for (const at of [0, 1])
          expect([await code(at, 'root', revoked), await code(at, 'root', lost)]).toEqual([401, 401]);
        const now = await versionOf(0);
        expect(now).toBeGreaterThan(above);
        return now;
      };
      const recovered = await goOn(before);
      if (raisedBy > 0) return;
      // The snapshot is older than the recovery, of which the store knows nothing then.
      const late = await keyOf(1, ofLate);
      expect((await replicas.remove(0, ofLate)).status).toBe(200);
      await endBoth();
      await host.setBack?.(snapshot);
      for (const at of [0, 1])
        await expect(replicas.replica(at).start()).rejects.toThrow('set back to before its last recovery');
      expect(await recover()).toContain('revoked again: 1 deleted, 0 changed, 0 disabled');
      await goOn(recovered);
      expect(await code(1, 'root', late)).toBe(401);
    },
    180_000,
  );
});
