import { describe, expect, test } from 'vitest';
import { settle } from '../../virtual-clock.ts';
import { sendJson, sendStatus } from '../scripted-server.ts';
import { passing, projectTestItem, until } from '../subject.ts';
import { changes, clock, defects, metrics, open, server, setUp, synced, window } from './reflector/stage.ts';

const intervalMs = 60_000;
const standsMs = 5_000;
/** A request that the virtual clock does not see. */
const slackMs = 500;

const proofs = { proofIntervalMs: intervalMs };
setUp(proofs, ['a', 'b', 'c']);

/** The server changes, and the event is lost on its way. */
function lose(change: () => void): void {
  const { emit } = server;
  server.emit = () => undefined;
  change();
  server.emit = emit;
}

async function missed(type: string): Promise<number> {
  const text = await metrics.metrics();
  const line = text.split('\n').find((one) => one.startsWith('hostward_watch_missed') && one.includes(`"${type}"`));
  return Number(line?.split(' ').at(-1));
}

const proven = (afterMs = 0) => passing(clock, () => (window.proof.provenAtMs ?? -1) >= afterMs, { stepMs: 250 });

describe('a lost event is mended within the interval and five seconds, and reported', () => {
  test.each([
    {
      type: 'MODIFIED',
      change: () => void server.put('b', { value: 2 }),
      isMended: () => window.get('default/b')?.value === 2,
      told: { key: 'default/b', kind: 'set', origin: 'watch' },
    },
    {
      type: 'ADDED',
      change: () => void server.put('new', { value: 2 }),
      isMended: () => window.get('default/new')?.value === 2,
      told: { key: 'default/new', kind: 'set', origin: 'watch' },
    },
    {
      type: 'DELETED',
      change: () => server.remove('b'),
      isMended: () => !window.has('default/b'),
      told: { key: 'default/b', kind: 'removed', origin: 'watch' },
    },
  ])('$type', async ({ type, change, isMended, told }) => {
    await synced();
    // The worst moment: just after a list of heads began.
    await proven(1);
    lose(change);
    const tookMs = await passing(clock, isMended, { stepMs: 250, limitMs: 2 * intervalMs });
    expect(tookMs).toBeLessThanOrEqual(intervalMs + standsMs + slackMs);
    expect(tookMs).toBeGreaterThanOrEqual(standsMs);
    expect(changes).toEqual([told]);
    expect(window.proof.missed).toBe(1);
    expect(await missed(type)).toBe(1);
    expect(defects).toEqual([
      expect.objectContaining({ cluster: 'virtual', resource: 'endpoints', key: told.key, missed: type }),
    ]);
    // The object, and not another list of all objects.
    expect(server.count('list')).toBe(1);
  });

  test('the last object, whose server then has an empty list', async () => {
    await synced();
    for (const name of ['a', 'b']) server.remove(name);
    await until(() => window.size === 1);
    lose(() => server.remove('c'));
    await passing(clock, () => window.size === 0, { stepMs: 250, limitMs: 2 * intervalMs });
    expect(window.proof.missed).toBe(1);
    await proven(clock.now());
  });

  test('an object that was made again under its name', async () => {
    await synced();
    lose(() => {
      server.remove('b');
      server.put('b', { value: 3 });
    });
    await passing(clock, () => window.get('default/b')?.value === 3, { stepMs: 250, limitMs: 2 * intervalMs });
    expect(changes).toEqual([{ key: 'default/b', kind: 'set', origin: 'watch' }]);
  });
});

test('the end of an object that no watch of these selectors can show is no lost event', async () => {
  await window.stop();
  open({ ...proofs, labelSelector: 'of=me' });
  await synced();
  lose(() => window.remember(server.put('theirs', { value: 1 })));
  lose(() => server.remove('theirs'));
  expect(window.has('default/theirs')).toBe(true);
  await passing(clock, () => !window.has('default/theirs'), { stepMs: 250, limitMs: 2 * intervalMs });
  expect(changes).toEqual([{ key: 'default/theirs', kind: 'removed', origin: 'watch' }]);
  expect([window.proof.missed, defects]).toEqual([0, []]);
});

test('each object is proven once an interval, and a change takes its proof away', async () => {
  await synced();
  expect(window.provenMs('default/a')).toBeUndefined();
  await proven();
  const firstMs = window.provenMs('default/a') as number;
  expect(firstMs).toBe(window.proof.provenAtMs);
  server.put('a', { value: 2 });
  await until(() => window.get('default/a')?.value === 2);
  expect(window.provenMs('default/a')).toBeUndefined();
  expect(window.provenMs('default/b')).toBe(firstMs);
  await proven(firstMs + 1);
  expect((window.provenMs('default/a') as number) - firstMs).toBeLessThanOrEqual(intervalMs);
  expect(window.proof.missed).toBe(0);
});

