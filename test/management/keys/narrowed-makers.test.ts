// An open stream ends when somebody narrows a key whose scope counts for it: the key itself, a key that made it, or the key that asked
// for its kubeconfig.
import type { ServerResponse } from 'node:http';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Behind, openBehind, people, placesAt } from '../proxy/upstream.ts';
import { keysPath, movedClock, type Stream, until } from '../server/bench.ts';

const management = '/kubernetes/management/apis/management.platform/v1';
const instances = `${management}/namespaces/p-shop/virtualclusterinstances`;
const pods = 'api/v1/namespaces/shop-s1/pods?watch=true';
const watches = [
  `/kubernetes/project/shop/space/s1/${pods}`,
  `/kubernetes/project/shop/virtualcluster/v1/${pods}`,
  `${instances}?watch=true&allowWatchBookmarks=true`,
];
const [lookMs, bookmarkMs] = [400, 60_000];
const event = '{"type":"ADDED","object":{}}\n';
const makesKeys = { verbs: ['create'], resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] };
const shop = { projects: [{ project: 'shop' }] };
const maker = { ...shop, rules: [makesKeys] };
const narrow = { spec: { scope: { projects: null, rules: [{ verbs: ['get'] }] } } };

const clock = movedClock();
let behind: Behind;
/** Of the cluster behind the proxy, those that are open. */
const answers = new Set<ServerResponse>();
beforeAll(async () => {
  behind = await openBehind({ clock });
  const settings = structuredClone({ ...people, ...placesAt(behind.kubeconfigPath) });
  Object.assign(settings.projects[0]?.virtualClusters[0] ?? {}, {
    ingress: { server: 'https://v1.example.com', servedBy: 'virtualCluster' },
  });
  await behind.bench.api.apply(settings);
  behind.answerWith((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(event);
    answers.add(response);
    response.once('close', () => answers.delete(response));
  });
});
afterAll(() => behind.stop());

async function made(by: string, name: string, scope: object): Promise<string> {
  const { body, text } = await behind.bench.ask('POST', keysPath, {
    key: by,
    body: { metadata: { name }, spec: { scope } },
  });
  return String(body['spec']?.['key'] ?? text);
}

async function kubeconfigKey(by: string): Promise<string> {
  const body = {
    apiVersion: 'management.platform/v1',
    kind: 'VirtualClusterInstanceKubeConfig',
    metadata: {},
    spec: {},
  };
  const made = await behind.bench.ask('POST', `${instances}/v1/kubeconfig`, { key: by, body });
  const { users } = load(String(made.body['status']?.['kubeConfig'] ?? made.text)) as Config;
  return users[0].user.token;
}

const patched = (name: string, body: object) =>
  behind.bench.ask('PATCH', `${keysPath}/${name}`, { type: 'application/merge-patch+json', body });

interface Config {
  users: [{ user: { token: string } }];
}

interface Watch {
  path: string;
  stream: Stream;
  isEnded: boolean;
}

async function opened(paths: readonly string[], key: string): Promise<Watch[]> {
  const all: Watch[] = [];
  for (const path of paths) {
    const watch: Watch = { path, stream: await behind.bench.follow(path, key), isEnded: false };
    void watch.stream.ended.then(() => {
      watch.isEnded = true;
    });
    await until(() => watch.stream.events.length > 0, `the first event of ${path}`);
    all.push(watch);
  }
  return all;
}

/** The server looks at every open stream; what it ends gets nothing more. */
function expectLooks(): void {
  expect(clock.waitingFor(lookMs)).toBeGreaterThan(0);
  clock.fire(lookMs);
}

/** A change of the key `named` that narrows nothing ends no stream, and one that narrows ends all of them. */
async function expectEnds(all: readonly Watch[], named: string): Promise<void> {
  expect(await patched(named, { metadata: { labels: { changed: 'yes' } } })).toMatchObject({ code: 200 });
  expectLooks();
  const before = all.map(({ stream }) => stream.events.length);
  for (const answer of answers) answer.write(event);
  clock.fire(bookmarkMs);
  await until(
    () => all.every(({ stream }, at) => stream.events.length > (before[at] ?? 0)),
    'an event of every stream',
  );
  expect(all.filter(({ isEnded }) => isEnded)).toEqual([]);
  expect(await patched(named, narrow)).toMatchObject({ code: 200 });
  await until(() => all.every(({ isEnded }) => isEnded), 'the end of every stream');
}

describe('the streams of a key end when', () => {
  it('the key itself is narrowed', async () => {
    const key = await behind.bench.keyFor('own', { user: 'alice', scope: maker });
    await expectEnds(await opened(watches, key), 'own');
  });

  it('the key that made it is narrowed', async () => {
    const parent = await behind.bench.keyFor('parent', { user: 'alice', scope: maker });
    await expectEnds(await opened(watches, await made(parent, 'child', shop)), 'parent');
  });

  it('the key that made its maker is narrowed', async () => {
    const first = await behind.bench.keyFor('first', { user: 'alice', scope: maker });
    const second = await made(first, 'second', maker);
    await expectEnds(await opened(watches, await made(second, 'third', shop)), 'first');
  });

  it('a key of a kubeconfig: the key that asked for it is narrowed, with a scope before and without one (at length)', async () => {
    for (const [name, scope] of [
      ['asks', shop],
      ['asks-all', undefined],
    ] as const) {
      const key = await behind.bench.keyFor(name, { user: 'alice', ...(scope === undefined ? {} : { scope }) });
      await expectEnds(await opened([watches[1] as string], await kubeconfigKey(key)), name);
    }
  });
});
