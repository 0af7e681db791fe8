import { describe, expect, it } from 'vitest';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import { startShop } from '../shop/shop-of-test.ts';
import { collection, widget, widgetKind } from '../shop/widgets.ts';

describe('objects that are answered and never stored', () => {
  it('validate the body of a subresource by its schema, and tell the subresource about a dry run', async () => {
    const shop = await startShop();
    await shop.call('POST', collection, widget('a'));
    const paint = (body: object, query = '') => shop.call('POST', `${collection}/a/paint${query}`, body);
    const odd = await paint({ spec: { colour: 'red', gloss: true } });
    expect(odd.headers.get('warning')).toContain('unknown field \\"spec.gloss\\"');
    expect([odd.status, odd.json['spec'], odd.headers.get('cache-control')]).toEqual([
      201,
      { colour: 'red' },
      'no-store',
    ]);
    expect((await paint({ spec: { gloss: true } }, '?fieldValidation=Strict')).status).toBe(400);
    expect((await paint({ spec: { coats: 'two' } })).status).toBe(400);
    expect((await paint({ kind: 'Widget', spec: {} })).status).toBe(400);
    const green = await paint({ spec: { colour: 'green' } });
    expect([green.status, green.json['message']]).toEqual([
      422,
      'Paint.shop.example "" is invalid: spec.colour: Unsupported value: "green": supported values: "red", "blue"',
    ]);
    expect((await paint({ spec: {} }, '?dryRun=All')).json['status']).toEqual({ of: 'a', dryRun: true });
    expect((await paint({ spec: {} }, '?dryRun=some')).status).toBe(422);
  });

  it('of a create-only kind are validated by their schema', async () => {
    const quote: Kind = {
      ...widgetKind,
      kind: 'Quote',
      plural: 'quotes',
      singular: 'quote',
      namespaced: false,
      schema: 'Paint',
      verbs: ['create'],
      subresources: {},
      strategy: {},
      answer: (object, ctx) => ({ ...object, status: { dryRun: ctx.dryRun } }),
    };
    const shop = await startShop({ kinds: [widgetKind, quote] });
    const place = '/apis/shop.example/v1/quotes';
    const made = await shop.call('POST', `${place}?dryRun=All`, { spec: { colour: 'red' } });
    expect([made.status, made.json['status']]).toEqual([201, { dryRun: true }]);
    expect((await shop.call('POST', place, { spec: { colour: 'green' } })).status).toBe(422);
    expect((await shop.call('GET', place)).status).toBe(405);
    expect(await shop.store.currentRevision()).toBe(0);
  });
});
