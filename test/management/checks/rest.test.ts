// Checks of namespaces, selectable fields, zero values, bookmarks, tables in watches, lost rights, managers and refusals by their
// numbers, over TLS. The clock is the test's own.
import { request } from 'node:https';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, type Body, keysPath, movedClock, openBench, people, until } from '../server/bench.ts';

const root = '/kubernetes/management';
const bookmarkIntervalMs = 60_000;
const clock = movedClock();
let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ clock, settings: { keys: { ...people.keys, perOwner: 1000 } } });
});
afterAll(() => bench.stop());

const create = (metadata: object, spec: object = { user: 'alice' }) =>
  bench.ask('POST', keysPath, { body: { metadata, spec } });
const merge = (name: string, body: object, manager: string) =>
  bench.ask('PATCH', `${keysPath}/${name}?fieldManager=${manager}`, { type: 'application/merge-patch+json', body });
const versionNow = async () => String((await bench.ask('GET', keysPath)).body['metadata']?.['resourceVersion']);

function managersOf(body: Body): { manager: string; time: string }[] {
  return (body['metadata']?.['managedFields'] ?? []) as unknown as { manager: string; time: string }[];
}

describe('objects', () => {
  it('a namespace in the body of a key is dropped, and another one than in the URL is 400', async () => {
    const { code, body } = await create({ name: 'with-namespace', namespace: 'p-shop' });
    expect([code, body['metadata']?.['namespace']]).toEqual([201, undefined]);
    const path = `${root}/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances/v1/kubeconfig`;
    expect(await bench.ask('POST', path, { body: { metadata: { namespace: 'p-bank' } } })).toMatchObject({
      code: 400,
      body: {
        reason: 'BadRequest',
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      },
    });
  });

  it('a namespace that cannot exist is 404', async () => {
    for (const namespace of ['UPPER', 'a_b', 'x'.repeat(64)])
      for (const method of ['GET', 'POST'])
        expect(
          await bench.ask(
            method,
            `${root}/apis/management.platform/v1/namespaces/${namespace}/virtualclusterinstances/v1${method === 'POST' ? '/kubeconfig' : ''}`,
            method === 'POST' ? { body: {} } : {},
          ),
        ).toMatchObject({ code: 404, body: { kind: 'Status', reason: 'NotFound' } });
  });

  it('user and team select, type and disabled are 400 that name the field', async () => {
    await create({ name: 'of-bob' }, { user: 'bob' });
    await create({ name: 'of-red' }, { team: 'red' });
    const select = (selector: string) => bench.ask('GET', `${keysPath}?fieldSelector=${encodeURIComponent(selector)}`);
    const names = async (selector: string) =>
      ((await select(selector)).body['items'] as unknown as { metadata: { name: string } }[]).map(
        ({ metadata }) => metadata.name,
      );
    expect(await names('spec.user=bob')).toEqual(['of-bob']);
    expect(await names('spec.team=red')).toEqual(['of-red']);
    expect(await names('spec.team!=,spec.user=')).toEqual(['of-red']);
    for (const field of ['spec.type', 'spec.disabled'])
      expect(await select(`${field}=x`)).toMatchObject({
        code: 400,
        body: { message: expect.stringMatching(`field label not supported: ${field}; want one of metadata.name, `) },
      });
  });

  // A typed API server leaves out what is empty: `hostNetwork: false` of a Pod comes back as nothing, and so do these. An applier
  // still owns the field, and nothing tells false from absent, so nothing is lost.
  it('false and empty values are left out of answers, as a typed API server does, and cause no change', async () => {
    const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['pods'] }] }] };
    const { body } = await create({ name: 'zeros' }, { user: 'alice', disabled: false, ttl: 0, scope });
    expect(body['spec']).not.toHaveProperty('disabled');
    expect(body['spec']?.['scope']).toEqual({ rules: [{ resources: [{ resources: ['pods'] }], verbs: ['get'] }] });
    const put = { ...body, spec: { user: 'alice', disabled: false, ttl: 0, scope } };
    const again = await bench.ask('PUT', `${keysPath}/zeros`, { body: put });
    expect([again.code, again.body['metadata']?.['resourceVersion']]).toEqual([
      200,
      body['metadata']?.['resourceVersion'],
    ]);
  });

  it('the time of a manager moves with its own fields, and not when somebody else takes one over', async () => {
    await create({ name: 'timed' });
    const timeOf = async (manager: string) =>
      managersOf((await bench.ask('GET', `${keysPath}/timed`)).body).find((entry) => entry.manager === manager)?.time;
    await merge('timed', { metadata: { annotations: { a: '1', b: '1' } } }, 'one');
    const first = await timeOf('one');
    clock.moveSeconds(10);
    await merge('timed', { metadata: { annotations: { b: '2' } } }, 'other');
    expect(await timeOf('one')).toBe(first);
    clock.moveSeconds(10);
    await merge('timed', { metadata: { annotations: { a: '2' } } }, 'one');
    const changed = await timeOf('one');
    expect(Date.parse(String(changed)) - Date.parse(String(first))).toBeGreaterThanOrEqual(20_000);
    clock.moveSeconds(10);
    await merge('timed', { metadata: { annotations: { a: null } } }, 'one');
    expect([undefined, changed]).not.toContain(await timeOf('other'));
    expect(await timeOf('one')).not.toBe(changed);
  });

  it('a precondition that does not hold is 409 that names both values', async () => {
    const { body } = await create({ name: 'held' });
    const { uid, resourceVersion } = body['metadata'] as unknown as { uid: string; resourceVersion: string };
    for (const [preconditions, values] of [
      [{ uid: 'other' }, ['other', uid]],
      [{ resourceVersion: '1' }, ['1', resourceVersion]],
    ] as const) {
      const refused = await bench.ask('DELETE', `${keysPath}/held`, { body: { preconditions } });
      expect([refused.code, refused.body['reason']]).toEqual([409, 'Conflict']);
      for (const value of values) expect(String(refused.body['message'])).toContain(value);
    }
  });

  it('an object over 32 KiB is 413 that names the limit', async () => {
    const claims = { user: 'alice', identity: { extraClaims: { a: 'x'.repeat(40_000) } } };
    const refused = await create({ name: 'too-big' }, claims);
    expect(refused).toMatchObject({
      code: 413,
      body: { kind: 'Status', reason: 'RequestEntityTooLarge', message: expect.stringContaining('32768') },
    });
  });

  it('the new key authenticates at once', async () => {
    for (let count = 0; count < 20; count++) {
      const { body } = await create({ generateName: 'at-once-' });
      const key = String(body['spec']?.['key']);
      expect((await bench.ask('GET', `${keysPath}/${body['metadata']?.['name']}`, { key })).code).toBe(200);
    }
  });
});

