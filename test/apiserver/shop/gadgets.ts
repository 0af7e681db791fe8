// A test kind like the kinds of the management API: cluster-scoped, with limits in its schema, a hidden field and owners.
import { allVerbs, type Kind, type Schemas } from '../../../src/apiserver/kinds/kind.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { openShop, type Shop, type ShopOptions, widgetSchemas } from './widgets.ts';

export const gadgetKind: Kind = {
  group: 'shop.example',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  singular: 'gadget',
  namespaced: false,
  verbs: allVerbs,
  schema: 'Gadget',
  storage: 'gadgets',
  strategy: {
    countsGenerations: true,
    validate: ({ object }) =>
      specOf(object)['colour'] === 'none'
        ? [{ type: 'FieldValueInvalid', path: 'spec.colour', message: 'Invalid value: "none": is no colour' }]
        : [],
  },
  columns: [],
  selectableFields: { 'spec.owner': (object) => String(specOf(object)['owner'] ?? '') },
};

export function specOf(object: KubeObject): Record<string, unknown> {
  return (object['spec'] ?? {}) as Record<string, unknown>;
}

const text = { type: 'string' };

export const gadgetSchemas: Schemas = {
  ...widgetSchemas,
  Gadget: {
    type: 'object',
    properties: {
      kind: text,
      apiVersion: text,
      metadata: { $ref: '#/components/schemas/Meta' },
      spec: {
        type: 'object',
        required: ['owner'],
        properties: {
          owner: { ...text, maxLength: 8, description: 'Whose gadget this is.' },
          size: { type: 'string', enum: ['small', 'large'] },
          ttl: { type: 'integer', minimum: 0, maximum: 100 },
          code: { type: 'string', pattern: '^[a-z]+$' },
          colour: text,
          secret: { ...text, writeOnly: true },
          tags: { type: 'array', items: { type: 'string', maxLength: 3 } },
        },
      },
    },
  },
};

export const gadgets = '/apis/shop.example/v1/gadgets';

export function openGadgets(options: ShopOptions = {}, kind: Kind = gadgetKind): Promise<Shop> {
  return openShop({ dialect: 'strict', kinds: [kind], schemas: gadgetSchemas, ...options });
}
