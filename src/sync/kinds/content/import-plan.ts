// Plans the copy of a host object in the virtual cluster: create, keep equal to the host's, and remove. Pure.
import { type KubeObject, splitKey } from '../../../object/meta/object.ts';
import { importedFromKey } from '../../plan/keys/reserved-keys.ts';
import type { HostPlace } from '../../plan/placement.ts';
import { changeOfImport, type HostContent, type VirtualContent } from './content-kind.ts';
import { ask, type ContentFacts, type ContentRequest, type ContentStep, done, notCounted } from './content-step.ts';

export function renderImport(facts: ContentFacts, importable: HostContent): { object: KubeObject; place: HostPlace } {
  const place = splitKey(facts.key);
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: facts.kind.kind,
    // The tenant asked for the content; the host's labels and annotations have a meaning on the host only.
    metadata: { ...place, annotations: { [importedFromKey]: importable.uid } },
    ...importable.content,
  };
  return { object, place };
}

/** Undefined when the import is as it should be. */
export function planImport(
  facts: ContentFacts,
  { virtual, importable }: { virtual: VirtualContent; importable: HostContent },
): ContentStep | undefined {
  if (virtual.isDeleting) return undefined;
  if (!facts.isReferenced) {
    if (facts.mayRemove) return { kind: 'request', request: removalOf(virtual, 'virtual') };
    return done({ kind: 'waiting', message: notCounted });
  }
  const change = changeOfImport(importable, virtual);
  switch (change.kind) {
    case 'same':
      return undefined;
    case 'unread':
      return readOf(virtual);
    case 'replace':
      return { kind: 'request', request: removalOf(virtual, 'virtual') };
    case 'patch': {
      const { uid, resourceVersion } = virtual;
      const mergePatch = { metadata: { uid, resourceVersion }, ...change.members };
      return { kind: 'request', request: { side: 'virtual', verb: 'patch', place: placeOf(virtual), mergePatch } };
    }
    default:
      return change satisfies never;
  }
}

export function readOf(virtual: VirtualContent): ContentStep {
  return ask({ side: 'virtual', verb: 'get', place: placeOf(virtual) });
}

export function removalOf(item: VirtualContent | HostContent, side: 'host' | 'virtual'): ContentRequest {
  const { uid, resourceVersion } = item;
  return { side, verb: 'remove', place: placeOf(item), preconditions: { uid, resourceVersion } };
}

function placeOf({ namespace, name }: HostPlace): HostPlace {
  return { namespace, name };
}