describe('watches', () => {
  it('a bookmark about once a minute, and none for a client that did not ask', async () => {
    const version = await versionNow();
    const query = `watch=true&labelSelector=nothing%3Dhas-it&resourceVersion=${version}`;
    const asked = await bench.follow(`${keysPath}?${query}&allowWatchBookmarks=true`, bench.admin);
    const silent = await bench.follow(`${keysPath}?${query}`, bench.admin);
    await until(() => clock.waitingFor(bookmarkIntervalMs) > 0, 'the timer of the bookmark');
    await create({ generateName: 'moves-on-' });
    clock.fire(bookmarkIntervalMs);
    await until(() => asked.events.length > 0, 'the bookmark');
    expect(asked.events).toEqual([
      {
        type: 'BOOKMARK',
        object: {
          kind: 'OwnedAccessKey',
          apiVersion: 'management.platform/v1',
          metadata: expect.objectContaining({ resourceVersion: await versionNow() }),
        },
      },
    ]);
    expect(silent.events).toEqual([]);
    asked.stop();
    silent.stop();
  });

  it.each(['v1', 'v1beta1'])('as a Table of %s the first event has the columns, later ones do not', async (version) => {
    const path = `${keysPath}?watch=true&resourceVersion=${await versionNow()}`;
    const accept = `application/json;as=Table;g=meta.k8s.io;v=${version}`;
    const events = await tableEvents(path, accept, 2, async () => {
      await create({ generateName: 'in-a-table-' });
      await create({ generateName: 'in-a-table-' });
    });
    const [first, second] = events.map((event) => event['object'] as Body);
    expect(first).toMatchObject({ kind: 'Table', apiVersion: `meta.k8s.io/${version}` });
    expect(first?.['columnDefinitions']).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'Owner' })]));
    expect(second?.['columnDefinitions']).toBeNull();
    expect(first?.['rows']).toMatchObject([
      { object: { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}` } },
    ]);
  });

  const deaths = [
    ['is disabled', (name: string) => merge(name, { spec: { disabled: true } }, 'test')],
    ['is deleted', (name: string) => bench.ask('DELETE', `${keysPath}/${name}`)],
    ['expires', async () => clock.moveSeconds(120)],
    ['loses its user', () => bench.api.apply({ ...people, users: people.users.filter(({ name }) => name !== 'bob') })],
  ] as const;

  it.each(deaths)('a watch ends within seconds when its key %s', async (_, end) => {
    const { body } = await create({ generateName: 'watches-' }, { user: 'bob', ttl: 100 });
    const name = String(body['metadata']?.['name']);
    const watch = await bench.follow(`${keysPath}?watch=true`, String(body['spec']?.['key']));
    await until(() => watch.events.length > 0, 'the first event');
    await end(name);
    const ended = await Promise.race([watch.ended.then(() => true), new Promise((run) => setTimeout(run, 5_000))]);
    expect(ended).toBe(true);
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 401 } });
  });
});

describe('refusals', () => {
  it('whatever goes wrong, the answer is a Status', async () => {
    for (const [method, path, how] of [
      ['GET', '/', {}],
      ['GET', `${root}/nothing`, {}],
      ['GET', `${root}/livez/nothing`, {}],
      ['GET', `${root}/openapi/v3/nothing`, {}],
      ['GET', `${root}/apis/nothing`, {}],
      ['POST', `${root}/version`, {}],
      ['GET', keysPath, { key: 'wrong' }],
      ['PUT', keysPath, { body: {} }],
      ['GET', keysPath, { headers: { accept: 'text/html' } }],
      ['GET', keysPath, { headers: { 'x-big': 'x'.repeat(17_000) } }],
    ] as const) {
      const { code, body } = await bench.ask(method, path, how);
      expect([method, path, code >= 400, body]).toMatchObject([method, path, true, { kind: 'Status', code }]);
    }
    expect(await saidTo('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*"kind":"Status"/);
  });
});

function tableEvents(path: string, accept: string, wanted: number, act: () => Promise<void>): Promise<Body[]> {
  const { port, caPem: ca } = bench.api;
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bench.admin}`, accept };
    const asked = request({ host: '127.0.0.1', port, ca, path, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        const lines = text.split('\n').slice(0, -1);
        if (lines.length < wanted) return;
        resolve(lines.map((line) => JSON.parse(line) as Body));
        response.destroy();
      });
      act().catch(reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}

function saidTo(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port: bench.api.port, ca: bench.api.caPem }, () => socket.write(bytes));
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}
