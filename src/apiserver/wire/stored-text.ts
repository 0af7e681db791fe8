// How an object lies in the store and how it gets from there onto the wire without being parsed: the text begins with its
// metadata and lacks kind, apiVersion and resourceVersion, which are spliced in front. Most reads never look further.
import type { KubeObject } from '../../object/meta/object.ts';
import { groupVersionOf, type Kind } from '../kinds/kind.ts';

const opening = '{"metadata":{';

/** `object` without kind and apiVersion; its resourceVersion does not count, the store's revision does. */
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

/** The object's JSON, ready to send. */
export function wireText(text: string, kind: Kind, revision: number): string {
  if (kind.conversion !== undefined) return JSON.stringify(fromStoredText(text, kind, revision));
  // Revision 0 is an object that was only tried out: it has no version.
  const version = revision === 0 ? '' : `"resourceVersion":"${revision}",`;
  const head = `{"kind":"${kind.kind}","apiVersion":"${groupVersionOf(kind)}","metadata":{${version}`;
  return head + text.slice(opening.length);
}

/** As an item of a list, which leaves out what the list says already. */
export function itemText(text: string, kind: Kind, revision: number): string {
  if (kind.conversion !== undefined) {
    const { kind: _kind, apiVersion: _apiVersion, ...item } = fromStoredText(text, kind, revision);
    return JSON.stringify(item);
  }
  return `{"metadata":{"resourceVersion":"${revision}",${text.slice(opening.length)}`;
}

export function storageKey(kind: Kind, namespace: string, name: string): string {
  return kind.namespaced ? `/registry/${kind.storage}/${namespace}/${name}` : `/registry/${kind.storage}/${name}`;
}

/** All objects of a kind, or those of one namespace. */
export function storagePrefix(kind: Kind, namespace: string): string {
  return namespace === '' ? `/registry/${kind.storage}/` : `/registry/${kind.storage}/${namespace}/`;
}
