// One replica of two behind a host that answers 429 and 410, each kind of request once, and 504, 500 and 409 to writes that it has done or
// not: nothing acknowledged is lost, nothing old is answered, and the replica goes on by itself. HOSTWARD_REPLICA_PROOFS=1 plays every
// kind with both answers, and lists with a continue token.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient } from '../../contract/client.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { FaultHost } from './fault-host.ts';
import { Replicas } from './replicas.ts';

const assets = kubeAssets();
const isFull = process.env['HOSTWARD_REPLICA_PROOFS'] === '1';
/** More than a page of records, so that a list has a continue token. */
const fillers = isFull ? 600 : 0;

/** What makes the replica ask so; the others it asks by itself. */
const points = [
  'secrets: POST',
  'secrets: PUT one',
  'secrets: DELETE one',
  'secrets: GET one',
  'secrets: PUT replica',
  'watch',
  'secrets: GET',
  'secrets: further page',
  'configmaps: PATCH one',
  'leases: GET one',
] as const;
/** The others are asked for by the replica itself now and then, and take longer. */
const isShort = (point: string) =>
  ['secrets: POST', 'secrets: PUT one', 'secrets: DELETE one', 'watch', 'secrets: GET'].includes(point);
const played = points.filter((point) => isFull || isShort(point));
const startCodes = isFull ? ([429, 410] as const) : ([429] as const);
const startPoints = ['secrets: GET meta', 'watch', ...(isFull ? ['secrets: GET', 'secrets: PUT replica'] : [])];
const cases = played.flatMap((point, n) =>
  ([429, 410] as const).filter((code) => isFull || (code === 429) === (n % 2 === 0)).map((code) => ({ point, code })),
);

