import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiServer } from '../../../../src/apiserver/server.ts';
import { silentLog } from '../../../../src/log.ts';
import { PublishedRevocations } from '../../../../src/management/credentials/tokens/published-revocations.ts';
import { heartbeatMs, revocationKind } from '../../../../src/management/credentials/tokens/revocation-kind.ts';
import { TokenLedger } from '../../../../src/management/credentials/tokens/token-ledger.ts';
import type { KeyFacts } from '../../../../src/management/keys/life/key-facts.ts';
import { RevocationWatch } from '../../../../src/management/proxy/direct/revocation-watch.ts';
import { managementSchemas } from '../../../../src/management/server/schemas.ts';
import { MemoryStore } from '../../../../src/store/memory-store.ts';
import { ownTime } from '../../../own-time.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { type Bench, keysPath, movedClock, openBench, until } from '../../server/bench.ts';

const api = '/kubernetes/management/apis/management.platform/v1';
const path = `${api}/revocations`;
const watchQuery = 'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
const merge = 'application/merge-patch+json';
const space = { name: 's', cluster: 'c1', namespace: 'shop-s' };
const shop = { name: 'shop', members: [], virtualClusters: [], spaces: [space] };

let bench: Bench;
let agent: string;
const clock = movedClock();
beforeAll(async () => {
  bench = await openBench({ clock, settings: { projects: [shop] } });
  agent = await bench.keyFor('agent', { user: 'admin', scope: { roles: [{ role: 'agent' }] } });
});
afterAll(() => bench.stop());

async function withToken(name: string): Promise<void> {
  const key = await bench.keyFor(name, { user: 'alice' });
  const tokens = `${api}/directclusterendpointtokens`;
  expect((await bench.ask('POST', tokens, { key, body: {} })).code).toBe(201);
}

async function uidOf(name: string): Promise<string> {
  return String((await bench.ask('GET', `${keysPath}/${name}`)).body['metadata']?.['uid']);
}

const disable = (name: string) =>
  bench.ask('PATCH', `${keysPath}/${name}`, { type: merge, body: { spec: { disabled: true } } });

const named = (uid: string) => expect.objectContaining({ metadata: expect.objectContaining({ name: uid }) });

async function listed(of: string): Promise<Awaited<ReturnType<Bench['ask']>>> {
  let answer = await bench.ask('GET', path, { key: agent });
  await until(async () => {
    answer = await bench.ask('GET', path, { key: agent });
    return answer.text.includes(of);
  }, `the revocation of ${of}`);
  return answer;
}

