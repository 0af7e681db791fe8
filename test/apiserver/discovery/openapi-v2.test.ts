import { afterEach, describe, expect, it } from 'vitest';
import { openApiV2Type } from '../../../src/apiserver/discovery/openapi-v2.ts';
import { openGadgets } from '../shop/gadgets.ts';
import type { Shop } from '../shop/widgets.ts';

let shop: Shop | undefined;
afterEach(() => shop?.stop());

/** Fields of a protobuf message by number; all of them hold bytes here. */
function fieldsOf(bytes: Uint8Array): [number, Uint8Array][] {
  const fields: [number, Uint8Array][] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const field = varint() >> 3;
    const length = varint();
    fields.push([field, bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}

const only = (bytes: Uint8Array, field: number) => fieldsOf(bytes).filter(([number]) => number === field);
const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();

describe('OpenAPI v2', () => {
  it('has a definition of every kind with the extension that kubectl looks for', async () => {
    shop = await openGadgets();
    const { status, json } = await shop.call('GET', '/openapi/v2');
    expect([status, json['swagger'], json['paths']]).toEqual([200, '2.0', {}]);
    expect(json['definitions']).toMatchObject({
      Gadget: {
        properties: {
          metadata: { $ref: '#/definitions/Meta' },
          spec: { required: ['owner'], properties: { owner: { maxLength: 8, description: 'Whose gadget this is.' } } },
        },
        'x-kubernetes-group-version-kind': [{ group: 'shop.example', version: 'v1', kind: 'Gadget' }],
      },
    });
  });

  it('is protobuf for an Accept header like kubectl’s, with long lengths', async () => {
    shop = await openGadgets();
    const headers = {
      authorization: 'Bearer owner-token',
      accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    };
    const response = await fetch(`${shop.server.url}/openapi/v2`, { headers });
    expect(response.headers.get('content-type')).toBe(openApiV2Type);
    const document = new Uint8Array(await response.arrayBuffer());
    expect(text(only(document, 1)[0]?.[1])).toBe('2.0');
    const definitions = only(only(document, 9)[0]?.[1] as Uint8Array, 1).map(([, named]) => named);
    const byName = new Map(
      definitions.map((named) => [text(only(named, 1)[0]?.[1]), only(named, 2)[0]?.[1] as Uint8Array]),
    );
    expect([...byName.keys()].toSorted()).toEqual(['Gadget', 'Meta']);
    const gadget = byName.get('Gadget') as Uint8Array;
    expect(text(only(only(gadget, 22)[0]?.[1] as Uint8Array, 1)[0]?.[1])).toBe('object');
    const properties = only(only(gadget, 25)[0]?.[1] as Uint8Array, 1).map(([, named]) => text(only(named, 1)[0]?.[1]));
    expect(properties).toEqual(['kind', 'apiVersion', 'metadata', 'spec']);
    expect(text(gadget)).toContain('"kind":"Gadget"');
  });
});
