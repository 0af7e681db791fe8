import { describe, expect, it } from 'vitest';
import { gadgetSchemas, gadgets, openGadgets } from '../shop/gadgets.ts';
import { endsWithTest } from '../shop/shop-of-test.ts';
import type { Shop } from '../shop/widgets.ts';

const start = async (options: Parameters<typeof openGadgets>[0] = {}): Promise<Shop> =>
  endsWithTest(await openGadgets(options));

const gadget = (spec: object, more: object = {}) => ({ metadata: { name: 'a', ...more }, spec });
const causes = (json: Record<string, unknown>) =>
  (json['details'] as { causes: { reason: string; field: string }[] }).causes.map(
    ({ reason, field }) => `${field} ${reason}`,
  );

describe('a schema with limits', () => {
  it('lists every value of the wrong type and every other fault in one 422', async () => {
    const shop = await start();
    const spec = { owner: 7, ttl: 1e300, size: 'huge', tags: ['fine', {}] };
    const { status, json } = await shop.call('POST', gadgets, gadget(spec));
    expect([status, json['reason']]).toEqual([422, 'Invalid']);
    expect(causes(json)).toEqual([
      'spec.owner FieldValueTypeInvalid',
      'spec.ttl FieldValueTypeInvalid',
      'spec.tags[1] FieldValueTypeInvalid',
      'spec.size FieldValueNotSupported',
      'spec.tags[0] FieldValueTooLong',
    ]);
    expect(json['message']).toContain('spec.owner: Invalid value: "number": must be of type string');
  });

  it('checks limits together with metadata and with the rules of the kind', async () => {
    const shop = await start();
    const spec = { ttl: 101, code: 'A1', colour: 'none' };
    const { status, json } = await shop.call('POST', gadgets, gadget(spec, { labels: { 'a b': 'c' } }));
    expect(status).toBe(422);
    expect(causes(json)).toEqual([
      'metadata.labels FieldValueInvalid',
      'spec.owner FieldValueRequired',
      'spec.ttl FieldValueInvalid',
      'spec.code FieldValueInvalid',
      'spec.colour FieldValueInvalid',
    ]);
    expect(json['message']).toContain('spec.ttl: Invalid value: 101: should be less than or equal to 100');
  });

  it.each([
    { claim: 'the smallest value', spec: { owner: 'me', ttl: 0 } },
    { claim: 'the largest value', spec: { owner: 'me', ttl: 100 } },
    { claim: 'the longest text, counted in characters', spec: { owner: '\u{1f600}'.repeat(8) } },
  ])('accepts $claim, and keeps it', async ({ spec }) => {
    const shop = await start();
    const { status, json } = await shop.call('POST', gadgets, gadget(spec));
    expect([status, json['spec']]).toEqual([201, spec]);
  });

  it('checks the result of an update and of every patch', async () => {
    const shop = await start();
    await shop.call('POST', gadgets, gadget({ owner: 'me' }));
    const patch = (type: string, body: unknown) =>
      shop.call('PATCH', `${gadgets}/a?fieldManager=m`, body, { 'content-type': `application/${type}` });
    const put = await shop.call('PUT', `${gadgets}/a`, gadget({ owner: 'me', ttl: -1 }));
    const merge = await patch('merge-patch+json', { spec: { ttl: -1, size: 3 } });
    const json = await patch('json-patch+json', [{ op: 'add', path: '/spec/ttl', value: 1.5 }]);
    expect([put.status, merge.status, json.status]).toEqual([422, 422, 422]);
    for (const format of ['merge-patch+json', 'strategic-merge-patch+json']) {
      const version = await patch(format, { apiVersion: 'shop.example/v9' });
      expect([version.status, version.text]).toEqual([
        422,
        expect.stringContaining('(shop.example/v9) does not match'),
      ]);
    }
    expect(causes(merge.json)).toEqual(['spec.size FieldValueTypeInvalid', 'spec.ttl FieldValueInvalid']);
    const type = { apiVersion: 'shop.example/v1', kind: 'Gadget' };
    const apply = await patch('apply-patch+yaml', { ...type, ...gadget({ ttl: 'x' }) });
    expect(apply.status).toBe(400);
  });

  it('answers 400 when metadata has the wrong type', async () => {
    const shop = await start();
    const { status, json } = await shop.call('POST', gadgets, gadget({ owner: 'me' }, { labels: { a: 1 } }));
    expect([status, json['reason']]).toEqual([400, 'BadRequest']);
    expect(json['message']).toContain('metadata.labels.a');
  });

  it('tells in a sentence what is wrong with a YAML text, and quotes nothing of the text', async () => {
    const shop = await start();
    const types = [
      ['POST', gadgets, 'application/yaml'],
      ['PATCH', `${gadgets}/a?fieldManager=m`, 'application/apply-patch+yaml'],
    ] as const;
    for (const [method, path, type] of types) {
      const { status, json } = await shop.call(method, path, 'spec:\n    owner: me\n  secret: x\n', {
        'content-type': type,
      });
      expect([status, json['reason'], json['message']]).toEqual([
        400,
        'BadRequest',
        'yaml: line 3, column 3: the indentation does not fit the lines above; indent the entries of one map or list alike, with spaces',
      ]);
    }
  });

  it('lists at most a hundred faults', async () => {
    const shop = await start();
    const { json } = await shop.call('POST', gadgets, gadget({ tags: Array.from({ length: 5000 }, () => 1) }));
    expect(causes(json).length).toBeLessThanOrEqual(200);
  });

  it('appears unchanged in the OpenAPI document, with descriptions', async () => {
    const shop = await start();
    const { json } = await shop.call('GET', '/openapi/v3/apis/shop.example/v1');
    const { schemas } = json['components'] as { schemas: Record<string, unknown> };
    expect(schemas['Gadget']).toMatchObject(gadgetSchemas['Gadget'] as object);
  });
});

