import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Bench, keysPath, openBench } from '../bench.ts';

const resources = [{ group: 'management.platform', resources: ['ownedaccesskeys'] }];
const scopes = {
  'alice-none': {},
  'alice-reader': { rules: [{ verbs: ['get', 'list', 'watch'], resources, resourceNames: ['alice-1', 'bob-1'] }] },
  'alice-maker': { rules: [{ verbs: ['create'], resources }] },
  'alice-wiper': { rules: [{ verbs: ['deletecollection'], resources }] },
};

let bench: Bench;
const values = new Map<string, string>();
beforeAll(async () => {
  bench = await openBench();
  await bench.keyFor('alice-1', { user: 'alice' });
  await bench.keyFor('bob-1', { user: 'bob' });
  for (const [name, scope] of Object.entries(scopes))
    values.set(name, await bench.keyFor(name, { user: 'alice', scope }));
});
afterAll(() => bench.stop());

function ask(by: keyof typeof scopes, method: string, below = '', body?: object): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return bench.ask(method, keysPath + below, { key: values.get(by), type, body });
}

function namesIn({ body }: Answer): string[] {
  const items = body['items'] as unknown as { metadata: { name: string } }[];
  return items.map(({ metadata }) => metadata.name);
}

const selecting = (name: string) => `?fieldSelector=metadata.name%3D${name}`;

/** Code and words of the answer, with the name taken out. */
async function answerTo(by: keyof typeof scopes, method: string, name: string, below = `/${name}`) {
  const bodies: Record<string, object> = { PUT: { metadata: { name }, spec: { user: 'alice' } }, PATCH: {}, POST: {} };
  const { code, text } = await ask(by, method, below, bodies[method]);
  return { code, text: text.replaceAll(name, 'NAME') };
}

describe('a key with a scope', () => {
  it('lists only itself when the scope has no entries', async () => {
    expect(namesIn(await ask('alice-none', 'GET', selecting('alice-none')))).toEqual(['alice-none']);
    // Any other list is no request on a key that could be absent: the base grant does not have it.
    const absent = await answerTo('alice-none', 'GET', 'absent-1', selecting('absent-1'));
    expect(absent).toMatchObject({ code: 403 });
    expect(await answerTo('alice-none', 'GET', 'alice-1', selecting('alice-1'))).toEqual(absent);
    expect(await ask('alice-none', 'GET')).toMatchObject({ code: 403 });
    expect(await ask('alice-none', 'GET', '/alice-none')).toMatchObject({ code: 200 });
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])(
    'gets one 404 from %s for every key that it cannot see',
    async (method) => {
      const absent = await answerTo('alice-none', method, 'absent-1');
      expect(absent).toMatchObject({ code: 404 });
      expect(absent.text).toContain('ownedaccesskeys.management.platform \\"NAME\\" not found');
      expect(await answerTo('alice-none', method, 'alice-1')).toEqual(absent);
      expect(await answerTo('alice-none', method, 'bob-1')).toEqual(absent);
      expect(await answerTo('alice-none', 'POST', 'alice-1', '/alice-1/rotate')).toEqual(absent);
      expect(await ask('alice-none', 'POST', '/alice-none/rotate', {})).toMatchObject({ code: 403 });
    },
  );

  it('sees the keys of its subject that a rule names, and is told what it may not do with them', async () => {
    expect(namesIn(await ask('alice-reader', 'GET', selecting('alice-1')))).toEqual(['alice-1']);
    expect(await ask('alice-reader', 'GET', '/alice-1')).toMatchObject({ code: 200 });
    expect(await ask('alice-reader', 'DELETE', '/alice-1')).toMatchObject({ code: 403 });
    const absent = await answerTo('alice-reader', 'DELETE', 'absent-1');
    expect(namesIn(await ask('alice-reader', 'GET', selecting('bob-1')))).toEqual([]);
    expect(await answerTo('alice-reader', 'DELETE', 'bob-1')).toEqual(absent);
    expect(await answerTo('alice-reader', 'DELETE', 'alice-none')).toEqual(absent);
  });

  it('is told that a name is taken, whether or not it sees the key', async () => {
    for (const name of ['alice-1', 'bob-1'])
      expect(await ask('alice-maker', 'POST', '', { metadata: { name }, spec: { scope: {} } })).toMatchObject({
        code: 409,
        body: { reason: 'AlreadyExists' },
      });
  });

  it('deletes only itself with the collection when no rule names other keys', async () => {
    expect(await ask('alice-wiper', 'DELETE')).toMatchObject({ code: 200 });
    const names = namesIn(await bench.ask('GET', keysPath));
    expect(names).toEqual(expect.arrayContaining(['alice-1', 'alice-maker', 'alice-none', 'alice-reader', 'bob-1']));
    expect(names).not.toContain('alice-wiper');
  });
});
