// What both sides hold, for comparing: between two moments of one run by versions, between two runs by contents.

import type { World } from '../play/world.ts';
import { type RigResource, rigSides } from '../stage/rig-cluster.ts';

const compared: readonly RigResource[] = ['endpoints', 'endpointslices', 'secrets', 'configmaps'];

/** Every object with its version. */
export function versionsOf(world: Pick<World, 'clusters'>): Map<string, string> {
  const found = new Map<string, string>();
  for (const side of rigSides)
    for (const resource of compared)
      for (const { metadata } of world.clusters[side].objects(resource))
        found.set(
          `${side} ${resource} ${metadata.namespace}/${metadata.name}`,
          `${metadata.uid}@${metadata.resourceVersion}`,
        );
  return found;
}

export function differenceOf<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key));
}

/** Every object without versions and times, and with names in place of uids, which chance has drawn. */
export function contentsOf(world: World): Map<string, string> {
  const names = new Map<string, string>();
  for (const side of rigSides)
    for (const { key, before, after } of world.clusters[side].store.written)
      for (const object of [before, after])
        if (object?.metadata.uid) names.set(object.metadata.uid, `uid of ${side} ${key}`);
  const found = new Map<string, string>();
  for (const side of rigSides)
    for (const resource of compared)
      for (const { metadata, ...rest } of world.clusters[side].objects(resource)) {
        // Kubernetes' own, which holds the port of the API server.
        if (metadata.namespace === 'default') continue;
        const {
          uid: _,
          resourceVersion: __,
          creationTimestamp: ___,
          managedFields: ____,
          generation: _____,
          ...kept
        } = metadata;
        // A crash between the two writes of a back-flow loses who set the value: bookkeeping, and both sides hold the same.
        const { 'hostward.dev/base': ______, ...annotations } = kept.annotations ?? {};
        const text = JSON.stringify({ ...rest, metadata: { ...kept, annotations } }, (_key, value: unknown) =>
          typeof value === 'string' ? (names.get(value) ?? value) : sortedKeys(value),
        );
        found.set(`${side} ${resource} ${metadata.namespace}/${metadata.name}`, text);
      }
  return found;
}

function sortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
