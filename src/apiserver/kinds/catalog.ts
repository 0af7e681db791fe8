// The catalog finds a served kind by the group, version and plural of a URL, or by its kind name.
import type { Dialect } from '../request/dialect.ts';
import { groupVersionOf, type Kind } from './kind.ts';
import { ProtobufReader, type ProtobufTypes } from './protobuf-body.ts';
import { type Node, type Schema, SchemaSet } from './schema.ts';

export class Catalog {
  readonly kinds: readonly Kind[];
  readonly schemas: SchemaSet;
  readonly protobuf: ProtobufReader | undefined;
  readonly dialect: Dialect;
  #byResource = new Map<string, Kind>();
  #groups: ReadonlySet<string>;

  constructor(
    kinds: readonly Kind[],
    definitions: Readonly<Record<string, Schema>>,
    options: { protobuf?: ProtobufTypes | undefined; dialect?: Dialect } = {},
  ) {
    const { protobuf, dialect = 'kubernetes' } = options;
    this.kinds = kinds;
    this.dialect = dialect;
    this.protobuf = protobuf === undefined ? undefined : new ProtobufReader(protobuf);
    this.schemas = new SchemaSet(definitions, { enforcesRequired: dialect === 'strict' });
    this.#groups = new Set(kinds.map((kind) => kind.group));
    for (const kind of kinds) this.#byResource.set(resourcePath(kind.group, kind.version, kind.plural), kind);
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#byResource.get(resourcePath(group, version, plural));
  }

  findByKind(group: string, kindName: string, version?: string): Kind | undefined {
    return this.kinds.find(
      (kind) => kind.group === group && kind.kind === kindName && (version === undefined || kind.version === version),
    );
  }

  schemaOf(kind: Kind): Node {
    return this.schemas.node(kind.schema);
  }

  /** Group names in the order of their first kind; the core group is ''. */
  groups(): string[] {
    return [...this.#groups];
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  versionsOf(group: string): string[] {
    return [...new Set(this.kinds.filter((kind) => kind.group === group).map((kind) => kind.version))];
  }

  kindsOf(group: string, version: string): Kind[] {
    return this.kinds.filter((kind) => kind.group === group && kind.version === version);
  }

  groupVersions(): string[] {
    return [...new Set(this.kinds.map(groupVersionOf))];
  }
}

function resourcePath(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}