test('the heads are read in pages, consistently, spread over a part of the interval, and as metadata alone', async () => {
  for (let n = 0; n < 1_200; n++) server.put(`many-${n}`);
  await synced();
  const before = server.seen.length;
  await proven();
  const pages = server.seen.slice(before).filter(({ sort }) => sort === 'heads');
  expect(pages).toHaveLength(3);
  for (const { url, headers } of pages) {
    expect(url.searchParams.has('resourceVersion')).toBe(false);
    expect(headers.accept).toContain('as=PartialObjectMetadataList');
  }
  expect(clock.now() - (window.proof.provenAtMs as number)).toBeGreaterThan(intervalMs / 10);
  expect(window.proof.missed).toBe(0);
});

test.each([
  ['as was expected', 60],
  ['and half as many more', 90],
])('a server that gives small pages is read in the same time: objects %s', async (_, objects) => {
  for (let n = 0; n < 57; n++) server.put(`many-${n}`);
  await synced();
  for (let n = 60; n < objects; n++) lose(() => server.put(`many-${n}`));
  server.pageItems = 5;
  const before = server.seen.length;
  await proven();
  const pages = server.seen.slice(before).filter(({ sort }) => sort === 'heads');
  expect(pages).toHaveLength(objects / 5);
  const tookMs = clock.now() - (window.proof.provenAtMs as number);
  expect(tookMs).toBeGreaterThan(intervalMs / 10);
  expect(tookMs).toBeLessThanOrEqual(intervalMs / 5 + slackMs);
});

test('a cluster that was set back and has used its numbers again is listed again', async () => {
  await synced();
  const before = structuredClone(server.objects.get('default/a') as never);
  server.put('a', { value: 2 });
  await until(() => window.get('default/a' as never)?.value === 2, 'the change');
  // The change is gone, and another write has its number, so no watch and no list looks older than what is known.
  lose(() => {
    server.objects.set('default/a', before);
    server.put('d', { value: 1 });
  });
  await passing(clock, () => window.get('default/a' as never)?.value === 1, { stepMs: 250 });
  expect(clock.now()).toBeLessThanOrEqual(intervalMs + standsMs + slackMs);
  expect(window.get('default/d' as never)?.value).toBe(1);
});

test('a cluster that was set back and has given the number of a removed object to another one is listed again', async () => {
  await synced();
  const { resourceVersion } = window.get('default/a' as never) as { resourceVersion: string };
  // The write of `a` is gone with its object, which an answer to an own write shows, and another `a` has its number.
  lose(() => {
    const before = structuredClone(server.objects.get('default/a')) as unknown as { metadata: object };
    server.objects.set('default/a', { ...before, metadata: { ...before.metadata, uid: 'another' } } as never);
  });
  window.forget('default/a' as never, resourceVersion);
  expect(window.get('default/a' as never)).toBeUndefined();
  await passing(clock, () => window.get('default/a' as never)?.uid === 'another', { stepMs: 250 });
  expect(clock.now()).toBeLessThanOrEqual(intervalMs + standsMs + slackMs);
});

test('an object of ours that a restore has brought back is shown again', async () => {
  await synced();
  const before = structuredClone(server.objects.get('default/a') as never);
  const { resourceVersion } = window.get('default/a' as never) as { resourceVersion: string };
  server.remove('a');
  await until(() => !window.has('default/a'), 'the event, which is here before the answer to our delete');
  window.forget('default/a' as never, resourceVersion);
  // The delete is gone, and another write has its number, so no watch and no list looks older than what is known.
  lose(() => {
    server.objects.set('default/a', before);
    server.put('d', { value: 1 });
  });
  await passing(clock, () => window.has('default/a'), { stepMs: 250, limitMs: 2 * intervalMs });
  expect(clock.now()).toBeLessThanOrEqual(intervalMs + standsMs + slackMs);
});

test('an object of ours that a restore has undone is gone, where no event has told of it before', async () => {
  await synced();
  const own = structuredClone(server.objects.get('default/a')) as unknown as { metadata: object };
  const resourceVersion = String(server.rv + 1);
  window.remember({ ...own, metadata: { ...own.metadata, name: 'ours', resourceVersion } } as never);
  expect(window.has('default/ours')).toBe(true);
  await passing(clock, () => !window.has('default/ours'), { stepMs: 250, limitMs: 2 * intervalMs });
  expect(clock.now()).toBeLessThanOrEqual(intervalMs + standsMs + slackMs);
});

