// Structural schemas as OpenAPI v3 data: the fields of a kind, their types, and how their lists merge. Resolves every
// definition once into nodes that are quick to walk. Must never know the meaning of a field.

/** A schema as a data file holds it. */
export interface Schema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  allOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  required?: readonly string[];
  enum?: readonly (string | number | boolean)[];
  minimum?: number;
  maximum?: number;
  /** A regular expression; a match anywhere in the text is enough. */
  pattern?: string;
  /** Counted in characters, not UTF-16 units. */
  maxLength?: number;
  /** Clients send the field and never receive it; the kind's `present` hides it. */
  writeOnly?: boolean;
  $ref?: string;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: readonly string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** Fields that keep a sent zero, are always written, or are written as null; every other zero field is left out. */
  'x-pointers'?: readonly string[];
  'x-always'?: readonly string[];
  'x-nulls'?: readonly string[];
}

export type Scalar =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'intOrString'
  | 'quantity'
  | 'time'
  | 'microTime'
  | 'bytes';

/** Rules for a value whose type is correct. */
export interface Limits {
  enum?: readonly (string | number | boolean)[];
  minimum?: number;
  maximum?: number;
  pattern?: RegExp;
  maxLength?: number;
  /** The value is secret, so a fault must not quote it. */
  isHidden?: boolean;
}

interface MergeHints {
  patchStrategy: readonly string[];
  patchMergeKey: string | undefined;
}

export type Node = MergeHints &
  (
    | {
        type: 'object';
        fields: ReadonlyMap<string, Node>;
        atomic: boolean;
        /** Fields that keep a zero that the client sent. */
        pointers: ReadonlySet<string>;
        /** Required fields; schema-errors.ts checks them. */
        required: readonly string[];
        /** Fields that are written as zero, or as null, when the client did not send them. */
        always: readonly string[];
        nulls: readonly string[];
        /** Scalar default values by field. */
        defaults: Readonly<Record<string, string | number | boolean>>;
      }
    | { type: 'map'; values: Node; atomic: boolean }
    | {
        type: 'list';
        items: Node;
        listType: 'atomic' | 'set' | 'map';
        mapKeys: readonly string[];
        /** Default values of key fields that an item leaves out. */
        keyDefaults: Readonly<Record<string, string | number | boolean>>;
      }
    | { type: 'scalar'; scalar: Scalar /** Range of the integer type. */; bits: 32 | 64; limits: Limits | undefined }
    /** Any JSON value; unknown fields are kept. */
    | { type: 'any' }
  );

const refPrefix = '#/components/schemas/';

export class SchemaSet {
  readonly definitions: Readonly<Record<string, Schema>>;
  #nodes = new Map<Schema, Node>();
  #enforcesRequired: boolean;

  /** The core schemas name required fields that the real server does not enforce, so only the strict dialect enforces them. */
  constructor(definitions: Readonly<Record<string, Schema>>, options: { enforcesRequired?: boolean } = {}) {
    this.definitions = definitions;
    this.#enforcesRequired = options.enforcesRequired === true;
  }

  /** The node of a named definition; an unknown name is a bug of the tenant. */
  node(name: string): Node {
    const schema = this.definitions[name];
    if (schema === undefined) throw new Error(`resolve a schema: no definition is named "${name}"`);
    return this.#resolve(schema);
  }

  #resolve(schema: Schema): Node {
    const known = this.#nodes.get(schema);
    if (known !== undefined) return known;
    const hints: MergeHints = {
      patchStrategy: schema['x-kubernetes-patch-strategy']?.split(',') ?? [],
      patchMergeKey: schema['x-kubernetes-patch-merge-key'],
    };
    const target = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
    // Registered before it is filled in: #referenced() recognizes a schema that contains itself by its empty node.
    const node = {} as Record<string, unknown>;
    this.#nodes.set(schema, node as unknown as Node);
    if (target !== undefined) {
      const { patchStrategy: _strategy, patchMergeKey: _key, ...rest } = this.#referenced(target);
      Object.assign(node, rest, hints);
      // A field may make a referenced map type atomic.
      if (schema['x-kubernetes-map-type'] === 'atomic') node['atomic'] = true;
      return node as unknown as Node;
    }
    Object.assign(node, this.#shape(schema), hints);
    return node as unknown as Node;
  }

