// The part of a schema that decides the ownership of fields: which values merge, which are replaced as a whole, and which
// members identify the items of a list. Without a schema, objects merge and lists are replaced.

export type FieldShape =
  | { type: 'object'; fields: ReadonlyMap<string, FieldShape>; atomic: boolean }
  | { type: 'map'; values: FieldShape; atomic: boolean }
  | {
      type: 'list';
      items: FieldShape;
      listType: 'atomic' | 'set' | 'map';
      mapKeys: readonly string[];
      /** The defaults of absent key members, e.g. TCP for the protocol of a port. */
      keyDefaults?: Readonly<Record<string, string | number | boolean>>;
    }
  | { type: 'scalar' }
  | { type: 'any' };

export const anyShape: FieldShape = { type: 'any' };

export function memberShape(shape: FieldShape, name: string): FieldShape {
  switch (shape.type) {
    case 'object':
      return shape.fields.get(name) ?? anyShape;
    case 'map':
      return shape.values;
    case 'list':
    case 'scalar':
    case 'any':
      return anyShape;
    default:
      return shape satisfies never;
  }
}

export function isAtomic(shape: FieldShape): boolean {
  switch (shape.type) {
    case 'object':
    case 'map':
      return shape.atomic;
    case 'list':
      return shape.listType === 'atomic';
    case 'scalar':
      return true;
    case 'any':
      return false;
    default:
      return shape satisfies never;
  }
}
