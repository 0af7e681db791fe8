// Builds the OpenAPI v3 index and one document for each group version, from the kinds and their schemas. The documents hold
// only the parts that kubectl needs to explain, validate and merge objects.
import { createHash } from 'node:crypto';
import type { Catalog } from '../kinds/catalog.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Schema } from '../kinds/schema.ts';
import { listDefinition, metaDefinitions } from './meta-definitions.ts';
import { openApiV2, openApiV2Bytes } from './openapi-v2.ts';
import { actionsOf, pathsOf } from './operations.ts';

export class OpenApi {
  #catalog: Catalog;
  #version: string;
  #documents = new Map<string, { json: string; hash: string }>();
  #v2: { json: Buffer; bytes: Buffer } | undefined;

  constructor(catalog: Catalog, version: string) {
    this.#catalog = catalog;
    this.#version = version;
  }

  /** The index at `/openapi/v3` or a document below it; undefined = the document does not exist. */
  document(path: string): { json: string; hash?: string } | undefined {
    const below = path.slice('/openapi/v3'.length).replace(/^\//, '');
    return below === '' ? { json: this.#index() } : this.#documentOf(below);
  }

  /** The v2 document of all kinds; built at the first request because few clients need it. */
  get v2(): { json: Buffer; bytes: Buffer } {
    if (this.#v2 === undefined) {
      const used = new Set(this.#catalog.kinds.flatMap(schemasOf));
      const document = openApiV2(this.#definitions(this.#catalog.kinds, used), this.#version);
      this.#v2 = { json: Buffer.from(JSON.stringify(document)), bytes: openApiV2Bytes(document) };
    }
    return this.#v2;
  }

  #definitions(kinds: readonly Kind[], used: ReadonlySet<string>): Record<string, Schema> {
    const definitions = reachable(this.#catalog.schemas.definitions, used);
    for (const { group, version, kind, schema } of kinds.flatMap((one) => [one, ...actionsOf(one)])) {
      const definition = definitions[schema];
      // kubectl finds the definition of a kind by this extension.
      if (definition?.[gvkKey] === undefined)
        definitions[schema] = { ...definition, [gvkKey]: [{ group, version, kind }] };
    }
    return definitions;
  }

  #index(): string {
    const paths: Record<string, object> = {};
    for (const place of this.#groupVersionPaths()) {
      const hash = this.#documentOf(place)?.hash;
      paths[place] = { serverRelativeURL: `/openapi/v3/${place}?hash=${hash}` };
    }
    return JSON.stringify({ paths });
  }

  #groupVersionPaths(): string[] {
    return this.#catalog
      .groupVersions()
      .map((groupVersion) => (groupVersion.includes('/') ? `apis/${groupVersion}` : `api/${groupVersion}`));
  }

  #documentOf(place: string): { json: string; hash: string } | undefined {
    const known = this.#documents.get(place);
    if (known !== undefined) return known;
    if (!this.#groupVersionPaths().includes(place)) return undefined;
    const parts = place.split('/');
    const [group, version] = parts[0] === 'api' ? ['', parts[1] as string] : [parts[1] as string, parts[2] as string];
    const json = JSON.stringify(this.#build(place, this.#catalog.kindsOf(group, version)), withoutOwnHints);
    const document = { json, hash: createHash('sha256').update(json).digest('hex').toUpperCase() };
    this.#documents.set(place, document);
    return document;
  }

  #build(place: string, kinds: readonly Kind[]): object {
    const paths: Record<string, object> = {};
    const used = new Set<string>();
    for (const kind of kinds) {
      for (const schema of schemasOf(kind)) used.add(schema);
      Object.assign(paths, pathsOf(place, kind, this.#catalog.dialect));
    }
    return {
      openapi: '3.0.0',
      info: { title: 'Kubernetes', version: this.#version },
      paths,
      components: { schemas: { ...this.#definitions(kinds, used), ...answersOf(kinds) } },
    };
  }
}

const gvkKey = 'x-kubernetes-group-version-kind';

function schemasOf(kind: Kind): string[] {
  return [kind.schema, ...actionsOf(kind).map(({ schema }) => schema)];
}

/** What the operations refer to besides the kinds themselves. */
function answersOf(kinds: readonly Kind[]): Record<string, Schema> {
  const listed = kinds.filter(({ verbs }) => verbs.includes('list'));
  return { ...metaDefinitions, ...Object.fromEntries(listed.map(listDefinition)) };
}

/** Removes the x- keywords that only this server understands. */
function withoutOwnHints(key: string, value: unknown): unknown {
  return key === 'x-pointers' || key === 'x-always' || key === 'x-nulls' ? undefined : value;
}

function reachable(definitions: Readonly<Record<string, Schema>>, from: ReadonlySet<string>): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const waiting = [...from];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const definition = definitions[name];
    if (definition === undefined || Object.hasOwn(found, name)) continue;
    found[name] = definition;
    for (const match of JSON.stringify(definition).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      waiting.push(match[1] as string);
    }
  }
  return found;
}