  #referenced(ref: string): Node {
    const name = ref.slice(refPrefix.length);
    if (name.endsWith('.meta.v1.Time')) return scalarNode('time');
    if (name.endsWith('.meta.v1.MicroTime')) return scalarNode('microTime');
    if (name.endsWith('.resource.Quantity')) return scalarNode('quantity');
    if (name.endsWith('.intstr.IntOrString')) return scalarNode('intOrString');
    const node = this.node(name);
    if (node.type === undefined) throw new Error(`resolve a schema: "${name}" contains itself`);
    return node;
  }

  #shape(schema: Schema): object {
    const atomic = schema['x-kubernetes-map-type'] === 'atomic';
    if (schema.format === 'int-or-string') return scalarNode('intOrString');
    switch (schema.type) {
      case 'object':
        return this.#objectShape(schema, atomic);
      case 'array': {
        const items = schema.items === undefined ? anyNode : this.#resolve(schema.items);
        return {
          type: 'list',
          items,
          listType: schema['x-kubernetes-list-type'] ?? 'atomic',
          mapKeys: schema['x-kubernetes-list-map-keys'] ?? [],
          keyDefaults: items.type === 'object' ? items.defaults : {},
        };
      }
      case 'string':
        return scalarNode(
          schema.format === 'byte' ? 'bytes' : schema.format === 'date-time' ? 'time' : 'string',
          schema,
        );
      case 'integer':
      case 'number':
      case 'boolean':
        return scalarNode(schema.type, schema);
      default:
        return anyNode;
    }
  }

  #objectShape(schema: Schema, atomic: boolean): object {
    if (schema.properties === undefined) {
      const values = schema.additionalProperties;
      if (typeof values !== 'object') return anyNode;
      return { type: 'map', values: this.#resolve(values), atomic };
    }
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) return anyNode;
    const fields = new Map<string, Node>();
    for (const [name, field] of Object.entries(schema.properties)) fields.set(name, this.#resolve(field));
    const { 'x-pointers': pointers = [], 'x-always': always = [], 'x-nulls': nulls = [] } = schema;
    const defaults: Record<string, string | number | boolean> = {};
    for (const [name, { default: value }] of Object.entries(schema.properties)) {
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') defaults[name] = value;
    }
    const kept = new Set([...pointers, ...always, ...nulls]);
    const required = this.#enforcesRequired ? (schema.required ?? []) : [];
    return { type: 'object', fields, atomic, pointers: kept, required, always, nulls, defaults };
  }
}

const anyNode: Node = { type: 'any', patchStrategy: [], patchMergeKey: undefined };

function scalarNode(scalar: Scalar, schema: Schema = {}): Node {
  const bits = schema.format === 'int32' ? 32 : 64;
  return { type: 'scalar', scalar, bits, limits: limitsOf(schema), patchStrategy: [], patchMergeKey: undefined };
}

function limitsOf(schema: Schema): Limits | undefined {
  const limits: Limits = {};
  if (schema.enum !== undefined) limits.enum = schema.enum;
  if (schema.minimum !== undefined) limits.minimum = schema.minimum;
  if (schema.maximum !== undefined) limits.maximum = schema.maximum;
  if (schema.pattern !== undefined) limits.pattern = new RegExp(schema.pattern, 'u');
  if (schema.maxLength !== undefined) limits.maxLength = schema.maxLength;
  if (Object.keys(limits).length === 0) return undefined;
  if (schema.writeOnly === true) limits.isHidden = true;
  return limits;
}