describe('no false alarm', () => {
  test('amid changes of every kind while the pages are read', async () => {
    for (let n = 0; n < 1_200; n++) server.put(`many-${String(n).padStart(4, '0')}`, { value: 0 });
    await synced();
    let n = 0;
    const churn = () => {
      n++;
      const name = `many-${String((n * 37) % 1_200).padStart(4, '0')}`;
      if (n % 3 === 0) server.remove(name);
      else server.put(name, { value: n });
    };
    const untilMs = clock.now() + 2 * intervalMs;
    // 80 changes a second: each object changes some eight times.
    while (clock.now() < untilMs) {
      for (let each = 0; each < 20; each++) churn();
      await settle(4);
      await clock.advance(250);
    }
    await proven(clock.now() - intervalMs);
    await clock.advance(standsMs);
    await settle(12);
    expect(window.proof.missed).toBe(0);
    expect(defects).toEqual([]);
    expect(window.size).toBe(server.objects.size);
    for (const [key, object] of server.objects) expect(window.get(key)?.value).toBe(object['value']);
  }, 60_000);

  test('an event that comes four seconds late was not missed', async () => {
    await synced();
    await proven(1);
    lose(() => void server.put('b', { value: 2 }));
    const seenBefore = server.seen.length;
    await passing(clock, () => server.seen.slice(seenBefore).some(({ sort }) => sort === 'heads'), { stepMs: 250 });
    await clock.advance(standsMs - 1_000);
    server.emit('MODIFIED', server.objects.get('default/b') as never);
    await until(() => window.get('default/b')?.value === 2);
    await clock.advance(2 * intervalMs);
    expect(window.proof.missed).toBe(0);
  });

  test('a list that is wrong about an object is not believed: the server is asked for the object', async () => {
    await synced();
    const { objects } = server;
    server.script('heads', ({ response }) => {
      const all = [...objects.values()];
      const items = all.slice(1).map((one) => ({ ...one, metadata: { ...one.metadata, uid: 'another' } }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ kind: 'EndpointsList', metadata: { resourceVersion: String(server.rv) }, items }));
    });
    await proven();
    await clock.advance(2 * standsMs);
    await settle(12);
    expect(changes).toEqual([]);
    expect(window.size).toBe(3);
    expect(window.proof.missed).toBe(0);
  });

  test('objects that the window hides are asked for once', async () => {
    await window.stop();
    open({ ...proofs, project: (object) => (object.metadata.name === 'hidden' ? undefined : projectTestItem(object)) });
    server.put('hidden');
    await synced();
    await proven();
    await clock.advance(3 * intervalMs);
    await settle(12);
    const asked = server.seen.filter(({ url }) => url.searchParams.get('fieldSelector') === 'metadata.name=hidden');
    expect(asked).toHaveLength(1);
    expect(window.proof.missed).toBe(0);
  });

  test('objects of namespaces that the window hides are never asked for', async () => {
    await window.stop();
    const shows = (namespace: string): boolean => namespace === 'default';
    open({
      ...proofs,
      showsNamespace: shows,
      project: (object) => (shows(object.metadata.namespace ?? '') ? projectTestItem(object) : undefined),
    });
    server.put('x', {}, 'foreign');
    await synced();
    await proven();
    await clock.advance(2 * intervalMs);
    expect(server.seen.filter(({ url }) => url.searchParams.has('fieldSelector'))).toEqual([]);
  });
});

test('more than fifty missed changes are mended by a list', async () => {
  for (let n = 0; n < 80; n++) server.put(`many-${n}`, { value: 0 });
  await synced();
  lose(() => {
    for (let n = 0; n < 80; n++) server.put(`many-${n}`, { value: 1 });
  });
  await passing(clock, () => [...window.keys()].every((key) => window.get(key)?.value === 1), { stepMs: 250 });
  expect(window.proof.missed).toBe(50);
  expect(server.count('list')).toBe(2);
});

