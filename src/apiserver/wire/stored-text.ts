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

/** The object as a client may see it. */
export function shownFromText(text: string, kind: Kind, revision: number): KubeObject {
  return shown(fromStoredText(text, kind, revision), kind);
}

export function shown(object: KubeObject, kind: Kind): KubeObject {
  return kind.strategy.present?.(object) ?? object;
}

/** Only a text in which nothing is hidden and nothing has another form may be sent as it lies in the store. */
function isSentAsStored(kind: Kind): boolean {
  return kind.conversion === undefined && kind.strategy.present === undefined;
}

/** The object's JSON, ready to send. */
export function wireText(text: string, kind: Kind, revision: number): string {
  if (!isSentAsStored(kind)) return JSON.stringify(withoutZeroRevision(shownFromText(text, kind, revision)));
  // Revision 0 is an object that was only tried out: it has no version.
  const version = revision === 0 ? '' : `"resourceVersion":"${revision}",`;
  const head = `{"kind":"${kind.kind}","apiVersion":"${groupVersionOf(kind)}","metadata":{${version}`;
  return head + text.slice(opening.length);
}

/** Revision 0 is an object that was only tried out: it has no version. */
export function withoutZeroRevision(object: KubeObject): KubeObject {
  if (object.metadata.resourceVersion === '0') delete object.metadata.resourceVersion;
  return object;
}

/** As an item of a list, which leaves out what the list says already. */
export function itemText(text: string, kind: Kind, revision: number): string {
  if (!isSentAsStored(kind)) {
    const { kind: _kind, apiVersion: _apiVersion, ...item } = shownFromText(text, kind, revision);
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
