// A cluster in memory with just enough of an API server for one pass, so that offline commands run the same code as the
// daemon. It has one writer, no history and no watch.

import type { Answer } from '../../cluster/answer.ts';
import type { Item, Window } from '../../cluster/window/window.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import { type Key, type KubeObject, keyOf } from '../../object/meta/object.ts';
import { applyMergePatch } from '../../object/patch/merge-patch.ts';
import type { Json } from '../../object/text/json.ts';

export class MemoryCluster {
  readonly #resources = new Map<string, Map<Key, KubeObject>>();
  #revision = 0;

  put(resource: string, object: KubeObject): KubeObject {
    const { namespace = '', name = '' } = object.metadata;
    const metadata = withoutEmptyMaps(object.metadata);
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(++this.#revision) } };
    this.#of(resource).set(keyOf(namespace, name), stored);
    return stored;
  }

  object(resource: string, key: Key): KubeObject | undefined {
    return this.#of(resource).get(key);
  }

  window<T extends Item>(resource: string, project: (object: KubeObject) => T): Window<T> {
    const objects = this.#of(resource);
    return {
      start: () => {},
      stop: async () => {},
      state: 'watching',
      hasSynced: true,
      whenSynced: async () => {},
      get(key) {
        const object = objects.get(key);
        return object && project(object);
      },
      markOf(key) {
        const object = objects.get(key);
        return object && (project(object).mark ?? '');
      },
      has: (key) => objects.has(key),
      versionOf: (key) => objects.get(key)?.metadata.resourceVersion,
      provenMs: () => undefined,
      proof: { provenAtMs: undefined, missed: 0 },
      get size() {
        return objects.size;
      },
      keys: () => objects.keys(),
      relist: async () => {},
      find: async (key) => (objects.has(key) ? 'found' : 'absent'),
      // The writer has stored the object already.
      remember: () => true,
      forget: (key) => void objects.delete(key),
      subscribe: () => () => {},
      trouble: undefined,
      lastHeardMs: 0,
    };
  }

  writer(): Writer {
    const answer = (object: KubeObject | undefined): Answer =>
      object === undefined ? { kind: 'notFound', message: 'not found' } : { kind: 'ok', status: 200, object };
    return {
      inFlight: 0,
      stop: async () => {},
      get: async ({ resource }, { namespace, name }) => answer(this.object(resource, keyOf(namespace, name))),
      create: async ({ resource }, object) => answer(this.put(resource, object)),
      patch: async ({ resource }, { namespace, name }, mergePatch) => {
        const before = this.object(resource, keyOf(namespace, name));
        if (before === undefined) return answer(undefined);
        return answer(this.put(resource, applyMergePatch(before as Json, mergePatch as Json) as unknown as KubeObject));
      },
      remove: async ({ resource }, { namespace, name }) => {
        const before = this.object(resource, keyOf(namespace, name));
        this.#of(resource).delete(keyOf(namespace, name));
        return answer(before);
      },
    };
  }

  #of(resource: string): Map<Key, KubeObject> {
    const known = this.#resources.get(resource) ?? new Map<Key, KubeObject>();
    this.#resources.set(resource, known);
    return known;
  }
}

/** An API server drops a map that has lost its last key. */
function withoutEmptyMaps({ labels, annotations, ...rest }: KubeObject['metadata']): KubeObject['metadata'] {
  return {
    ...rest,
    ...(labels && Object.keys(labels).length > 0 && { labels }),
    ...(annotations && Object.keys(annotations).length > 0 && { annotations }),
  };
}