describe('revocations', () => {
  it('are listed as objects that are named by the uid of the key', async () => {
    await withToken('listed');
    const uid = await uidOf('listed');
    expect((await bench.ask('GET', path, { key: agent })).text).not.toContain(uid);
    await disable('listed');
    const { body, code } = await listed(uid);
    expect(code).toBe(200);
    expect(body).toMatchObject({
      kind: 'RevocationList',
      metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
      items: [
        {
          metadata: { name: uid },
          spec: { generation: expect.any(Number), expires: expect.stringMatching(/^\d{4}-/) },
        },
      ],
    });
  });

  it('are watched: those that there are, a bookmark, and a change within a second', async () => {
    await withToken('told');
    const stream = await bench.follow(`${path}?${watchQuery}`, agent);
    await until(() => stream.events.some(({ type }) => String(type) === 'BOOKMARK'), 'the first bookmark');
    const first = stream.events.length;
    expect(stream.events[first - 1]).toMatchObject({
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    const tookMs = ownTime();
    await disable('told');
    await until(() => stream.events.length > first, 'the revocation');
    expect(tookMs()).toBeLessThan(1_000);
    expect(stream.events[first]).toMatchObject({ type: 'ADDED', object: named(await uidOf('told')) });
    stream.stop();
  });

  it('come in pages, and a watch goes on after a resourceVersion', async () => {
    for (const name of ['earlier', 'second']) {
      await withToken(name);
      await disable(name);
    }
    const { body } = await listed(await uidOf('second'));
    const page = await bench.ask('GET', `${path}?limit=1`, { key: agent });
    expect(page.body['metadata']?.['continue']).toBeTypeOf('string');
    await withToken('later');
    await disable('later');
    const version = String(body['metadata']?.['resourceVersion']);
    const stream = await bench.follow(`${path}?watch=1&resourceVersion=${version}`, agent);
    await until(() => stream.events.length > 0, 'the later revocation');
    stream.stop();
    expect(stream.events.map(({ object }) => object)).toEqual([named(await uidOf('later'))]);
  });

  it('show a sign of life every few seconds', async () => {
    const stream = await bench.follow(`${path}?${watchQuery}`, agent);
    const marks = () => stream.events.filter(({ type }) => String(type) === 'BOOKMARK');
    await until(() => marks().length === 1, 'the first bookmark');
    clock.fire(heartbeatMs);
    await until(() => marks().length === 2, 'the heartbeat');
    stream.stop();
  });

  it('end for a reader whose key no longer counts', async () => {
    const key = await bench.keyFor('agent-2', { user: 'admin', scope: { roles: [{ role: 'agent' }] } });
    const stream = await bench.follow(`${path}?${watchQuery}`, key);
    const tookMs = ownTime();
    await disable('agent-2');
    await stream.ended;
    expect(tookMs()).toBeLessThan(1_000);
  });

  it('are for administrators and agents, and nobody writes them', async () => {
    const narrow = await bench.keyFor('narrow', {
      user: 'admin',
      scope: { roles: [{ role: 'agent', projects: ['shop'] }] },
    });
    const alice = await bench.keyFor('alice', { user: 'alice' });
    const code = async (key: string | undefined) => (await bench.ask('GET', path, { key })).code;
    expect([await code(bench.admin), await code(agent), await code(narrow), await code(alice)]).toEqual([
      200, 200, 200, 403,
    ]);
    expect((await bench.ask('POST', path, { body: { metadata: { name: 'x' } } })).code).toBe(405);
    expect((await bench.ask('DELETE', `${path}/x`)).code).toBe(405);
  });
});

describe('revocations that the store does not take', () => {
  it('leave no list that looks complete, and are stored when the store takes them again', async () => {
    const wide = new VirtualClock('2026-01-01T00:00:00Z');
    const store = new MemoryStore({ clock: wide });
    await store.start();
    const state = { isFull: true, failures: 0 };
    const guarded: Pick<MemoryStore, 'list' | 'write'> = {
      list: (prefix) => store.list(prefix),
      write: async (key, change) => {
        if (state.isFull) throw new Error('no space left');
        return store.write(key, change);
      },
    };
    let lost = 0;
    const told = { failed: () => void state.failures++, lost: () => void lost++ };
    const revocations = new PublishedRevocations({ store: guarded, clock: wide, ...told });
    await revocations.start([]);
    expect(revocations.areComplete).toBe(true);
    revocations.put({ key: 'u', generation: 2, expiresMs: 0 });
    await until(() => !revocations.areComplete, 'the fault');
    revocations.tryAgain();
    await until(() => state.failures === 1, 'one report of the fault');
    // A watch that passed the question in the moment before must end too.
    await until(() => {
      revocations.tryAgain();
      return lost >= 3;
    }, 'the readers told again');
    expect(state.failures).toBe(1);
    state.isFull = false;
    await until(() => {
      revocations.tryAgain();
      return revocations.areComplete;
    }, 'the end of the fault');
    expect((await store.get('/registry/revocations/u')).record?.value).toContain('"generation":2');
    await store.stop();
  });
});

describe('revocations that the store neither takes nor refuses', () => {
  // Bookmarks went on, so endpoints went on to trust the list that lacked them.
  it('leave no list that looks complete after a few seconds, and one again when the disk moves on', async () => {
    const wide = new VirtualClock('2026-01-01T00:00:00Z');
    const store = new MemoryStore({ clock: wide });
    await store.start();
    let failures = 0;
    let moveOn = (): void => undefined;
    const stands = new Promise<void>((resolve) => {
      moveOn = resolve;
    });
    const standing: Pick<MemoryStore, 'list' | 'write'> = {
      list: (prefix) => store.list(prefix),
      write: (key, change) => stands.then(() => store.write(key, change)),
    };
    const told = { failed: () => void failures++, lost: () => undefined };
    const revocations = new PublishedRevocations({ store: standing, clock: wide, ...told });
    await revocations.start([]);
    revocations.put({ key: 'u', generation: 2, expiresMs: 0 });
    revocations.tryAgain();
    await wide.advance(4_900);
    revocations.tryAgain();
    expect([revocations.areComplete, failures]).toEqual([true, 0]);
    await wide.advance(200);
    revocations.tryAgain();
    revocations.tryAgain();
    expect([revocations.areComplete, failures]).toEqual([false, 1]);
    moveOn();
    await until(() => revocations.areComplete, 'the end of the fault');
    await store.stop();
  });
});

describe('more revocations than fit into the buffer of one reader', () => {
  it('reach their readers as a whole: those that there were, and those of one change', async () => {
    const count = 30_000;
    const wide = new VirtualClock('2026-01-01T00:00:00Z');
    const nowMs = () => wide.wallTime().getTime();
    const store = new MemoryStore({ clock: wide });
    await store.start();
    const line = { generation: 1, expiresMs: nowMs() + 3_600_000, view: 'dead: deleted' };
    const uids = Array.from({ length: count }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);
    const stored = uids.map((uid): [string, string] => [
      `tokens/${uid}`,
      JSON.stringify({ ...line, name: uid, hasRevoked: true }),
    ]);
    await store.writeSideValues(new Map(stored));
    let areGone = false;
    const facts = (uid: string) => ({ record: { uid }, isDeleted: true }) as KeyFacts;
    const world = { key: (name: string) => (areGone ? undefined : facts(name)) } as never;
    const failed = (error: unknown) => expect.unreachable(String(error));
    const revocations = new PublishedRevocations({ store, clock: wide, failed, lost: () => undefined });
    const ledger = new TokenLedger({ store, revocations, world, nowMs, failed });
    await ledger.start(false);
    const server = new ApiServer({
      serves: {
        ...{ kinds: [revocationKind(() => undefined)], schemas: managementSchemas, dialect: 'strict' as const },
        version: { major: '1', minor: '36', gitVersion: 'v1.36.3' },
      },
      store,
      clock: wide,
      log: silentLog,
      access: { authenticate: () => ({ name: 'x', groups: [] }), authorize: () => ({ allowed: true }) },
      listen: { host: '127.0.0.1', port: 0 },
    });
    const http = createServer((request, response) => server.handler(request, response));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as AddressInfo;
    const known = new Map<string, number>();
    const watch = new RevocationWatch({
      open: () =>
        new Promise((resolve, reject) => {
          const url = `/apis/management.platform/v1/revocations?${watchQuery}`;
          get({ host: '127.0.0.1', port, path: url, agent: false }, resolve).on('error', reject);
        }),
      taken: ({ key, generation }) => void known.set(key, generation),
      ...{ silenceMs: 30_000, clock: wide, log: silentLog },
    });
    watch.start();
    await until(() => watch.trouble === undefined, 'the first bookmark', 30_000);
    expect(known.size).toBe(count);
    areGone = true;
    ledger.reviewAll();
    await until(() => [...known.values()].every((generation) => generation > 1), 'all of the change', 30_000);
    await watch.stop();
    server.endWatches();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    await store.stop();
  }, 90_000);
});
