import { describe, expect, it } from 'vitest';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { gadgetKind, gadgets, openGadgets, specOf } from '../shop/gadgets.ts';
import { endsWithTest } from '../shop/shop-of-test.ts';
import { Lines, type Shop } from '../shop/widgets.ts';

/** Only the answer to the create shows the secret; later answers have no `spec.secret`. */
const secretKind: Kind = {
  ...gadgetKind,
  columns: [
    { name: 'Name', type: 'string', priority: 0, cell: (object) => object.metadata.name ?? '' },
    { name: 'Secret', type: 'string', priority: 0, cell: (object) => String(specOf(object)['secret'] ?? 'unseen') },
  ],
  subresources: { part: { mode: 'part', writes: ['spec'], verbs: ['get', 'patch', 'update'] } },
  selectableFields: { 'spec.secret': (object) => String(specOf(object)['secret'] ?? '') },
  strategy: {
    ...gadgetKind.strategy,
    deletion: { returnsObject: true },
    hidden: {
      present(object: KubeObject) {
        const { secret: _secret, ...spec } = specOf(object);
        return { ...object, spec };
      },
      once: ({ object }) => ({ object }),
      restore(object, from) {
        const { secret } = specOf(from);
        if (secret !== undefined) object['spec'] = { secret, ...specOf(object) };
      },
    },
    validate: ({ object, old }) =>
      old !== undefined && specOf(object)['secret'] !== specOf(old)['secret']
        ? [{ type: 'FieldValueForbidden', path: 'spec.secret', message: 'Forbidden: may not be changed' }]
        : [],
  },
};

const secret = 'hunter2-never-shown';

/** A shop with one gadget `a`, created by server-side apply as manager `maker`, or by POST. */
async function start(how: 'post' | 'apply' = 'post'): Promise<Shop> {
  const shop = endsWithTest(await openGadgets({}, secretKind));
  const made = how === 'post' ? await shop.call('POST', gadgets, body()) : await apply(shop, 'maker', body());
  expect([made.status, made.json['spec']]).toEqual([201, { owner: 'me', secret }]);
  expect(made.headers.get('cache-control')).toBe('no-store');
  return shop;
}

const body = (spec: object = {}) => ({
  apiVersion: 'shop.example/v1',
  kind: 'Gadget',
  metadata: { name: 'a' },
  spec: { owner: 'me', secret, ...spec },
});

function apply(shop: Shop, manager: string, object: object) {
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  return shop.call('PATCH', `${gadgets}/a?fieldManager=${manager}`, object, headers);
}

async function keptSecret(shop: Shop): Promise<unknown> {
  const { record } = await shop.store.get('/registry/gadgets/a');
  return record === undefined ? undefined : specOf(JSON.parse(record.value) as KubeObject)['secret'];
}

const patch = (type: string) => ({ 'content-type': `application/${type}` });
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