test('a refused, expired or broken proof changes nothing, and the next one is tried', async () => {
  await synced();
  server.script('heads', ({ response }) => sendStatus(response, 403, 'Forbidden', 'no'));
  server.script('heads', ({ response }) => sendStatus(response, 410, 'Expired', 'old'));
  server.script('heads', ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"kind":"EndpointsList","metadata":{"resourceVersion":"2000"},"items":[{"meta');
  });
  await proven();
  expect(changes).toEqual([]);
  const text = await metrics.metrics();
  for (const outcome of ['failed', 'expired', 'fault', 'read'])
    expect(text).toMatch(new RegExp(`hostward_proofs_total\\{.*outcome="${outcome}"\\} 1`));
});

test('a list without an end is given up after ten minutes', async () => {
  await synced();
  let page = 0;
  const goOn: Parameters<typeof server.script>[1] = ({ response }) => {
    if (clock.now() < 10.5 * 60_000) server.script('heads', goOn);
    response.writeHead(200, { 'content-type': 'application/json' });
    const metadata = { resourceVersion: String(server.rv), continue: JSON.stringify([page++, 0]) };
    response.end(JSON.stringify({ kind: 'EndpointsList', metadata, items: [] }));
  };
  server.script('heads', goOn);
  await passing(clock, () => window.proof.provenAtMs !== undefined, { stepMs: 3000, limitMs: 15 * 60_000 });
  expect(await metrics.metrics()).toMatch(/hostward_proofs_total\{.*outcome="fault"\} 1/);
  expect(changes).toEqual([]);
});

test('a list that is older than the watch is no proof, and the reflector looks into it', async () => {
  await synced();
  server.put('a', { value: 5 });
  await until(() => window.get('default/a')?.value === 5);
  const listsBefore = server.count('list');
  server.script('heads', ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"kind":"EndpointsList","apiVersion":"v1","metadata":{"resourceVersion":"900"},"items":[]}');
  });
  await passing(clock, () => server.count('list') >= listsBefore + 1, { stepMs: 250 });
  await settle(12);
  expect(window.size).toBe(3);
  expect(changes.filter(({ kind }) => kind === 'removed')).toEqual([]);
});

test.each([
  { name: 'of Pods', list: { kind: 'PodList', apiVersion: 'v1', items: [] } },
  { name: 'of another version', list: { kind: 'PartialObjectMetadataList', apiVersion: 'v1', items: [] } },
  { name: 'without items', list: { kind: 'EndpointsList', apiVersion: 'v1' } },
  { name: 'with items that are null', list: { kind: 'EndpointsList', apiVersion: 'v1', items: null } },
])('a list of heads $name proves nothing, and no object is suspected', async ({ list }) => {
  await synced();
  const body = { ...list, metadata: { resourceVersion: String(server.rv) } };
  server.script('heads', ({ response }) => sendJson(response, 200, body));
  await passing(clock, () => server.count('heads') === 1, { stepMs: 250 });
  await clock.advance(3 * standsMs);
  expect(server.seen.filter(({ url }) => url.searchParams.has('fieldSelector'))).toEqual([]);
  expect([window.size, window.proof.provenAtMs]).toEqual([3, undefined]);
  expect(await metrics.metrics()).toContain(
    'hostward_proofs_total{cluster="virtual",resource="endpoints",outcome="fault"} 1',
  );
});

test('a list of heads that lacks many objects is judged by a whole list, not object by object', async () => {
  for (let at = 0; at < 20; at++) server.put(`o${at}`);
  await synced();
  lose(() => {
    for (let at = 0; at < 20; at++) server.remove(`o${at}`);
  });
  await passing(clock, () => window.size === 3, { stepMs: 250, limitMs: 2 * intervalMs });
  expect(changes.map(({ origin }) => origin)).toEqual(Array(20).fill('list'));
  expect(server.seen.filter(({ url }) => url.searchParams.has('fieldSelector'))).toEqual([]);
});

test('what was lost before the last list of heads does not count with what is lost now', async () => {
  for (let at = 0; at < 20; at++) server.put(`o${at}`);
  await synced();
  for (const from of [0, 2, 4]) {
    lose(() => {
      for (let at = from; at < from + 2; at++) server.remove(`o${at}`);
    });
    const left = 23 - from - 2;
    await passing(clock, () => window.size === left, { stepMs: 250, limitMs: 2 * intervalMs });
    await proven(clock.now());
  }
  // Each time few enough to ask for them by name.
  expect(changes.map(({ origin }) => origin)).toEqual(Array(6).fill('watch'));
  expect(server.count('list')).toBe(1);
});

test('a single list of another kind proves no loss', async () => {
  await synced();
  lose(() => server.remove('b'));
  const pods = { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: String(server.rv) }, items: [] };
  await passing(clock, () => server.count('heads') === 1, { stepMs: 250 });
  server.script('list', ({ response }) => sendJson(response, 200, pods));
  // A silent watch would ask for a list by itself.
  server.bookmark();
  await settle(12);
  await clock.advance(3 * standsMs);
  expect(window.has('default/b')).toBe(true);
  await passing(clock, () => !window.has('default/b'), { stepMs: 250, limitMs: 2 * intervalMs });
});

test('with the interval 0 nothing is proven and nothing is asked', async () => {
  await window.stop();
  open({ proofIntervalMs: 0 });
  await synced();
  await clock.advance(4 * intervalMs);
  expect(server.count('heads')).toBe(0);
  expect(window.proof).toEqual({ provenAtMs: undefined, missed: 0 });
});
