// Structural schemas as data, in the words of OpenAPI v3: what fields a kind has, of which type, and how lists merge.
// Resolved once into nodes that are quick to walk; nothing here knows what a field means.

/** As it stands in a data file; descriptions are optional. */
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
  /** A regular expression that the text must contain a match of. */
  pattern?: string;
  /** In characters. */
  maxLength?: number;
  /** The field is sent and never returned; the kind's `present` hides it. */
  writeOnly?: boolean;
  $ref?: string;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: readonly string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** What is written of a field that is zero; a field in none of these lists is left out then. */
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

/** What a value of the right type must still be. */
export interface Limits {
  enum?: readonly (string | number | boolean)[];
  minimum?: number;
  maximum?: number;
  pattern?: RegExp;
  maxLength?: number;
  /** A fault does not quote the value. */
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
        /** A zero that was sent is kept. */
        pointers: ReadonlySet<string>;
        /** Fields that must be there; see schema-errors.ts. */
        required: readonly string[];
        /** Written as zero, or as null, when nothing was sent. */
        always: readonly string[];
        nulls: readonly string[];
        /** Scalars that a field stands for when nobody says them. */
        defaults: Readonly<Record<string, string | number | boolean>>;
      }
    | { type: 'map'; values: Node; atomic: boolean }
    | {
        type: 'list';
        items: Node;
        listType: 'atomic' | 'set' | 'map';
        mapKeys: readonly string[];
        /** What a key that an item leaves out stands for. */
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

  /** The core kinds of Kubernetes list required fields that its server does not ask for: there they are not enforced. */
  constructor(definitions: Readonly<Record<string, Schema>>, options: { enforcesRequired?: boolean } = {}) {
    this.definitions = definitions;
    this.#enforcesRequired = options.enforcesRequired === true;
  }

  /** The node of a named definition; a name that is not there is a bug of the tenant. */
  node(name: string): Node {
    const schema = this.definitions[name];
    if (schema === undefined) throw new Error(`resolve a schema: want a definition "${name}" to exist`);
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
    // Filled in after it is registered, so that a schema which leads back to itself is found out below.
    const node = {} as Record<string, unknown>;
    this.#nodes.set(schema, node as unknown as Node);
    if (target !== undefined) {
      const { patchStrategy: _strategy, patchMergeKey: _key, ...rest } = this.#referenced(target);
      Object.assign(node, rest, hints);
      // A field may say more about a map or list than the type it refers to.
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
    if (node.type === undefined) throw new Error(`resolve a schema: want "${name}" to end, it contains itself`);
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