describe('a hidden field', () => {
  const ways: { way: string; ask: (shop: Shop) => Promise<{ status: number; text: string }> }[] = [
    { way: 'get', ask: (shop) => shop.call('GET', `${gadgets}/a`) },
    { way: 'get as YAML', ask: (shop) => shop.call('GET', `${gadgets}/a`, undefined, { accept: 'application/yaml' }) },
    { way: 'a part', ask: (shop) => shop.call('GET', `${gadgets}/a/part`) },
    { way: 'a list', ask: (shop) => shop.call('GET', gadgets) },
    { way: 'a page', ask: (shop) => shop.call('GET', `${gadgets}?limit=1`) },
    { way: 'a table', ask: (shop) => shop.call('GET', gadgets, undefined, table) },
    { way: 'a table of objects', ask: (shop) => shop.call('GET', `${gadgets}?includeObject=Object`, undefined, table) },
    {
      way: 'a dry run',
      ask: (shop) => shop.call('POST', `${gadgets}?dryRun=All`, { ...body(), metadata: { name: 'b' } }),
    },
    {
      way: 'an update',
      ask: (shop) => shop.call('PUT', `${gadgets}/a`, { metadata: { name: 'a' }, spec: { owner: 'you' } }),
    },
    { way: 'an update with the same', ask: (shop) => shop.call('PUT', `${gadgets}/a`, body()) },
    {
      way: 'a merge patch',
      ask: (shop) => shop.call('PATCH', `${gadgets}/a`, { spec: { ttl: 3 } }, patch('merge-patch+json')),
    },
    { way: 'an apply', ask: (shop) => apply(shop, 'other', body({ ttl: 3 })) },
    { way: 'a delete', ask: (shop) => shop.call('DELETE', `${gadgets}/a`) },
    { way: 'a delete of all', ask: (shop) => shop.call('DELETE', gadgets) },
  ];
  it.each(ways)('is missing from the answer: $way', async ({ way, ask }) => {
    const shop = await start();
    const { status, text } = await ask(shop);
    expect([way, status < 300, text.includes(secret)]).toEqual([way, true, false]);
    if (!way.includes('delete')) expect(await keptSecret(shop)).toBe(secret);
  });

  it('is missing from watch events of every form', async () => {
    const shop = await start();
    for (const accept of ['application/json', table.accept]) {
      const headers = { authorization: 'Bearer owner-token', accept };
      const query = 'watch=true&resourceVersion=0&includeObject=Object';
      const response = await fetch(`${shop.server.url}${gadgets}?${query}`, { headers });
      const lines = new Lines(response.body as ReadableStream<Uint8Array>);
      const seen = [await lines.next()];
      await shop.call(
        'PATCH',
        `${gadgets}/a`,
        { metadata: { labels: { length: String(accept.length) } } },
        patch('merge-patch+json'),
      );
      seen.push(await lines.next());
      await lines.cancel();
      expect(seen.map((event) => event?.['type'])).toEqual(['ADDED', 'MODIFIED']);
      expect(JSON.stringify(seen)).not.toContain(secret);
    }
  });

  it('cannot be read by a patch that copies, moves or tests it', async () => {
    const shop = await start();
    for (const op of [
      { op: 'copy', from: '/spec/secret', path: '/spec/colour' },
      { op: 'move', from: '/spec/secret', path: '/spec/colour' },
      { op: 'test', path: '/spec/secret', value: secret },
    ]) {
      const { status, text } = await shop.call('PATCH', `${gadgets}/a`, [op], patch('json-patch+json'));
      expect(text).not.toContain(secret);
      // Like a real server, a JSON patch that copies a missing field does nothing.
      expect([op.op, status]).toEqual([op.op, op.op === 'copy' ? 200 : 422]);
    }
    expect(await keptSecret(shop)).toBe(secret);
  });

  it('cannot be guessed by a selector', async () => {
    const shop = await start();
    const { json } = await shop.call('GET', `${gadgets}?fieldSelector=spec.secret%3D${secret}`);
    expect(json['items']).toEqual([]);
  });

  it('appears neither in managedFields nor in conflicts', async () => {
    const managersOf = async (shop: Shop) => JSON.stringify((await shop.call('GET', `${gadgets}/a`)).json['metadata']);
    const posted = await start('post');
    expect(await managersOf(posted)).not.toContain('secret');
    await posted.call('PUT', `${gadgets}/a`, body({ ttl: 3 }));
    expect(await managersOf(posted)).not.toContain('secret');
    const shop = await start('apply');
    expect(await managersOf(shop)).not.toContain('secret');
    const { status, text } = await apply(shop, 'other', body({ owner: 'you', secret: 'another-secret' }));
    expect([status, text.includes('secret')]).toEqual([409, false]);
    expect(text).toContain('.spec.owner');
  });

  it('survives an apply without it, and is validated when an apply sets it again', async () => {
    const shop = await start('apply');
    expect((await apply(shop, 'maker', body({ secret: undefined, ttl: 1 }))).status).toBe(200);
    expect(await keptSecret(shop)).toBe(secret);
    const changed = await apply(shop, 'maker', body({ secret: 'another-secret' }));
    expect([changed.status, changed.text.includes('another-secret')]).toEqual([422, false]);
  });

  it('leaves the resourceVersion unchanged when the same object is sent again', async () => {
    const shop = await start();
    const before = await shop.call('GET', `${gadgets}/a`);
    const { spec } = body();
    const after = await shop.call('PUT', `${gadgets}/a`, { ...before.json, spec });
    expect(after.json).toEqual(before.json);
  });
});
