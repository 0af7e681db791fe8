// Defines the stored text of an object: metadata first, without kind, apiVersion and resourceVersion. Reads insert these three
// fields at the front of the text, so that most reads need no parsing.
import type { KubeObject } from '../../object/meta/object.ts';
import { groupVersionOf, type Kind } from '../kinds/kind.ts';
import type { Dialect } from '../request/dialect.ts';

const opening = '{"metadata":{';

/** Drops kind, apiVersion and resourceVersion: the URL and the store's revision supply them again. */
export function toStoredText(object: KubeObject): string {
  const { metadata, kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  const { resourceVersion: _revision, ...meta } = metadata;
  return JSON.stringify({ metadata: meta, ...rest });
}

export function fromStoredText(text: string, kind: Kind, revision: number): KubeObject {
  const stored = JSON.parse(text) as KubeObject;
  const object = kind.conversion === undefined ? stored : kind.conversion.fromStored(stored);
  const { metadata, ...rest } = object;
  return {
    kind: kind.kind,
    apiVersion: groupVersionOf(kind),
    metadata: { ...metadata, resourceVersion: String(revision) },
    ...rest,
  };
}

/** Parses a stored text and removes the hidden fields. */
export function shownFromText(text: string, kind: Kind, revision: number): KubeObject {
  return shown(fromStoredText(text, kind, revision), kind);
}

export function shown(object: KubeObject, kind: Kind): KubeObject {
  return kind.strategy.hidden?.present(object) ?? object;
}

/** The stored text as everybody may see it. Undefined = it must be parsed: a kind has hidden fields or a conversion. */
function shownText(text: string, { conversion, strategy }: Kind): string | undefined {
  if (conversion !== undefined) return undefined;
  return strategy.hidden === undefined ? text : strategy.hidden.presentText?.(text);
}

/** The object's JSON, ready to send. */
export function wireText(text: string, kind: Kind, revision: number): string {
  const shown = shownText(text, kind);
  if (shown === undefined) return JSON.stringify(withoutZeroRevision(shownFromText(text, kind, revision)));
  // Revision 0 comes from a dry run, whose object has no resourceVersion.
  const version = revision === 0 ? '' : `"resourceVersion":"${revision}",`;
  const head = `{"kind":"${kind.kind}","apiVersion":"${groupVersionOf(kind)}","metadata":{${version}`;
  return head + shown.slice(opening.length);
}

/** Revision 0 comes from a dry run, whose object has no resourceVersion. */
export function withoutZeroRevision(object: KubeObject): KubeObject {
  if (object.metadata.resourceVersion === '0') delete object.metadata.resourceVersion;
  return object;
}

/** The JSON of a list item. The real server leaves kind and apiVersion out; the strict dialect names them in every item. */
export function itemText(text: string, kind: Kind, revision: number, dialect: Dialect): string {
  if (dialect === 'strict') return wireText(text, kind, revision);
  const shown = shownText(text, kind);
  if (shown === undefined) {
    const { kind: _kind, apiVersion: _apiVersion, ...item } = shownFromText(text, kind, revision);
    return JSON.stringify(item);
  }
  return `{"metadata":{"resourceVersion":"${revision}",${shown.slice(opening.length)}`;
}

export function storageKey(kind: Kind, namespace: string, name: string): string {
  return kind.namespaced ? `/registry/${kind.storage}/${namespace}/${name}` : `/registry/${kind.storage}/${name}`;
}

/** Prefix of all keys of a kind; with a namespace, of the keys in that namespace. */
export function storagePrefix(kind: Kind, namespace: string): string {
  return namespace === '' ? `/registry/${kind.storage}/` : `/registry/${kind.storage}/${namespace}/`;
}