describe.skipIf(assets.found === undefined)('a replica whose host answers with faults', () => {
  let host: EmbeddedHost;
  let replicas: Replicas;
  let faulty: FaultHost;
  beforeAll(async () => {
    const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'host-faults' });
    const namespace = await newNamespace(host);
    replicas = new Replicas(host, namespace);
    await replicas.start();
    faulty = new FaultHost(host, join(replicas.folder, 'faulty.kubeconfig'));
    await faulty.open();
    await replicas.replica(0).end();
    replicas.replica(0).configure(replicas.management(faulty.kubeconfigPath));
    await fill(namespace);
    await replicas.replica(0).start();
  }, 120_000);
  afterAll(async () => {
    await replicas?.stop();
    faulty?.close();
    await host?.stop();
  });

  /** Secrets of our type that nobody believes. */
  async function fill(namespace: string): Promise<void> {
    const client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
    const waiting = Array.from({ length: fillers }, (_, n) => n);
    const work = async () => {
      for (let n = waiting.pop(); n !== undefined; n = waiting.pop()) {
        const metadata = { name: `z-filler-${n}`, labels: { 'hostward.dev/record': 'true' } };
        const body = { metadata, type: 'hostward.dev/record', data: { format: 'Mg==' } };
        const { status } = await client.request('POST', `/api/v1/namespaces/${namespace}/secrets`, { body });
        expect(status).toBe(201);
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    await client.close();
  }

  let round = 0;
  it.each(cases)(
    'goes on after $code to "$point"',
    async ({ point, code }) => {
      const name = `round-${round++}`;
      const keyOf = async (at: number, key: string) => {
        const { status, json } = await replicas.create(at, key);
        expect(status).toBe(201);
        return (json as { spec: { key: string } }).spec.key;
      };
      const [changed, gone] = [await keyOf(1, `${name}-changed`), await keyOf(1, `${name}-gone`)];
      const path = `/kubernetes/management/apis/management.platform/v1/ownedaccesskeys/${name}-changed`;
      const headers = { 'content-type': 'application/merge-patch+json' };
      // A list and its pages follow the end of a watch.
      const isList = point === 'secrets: GET' || point === 'secrets: further page';
      if (isList || point === 'watch') faulty.arm({ point: 'watch', code: 410, inStream: true });
      faulty.arm({ point, code });
      const patch = () => replicas.client(0).request('PATCH', path, { headers, body: { spec: { description: name } } });
      const actions = [
        () => replicas.create(0, `${name}-made`),
        patch,
        () => replicas.remove(0, `${name}-gone`),
        () => replicas.get(0, `${name}-changed`),
        // The first use of a key is written down before its answer.
        () => replicas.get(0, `${name}-changed`, changed),
      ];
      const codes: number[] = [];
      for (const act of actions) {
        let { status } = await act();
        codes.push(status);
        // As a client does; a create whose answer was a fault may have happened, but not of these two.
        for (let tries = 0; [410, 429, 503].includes(status) && tries < 40; tries++) {
          await new Promise((resolve) => setTimeout(resolve, 250));
          ({ status } = await act());
        }
        expect([200, 201]).toContain(status);
      }
      expect(codes.filter((one) => ![200, 201, 429, 503].includes(one))).toEqual([]);
      await until(() => !faulty.isArmed, `the fault at ${point}`, 30_000);
      for (const at of [0, 1]) {
        await until(async () => (await replicas.get(at, `${name}-made`)).status === 200, 'made', 20_000);
        expect((await replicas.get(at, `${name}-changed`)).text).toContain(`"description":"${name}"`);
        await until(async () => (await replicas.get(at, 'root', gone)).status === 401, 'revoked', 20_000);
      }
      expect([replicas.replica(0).exitCode, await replicas.replica(0).isReady()]).toEqual([null, true]);
    },
    90_000,
  );

  const writes = [
    { point: 'secrets: POST', how: 'made' },
    { point: 'secrets: PUT one', how: 'disabled' },
    { point: 'secrets: DELETE one', how: 'deleted' },
  ];
  const answers = [
    { code: 504, isDone: true },
    { code: 504, isDone: false },
    { code: 500, isDone: true },
    { code: 409, isDone: false },
  ] as const;
  it.each(writes.flatMap((write) => answers.map((answer) => ({ ...write, ...answer }))))(
    'claims nothing that it does not know where "$point" is answered $code (done: $isDone), and both replicas agree then',
    async ({ point, how, code, isDone }) => {
      const name = `unknown-${round++}`;
      const patch = { headers: { 'content-type': 'application/merge-patch+json' }, body: { spec: { disabled: true } } };
      const path = `/kubernetes/management/apis/management.platform/v1/ownedaccesskeys/${name}`;
      const made = how === 'made' ? undefined : await replicas.create(1, name);
      const key = (made?.json as { spec: { key: string } } | undefined)?.spec.key ?? '';
      if (made !== undefined) await until(async () => (await replicas.get(0, name, key)).status === 200, 'the key');
      faulty.arm({ point, code, isDone });
      const act = {
        made: () => replicas.create(0, name),
        disabled: () => replicas.client(0).request('PATCH', path, patch),
        deleted: () => replicas.remove(0, name),
      }[how] as () => Promise<{ status: number; text: string }>;
      const answered = await act();
      expect(faulty.isArmed).toBe(false);
      const found = async (at: number) => {
        const { status, json } = await replicas.get(at, name);
        return [status, (json as { spec?: { disabled?: boolean } }).spec?.disabled ?? false];
      };
      const [one, two] = [await found(0), await found(1)];
      expect(one).toEqual(two);
      const hasHappened = { made: one[0] === 200, disabled: one[1] === true, deleted: one[0] === 404 }[how];
      if (answered.status < 300) expect(hasHappened).toBe(true);
      else {
        // A conflict that is none is tried again, or is one for the client; what may have happened says so.
        expect([409, 500, 503, 504]).toContain(answered.status);
        if (hasHappened) expect(answered.text).toContain('look whether');
      }
      if (hasHappened && how !== 'made')
        for (const at of [0, 1])
          await until(async () => (await replicas.get(at, 'root', key)).status === 401, 'the end of the key', 5_000);
      // The way on is open.
      if (one[0] === 200) expect((await replicas.remove(0, name)).status).toBe(200);
      expect((await replicas.create(0, name)).status).toBe(201);
      expect([replicas.replica(0).exitCode, await replicas.replica(0).isReady()]).toEqual([null, true]);
    },
    60_000,
  );

  // A list asks nobody: it waits until the change that the replica makes for it comes back. That shows all that came before only in one
  // stream of changes.
  it('never answers a list without what was acknowledged before it, however late the changes come, and has one stream', async () => {
    const path = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
    faulty.mostWatches = 0;
    for (let n = 0; n < (isFull ? 6 : 2); n++) {
      faulty.holdWatches(true);
      try {
        expect((await replicas.create(1, `held-${n}`)).status).toBe(201);
        let isAnswered = false;
        const listed = replicas.client(0).request('GET', path);
        void listed.then(() => {
          isAnswered = true;
        });
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(isAnswered).toBe(false);
        // The stream ends behind the held changes in every second round, and another one goes on.
        if (n % 2 === 1) faulty.arm({ point: 'watch', code: 410, inStream: true });
        faulty.holdWatches(false);
        const { status, text } = await listed;
        expect([200, 503]).toContain(status);
        if (status === 200) expect(text).toContain(`"held-${n}"`);
      } finally {
        faulty.holdWatches(false);
      }
    }
    await until(() => faulty.mostWatches > 0, 'the next stream', 10_000);
    expect(faulty.mostWatches).toBe(1);
  }, 60_000);

  const keysPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';

  it('answers a read at a revision that it has not heard of when it has, and never with what was before', async () => {
    expect((await replicas.create(1, 'moving')).status).toBe(201);
    await until(async () => (await replicas.get(0, 'moving')).status === 200, 'the key');
    faulty.holdWatches(true);
    try {
      const headers = { 'content-type': 'application/merge-patch+json' };
      const body = { spec: { description: 'newer' } };
      const patched = await replicas.client(1).request('PATCH', `${keysPath}/moving`, { headers, body });
      const { resourceVersion } = (patched.json as { metadata: { resourceVersion: string } }).metadata;
      const old = await replicas.client(0).request('GET', `${keysPath}/moving?resourceVersion=0`);
      expect([old.status, old.text.includes('"newer"')]).toEqual([200, false]);
      let isAnswered = false;
      const asked = ['moving?', '?'].map((rest) =>
        replicas
          .client(0)
          .request('GET', `${keysPath}${rest === '?' ? '' : '/'}${rest}resourceVersion=${resourceVersion}`),
      );
      void Promise.race(asked).then(() => {
        isAnswered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(isAnswered).toBe(false);
      faulty.holdWatches(false);
      for (const { status, text } of await Promise.all(asked))
        expect([status, text.includes('"description":"newer"')]).toEqual([200, true]);
    } finally {
      faulty.holdWatches(false);
    }
  }, 30_000);

  it('asks the host for a key that is read without a resourceVersion, and not for one that is read at 0 or that is used', async () => {
    const made = await replicas.create(0, 'asked-for');
    const { key } = (made.json as { spec: { key: string } }).spec;
    expect((await replicas.get(0, 'asked-for', key)).status).toBe(200);
    const questions = () => faulty.seen.get('secrets: GET one') ?? 0;
    const before = questions();
    for (let n = 0; n < 20; n++) {
      const { status } = await replicas.client(0, key).request('GET', `${keysPath}/asked-for?resourceVersion=0`);
      expect(status).toBe(200);
    }
    expect(questions() - before).toBe(0);
    for (let n = 0; n < 5; n++) expect((await replicas.get(0, 'asked-for', key)).status).toBe(200);
    expect(questions() - before).toBe(5);
  });

  it('serves, late and right, while its host takes a second for every answer', async () => {
    const gone = await replicas.create(1, 'slow-gone');
    const { key } = (gone.json as { spec: { key: string } }).spec;
    faulty.delayMs = 1_000;
    try {
      for (let n = 0; n < 3; n++) {
        expect((await replicas.create(0, `slow-${n}`)).status).toBe(201);
        expect((await replicas.get(1, `slow-${n}`)).status).toBe(200);
        expect(await replicas.replica(0).isReady()).toBe(true);
      }
      expect((await replicas.get(0, 'slow-0')).status).toBe(200);
      expect((await replicas.client(0).request('GET', keysPath)).text).toContain('"slow-2"');
      expect((await replicas.remove(1, 'slow-gone')).status).toBe(200);
      await until(async () => (await replicas.get(0, 'root', key)).status === 401, 'revoked', 5_000);
    } finally {
      faulty.delayMs = 0;
    }
  }, 60_000);

  it('refuses no good key while it starts and has not read every record yet', async () => {
    await replicas.replica(0).end();
    faulty.delayMs = 700;
    const seen = new Set<number>();
    try {
      let isStarted = false;
      const started = replicas
        .replica(0)
        .start()
        .then(() => {
          isStarted = true;
        });
      const ask = async () => {
        // 0: nobody listens.
        const { status } = await replicas.get(0, 'root').catch(() => ({ status: 0 }));
        seen.add(status);
        return isStarted && status === 200;
      };
      await until(ask, 'a replica that serves', 40_000);
      await started;
    } finally {
      faulty.delayMs = 0;
    }
    expect([...seen].filter((status) => ![0, 503].includes(status))).toEqual([200]);
    expect(seen.size).toBeGreaterThan(1);
  }, 60_000);

  it.each(startCodes)(
    'starts after %i to its first questions, or says why it does not',
    async (code) => {
      for (const point of startPoints) {
        await replicas.replica(0).end();
        faulty.arm({ point, code });
        const started = await replicas
          .replica(0)
          .start()
          .then(
            () => undefined,
            (error: Error) => error.message,
          );
        if (started !== undefined) expect(started).toMatch(/too many requests|too old resource version/);
        await until(() => !faulty.isArmed, `the fault at ${point}`, 20_000);
        if (started !== undefined) await replicas.replica(0).start();
        await until(async () => (await replicas.get(0, 'root')).status === 200, 'serving', 20_000);
      }
    },
    120_000,
  );
});
