// One key at two replicas: what it may hold open at each, and how soon the other one refuses it when it ends on one.
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClient } from '../../../contract/client.ts';
import { openSocket } from '../../security/raw-client.ts';
import { follow, keysPath } from '../bench.ts';
import { type Replica, TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
let replicas: [Replica, Replica];
beforeAll(async () => {
  both.callerLimits = { requests: { ofOne: 4, altogether: 100 }, watches: { ofOne: 3, altogether: 100 } };
  await both.start();
  const a = await both.replica('a');
  both.copySecrets('a', 'b');
  replicas = [a, await both.replica('b')];
}, 60_000);
afterAll(() => both.stop());

describe('the limits of one key', () => {
  const list = (at: Replica, key: string, path = keysPath) => both.client(at, key).request('GET', path);
  const says = (at: Replica, key: string, path?: string) =>
    list(at, key, path).then(({ status, text }) => [status, /your access key has \d+ [a-z ]+/.exec(text)?.[0]]);

  it('hold for each replica: as many watches at one as at the other, and none is lent', async () => {
    const key = await both.makeKey(replicas[0], 'watcher');
    const path = `${keysPath}?watch=true`;
    const open = (at: Replica) => follow({ port: at.api.port, caPem: at.api.caPem }, path, key);
    const [a, b] = replicas;
    const atA = [await open(a), await open(a), await open(a)];
    // What is open at the one counts at the other one in nothing.
    const atB = [await open(b), await open(b), await open(b)];
    for (const at of replicas) expect(await says(at, key, path)).toEqual([429, 'your access key has 3 open watches']);
    atA[0]?.stop();
    await both.until(async () => {
      const again = await open(a).catch(() => undefined);
      if (again !== undefined && !again.isWhole()) atA.push(again);
      return a.api.status().watches === 3;
    }, 'a place at the first replica');
    expect(await says(b, key, path)).toEqual([429, 'your access key has 3 open watches']);
    for (const stream of [...atA, ...atB]) stream.stop();
    await both.until(() => replicas.every(({ api }) => api.status().watches === 0), 'the end of all watches');
  });

  it('hold for each replica: as many requests at one as at the other', async () => {
    const key = await both.makeKey(replicas[0], 'uploader');
    const held: TLSSocket[] = [];
    const begin = async ({ api: { port, caPem } }: Replica) => {
      const socket = await openSocket({ port, caPem });
      const head = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nTransfer-Encoding: chunked`;
      socket.write(`POST ${keysPath} HTTP/1.1\r\n${head}\r\n\r\n1\r\n{\r\n`);
      held.push(socket);
    };
    const refused = [429, 'your access key has 4 requests at a time'];
    for (const at of replicas) {
      for (let n = 0; n < 4; n++) await begin(at);
      await both.until(async () => JSON.stringify(await says(at, key)) === JSON.stringify(refused), 'the limit');
    }
    // Another key is served beside them.
    for (const at of replicas) expect((await list(at, both.admin)).status).toBe(200);
    for (const socket of held) socket.destroy();
    for (const at of replicas) await both.until(async () => (await list(at, key)).status === 200, 'free places');
  });
});

interface Answered {
  at: Replica;
  sentMs: number;
  status: number;
}

const discoveryPath = '/kubernetes/management/apis/management.platform/v1';
/** A promise of docs/replicas.md. */
const boundMs = 100;
const merge = { headers: { 'content-type': 'application/merge-patch+json' } };

describe('a key that ends on one replica while the other one answers requests with it', () => {
  // Wrong credentials of one source are limited: as many as are counted below are 401 and not 429.
  const forgetFailures = async () => {
    for (let seconds = 0; seconds < 20; seconds += 4) await both.pass(4_000, replicas);
  };

  /** Two clients at each replica, until each was refused; then two more requests of each after the bound. */
  async function answersAround(key: string, end: () => Promise<void>) {
    const answered: Answered[] = [];
    const ask = async ({ at, client }: { at: Replica; client: ApiClient }) => {
      const sentMs = performance.now();
      // Every live key may read it, and it asks nobody: only the key decides.
      const { status } = await client.request('GET', discoveryPath);
      answered.push({ at, sentMs, status });
      return status;
    };
    const clients = replicas.flatMap((at) => [at, at].map(() => ({ at, client: both.client(at, key) })));
    let isStopped = false;
    const asking = clients.map(async (one) => {
      while (!isStopped && (await ask(one)) !== 401);
    });
    try {
      const isBusy = () => replicas.every((at) => answered.filter((one) => one.at === at).length >= 10);
      await both.until(isBusy, 'requests at both');
      await end();
      const endedMs = performance.now();
      await both.until(() => performance.now() > endedMs + boundMs, 'the bound');
      await Promise.race([Promise.all(asking), both.until(() => performance.now() > endedMs + 20_000, 'the refusals')]);
      for (const one of [...clients, ...clients]) await ask(one);
      return { answered, endedMs };
    } finally {
      isStopped = true;
      await Promise.all(asking);
      await Promise.all(clients.map(({ client }) => client.close()));
    }
  }

  const change = async (method: string, path: string, body?: object) => {
    const how = { ...(method === 'PATCH' && merge), ...(body && { body }) };
    const { status, json } = await both.client(replicas[0]).request(method, `${keysPath}/${path}`, how);
    expect([200, 201]).toContain(status);
    return json as { status?: { key?: string } };
  };

  it.each([
    ['deleted', (name: string) => change('DELETE', name)],
    ['disabled', (name: string) => change('PATCH', name, { spec: { disabled: true } })],
    ['rotated', (name: string) => change('POST', `${name}/rotate`, { spec: {} })],
    ['expired', async () => both.clock.moveSeconds(3_601)],
  ])(
    'is answered 200 until it is %s and 401 soon after it, and nothing else',
    async (how, end) => {
      for (let round = 0; round < 2; round++) {
        await forgetFailures();
        const name = `${how}-${round}`;
        const key = await both.makeKey(replicas[0], name, { user: 'alice', ttl: 3_600 });
        expect(await both.use(replicas[1], name, key)).toBe(200);
        let fresh: string | undefined;
        const { answered, endedMs } = await answersAround(key, async () => {
          fresh = ((await end(name)) as { status?: { key?: string } } | undefined)?.status?.key;
        });
        const counted = Object.groupBy(answered, ({ status }) => status);
        expect(Object.keys(counted)).toEqual(['200', '401']);
        // Each replica, and each client of it, hears of it once and for all.
        expect(counted[401]).toHaveLength(3 * 2 * replicas.length);
        const lateMs = counted[200]?.map(({ sentMs }) => Math.round(sentMs - endedMs)).filter((ms) => ms > boundMs);
        expect(lateMs).toEqual([]);
        if (how !== 'rotated') continue;
        for (const at of replicas) expect(await both.use(at, name, String(fresh))).toBe(200);
      }
    },
    60_000,
  );

  it('is good on the other one at once when it is enabled again', async () => {
    await forgetFailures();
    const key = await both.makeKey(replicas[0], 'again');
    for (let round = 0; round < 5; round++) {
      await change('PATCH', 'again', { spec: { disabled: true } });
      await both.until(async () => (await both.use(replicas[1], 'again', key)) === 401, 'the refusal');
      await change('PATCH', 'again', { spec: { disabled: false } });
      expect([round, await both.use(replicas[1], 'again', key)]).toEqual([round, 200]);
    }
  });
});
