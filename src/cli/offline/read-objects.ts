// Reads Kubernetes objects from files and standard input: YAML or JSON, with several documents, Lists, and Lists of Lists.
import { resolve } from 'node:path';
import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';
import type { ObjectPath } from '../../sync/plan/excerpt.ts';
import { CommandFault, type Context, exitCodes } from '../line/context.ts';
import { parseDocuments } from './yaml-text.ts';

export interface ReadObject {
  object: KubeObject;
  /** The file as the user named it, for messages. */
  origin: string;
  /** Where it is in the text: the document, and the keys that lead to it inside a List. */
  document: number;
  path: ObjectPath;
}

export interface PlacedFault {
  origin: string;
  document: number;
  /** The keys that lead to the value. */
  place: ObjectPath;
  /** The last of the keys is at fault, not its value. */
  isOfKey?: boolean;
  message: string;
}

/** A file that cannot be used, with the places of what is wrong, for an editor. */
export class PlacedFaults extends CommandFault {
  readonly faults: readonly PlacedFault[];

  constructor(faults: readonly PlacedFault[]) {
    super(exitCodes.input, faults.map(({ origin, message }) => `${origin}: ${message}`).join('\n'));
    this.faults = faults;
  }
}

export async function readObjects(
  context: Pick<Context, 'cwd' | 'readStdin'> & { files: Pick<Context['files'], 'read'> },
  paths: readonly string[],
): Promise<ReadObject[]> {
  const found: ReadObject[] = [];
  for (const path of paths) {
    const origin = path === '-' ? 'standard input' : path;
    const text = path === '-' ? await context.readStdin() : await context.files.read(resolve(context.cwd, path));
    const parsed = parseDocuments(text);
    if (parsed.kind === 'fault') {
      const place = `${origin}:${parsed.line}:${parsed.column}`;
      throw new CommandFault(exitCodes.input, `${place}: the objects cannot be read as YAML or JSON: ${parsed.reason}`);
    }
    found.push(...objectsIn(parsed.documents, origin));
  }
  refuseDuplicates(found);
  return found;
}

/** The objects of the documents of one text. */
export function objectsIn(documents: readonly unknown[], origin: string): ReadObject[] {
  const found: ReadObject[] = [];
  for (const [at, document] of documents.entries()) gather(document, { origin, document: at, path: [] }, found);
  return found;
}

/** Refuses two objects of the same kind and name, because the user can mean only one of them. */
export function refuseDuplicates(found: readonly ReadObject[]): void {
  const origins = new Map<string, string>();
  for (const { object, origin, document, path } of found) {
    const { namespace = '', name } = object.metadata;
    const shown = `${object.kind} "${namespace === '' ? name : `${namespace}/${name}`}"`;
    const first = origins.get(shown);
    if (first !== undefined) {
      const where = first === origin ? '' : ` (the first in ${first})`;
      throw placed(
        { origin, document, path: [...path, 'metadata', 'name'] },
        `wanted each object once, found ${shown} twice${where}`,
      );
    }
    origins.set(shown, origin);
  }
}

type Where = Omit<ReadObject, 'object'>;

function placed({ origin, document, path }: Where, message: string): PlacedFaults {
  return new PlacedFaults([{ origin, document, place: path, message }]);
}

function gather(value: unknown, where: Where, found: ReadObject[]): void {
  if (!isRecord(value)) {
    const what = Array.isArray(value) ? 'a list' : JSON.stringify(value)?.slice(0, 80);
    throw placed(where, `wanted a Kubernetes object, found ${what}`);
  }
  const kind = value['kind'];
  if (typeof kind !== 'string' || kind === '') {
    throw placed(where, 'wanted a Kubernetes object, found one without a kind');
  }
  const items = value['items'];
  if (kind.endsWith('List') && Array.isArray(items)) {
    // An EndpointsList has items without a kind.
    const itemKind = kind.slice(0, -'List'.length);
    for (const [at, item] of items.entries()) {
      const isBare = isRecord(item) && item['kind'] === undefined && itemKind !== '';
      gather(
        isBare ? { apiVersion: value['apiVersion'], kind: itemKind, ...item } : item,
        inside(where, 'items', at),
        found,
      );
    }
    return;
  }
  const metadata = value['metadata'];
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  // An API server that is written in Go may print an empty list so.
  if (kind.endsWith('List') && (items === undefined || items === null) && name === undefined) return;
  if (typeof name !== 'string' || name === '') {
    const what = name ? `${JSON.stringify(name)} in ${kind}; put it in quotes` : `${kind} without it`;
    const place = name ? ['metadata', 'name'] : isRecord(metadata) ? ['metadata'] : [];
    throw placed(inside(where, ...place), `wanted metadata.name in every object, found ${what}`);
  }
  found.push({ object: asDecoded(value as KubeObject), ...where });
}

function inside(where: Where, ...keys: ObjectPath): Where {
  return { ...where, path: [...where.path, ...keys] };
}

/** Fields of an Endpoints that an API server leaves out when they are empty; nodeName and appProtocol may be empty. */
const droppedWhenEmpty: ReadonlySet<string> = new Set([
  ...['hostname', 'name', 'protocol'],
  ...['apiVersion', 'kind', 'namespace', 'uid', 'resourceVersion', 'fieldPath'],
]);

/**
 * Drops the empty values that an API server drops when it decodes an object: null, empty lists and maps, and empty texts in
 * fields that cannot hold them. Without this, render would show an object that the daemon never sees. Pure.
 */
function asDecoded(object: KubeObject): KubeObject {
  const { metadata, subsets, ...rest } = object;
  const decoded = withoutEmpty(rest, isNull) as KubeObject;
  return {
    ...decoded,
    metadata: decodeMetadata(metadata as Record<string, unknown>),
    ...(!isNull(subsets) &&
      !(Array.isArray(subsets) && subsets.length === 0) && {
        subsets: withoutEmpty(subsets, (value, key) => isNull(value) || (value === '' && droppedWhenEmpty.has(key))),
      }),
  };
}

/** Keeps null inside labels and annotations, so that check-shape.ts can report it. */
function decodeMetadata({ labels, annotations, ...rest }: Record<string, unknown>): KubeObject['metadata'] {
  return {
    ...(withoutEmpty(rest, isNull) as KubeObject['metadata']),
    ...(!isNull(labels) && !isEmptyMap(labels) && { labels: labels as Record<string, string> }),
    ...(!isNull(annotations) && !isEmptyMap(annotations) && { annotations: annotations as Record<string, string> }),
  };
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined;
}

/** False for a value that is not a map, so that check-shape.ts can report it. */
function isEmptyMap(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function withoutEmpty(value: unknown, isEmpty: (value: unknown, key: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(item, isEmpty));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, member]) => !isEmpty(member, key));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutEmpty(member, isEmpty)]));
}
