import type { FieldShape } from '../../src/object/fields/field-shape.ts';

const scalar: FieldShape = { type: 'scalar' };
const text = (values: FieldShape = scalar): FieldShape => ({ type: 'map', values, atomic: false });
const object = (fields: Record<string, FieldShape>): FieldShape => ({
  type: 'object',
  fields: new Map(Object.entries(fields)),
  atomic: false,
});
const list = (items: FieldShape, mapKeys?: string[]): FieldShape => ({
  type: 'list',
  items,
  listType: mapKeys === undefined ? 'atomic' : mapKeys.length === 0 ? 'set' : 'map',
  mapKeys: mapKeys ?? [],
  ...(mapKeys?.includes('protocol') && { keyDefaults: { protocol: 'TCP' } }),
});

const metadata = object({
  name: scalar,
  labels: text(),
  annotations: text(),
  finalizers: list(scalar, []),
  ownerReferences: list({ type: 'object', fields: new Map(), atomic: true }, ['uid']),
});
const port = object({ name: scalar, port: scalar, protocol: scalar, targetPort: scalar });

/** The parts of three kinds that the cases need. */
export const shapes: Readonly<Record<string, FieldShape>> = {
  ConfigMap: object({ metadata, data: text() }),
  Service: object({
    metadata,
    spec: object({ ports: list(port, ['port', 'protocol']), selector: { type: 'map', values: scalar, atomic: true } }),
  }),
  Endpoints: object({ metadata, subsets: list({ type: 'any' }) }),
};