describe('integers in the kubernetes dialect', () => {
  it('are refused outside the range of their type', async () => {
    const shop = await start({ dialect: 'kubernetes' });
    const { status, json } = await shop.call('POST', gadgets, gadget({ ttl: 1e300 }));
    expect([status, json['reason']]).toEqual([400, 'BadRequest']);
  });
});

describe('the strict dialect', () => {
  const cases: {
    claim: string;
    send: (shop: Shop) => Promise<{ status: number }>;
    kubernetes: number;
    strict: number;
  }[] = [
    {
      claim: 'a resourceVersion on create',
      send: (shop) => shop.call('POST', gadgets, gadget({ owner: 'me' }, { name: 'b', resourceVersion: '7' })),
      kubernetes: 500,
      strict: 400,
    },
    {
      claim: 'a resourceVersion that is not a number',
      send: (shop) => shop.call('PUT', `${gadgets}/a`, gadget({ owner: 'me' }, { resourceVersion: 'x' })),
      kubernetes: 500,
      strict: 400,
    },
    {
      claim: 'a watch from a resourceVersion that is not a number',
      send: (shop) => shop.call('GET', `${gadgets}?watch=true&resourceVersion=x`),
      kubernetes: 500,
      strict: 400,
    },
    { claim: 'HEAD', send: (shop) => shop.call('HEAD', `${gadgets}/a`), kubernetes: 405, strict: 200 },
    {
      claim: 'an object that is too large',
      send: (shop) => shop.call('POST', gadgets, gadget({ owner: 'me', colour: 'x'.repeat(2_000_000) }, { name: 'b' })),
      kubernetes: 500,
      strict: 413,
    },
    {
      claim: 'an apply with the version of a deleted object',
      send: (shop) =>
        shop.call(
          'PATCH',
          `${gadgets}/b?fieldManager=m`,
          { apiVersion: 'shop.example/v1', kind: 'Gadget', metadata: { resourceVersion: '7' }, spec: { owner: 'me' } },
          { 'content-type': 'application/apply-patch+yaml' },
        ),
      kubernetes: 201,
      strict: 409,
    },
    {
      claim: 'a delete whose query and body disagree',
      send: (shop) => shop.call('DELETE', `${gadgets}/a?dryRun=All`, { propagationPolicy: 'Background' }),
      kubernetes: 200,
      strict: 400,
    },
  ];
  it.each(cases)('answers $strict where a real server answers $kubernetes: $claim', async ({ send, ...wanted }) => {
    for (const dialect of ['kubernetes', 'strict'] as const) {
      const shop = await start({ dialect });
      await shop.call('POST', gadgets, gadget({ owner: 'me' }));
      expect((await send(shop)).status, dialect).toBe(wanted[dialect]);
    }
  });

  it('answers HEAD of a document as a GET without its body', async () => {
    const shop = await start();
    const { status, text, headers } = await shop.call('HEAD', '/version');
    expect([status, text, Number(headers.get('content-length')) > 10]).toEqual([200, '', true]);
  });

  it('answers unknown groups with a Status, and lists the supported patch types', async () => {
    const shop = await start();
    const unknown = await shop.call('GET', '/apis/nowhere.example/v1/things');
    expect(unknown.json).toMatchObject({ kind: 'Status', code: 404 });
    expect(unknown.headers.get('x-content-type-options')).toBe('nosniff');
    const { status, json } = await shop.call('PATCH', `${gadgets}/a`, {}, { 'content-type': 'text/plain' });
    expect([status, json['message']]).toEqual([415, expect.stringContaining('application/merge-patch+json')]);
  });
});
