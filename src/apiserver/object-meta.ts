// The metadata that the server writes into every object, at birth and at a change.
import type { KubeObject } from '../object/object.ts';
import type { Strategy } from './kind.ts';
import type { Call } from './kit.ts';

/** RFC 3339 in whole seconds, as all of metadata's times. */
export function timestamp(wall: Date): string {
  return `${wall.toISOString().slice(0, 19)}Z`;
}

/** What only the server may say at birth. */
export function fillNewMeta(object: KubeObject, call: Call, now: string): void {
  const { metadata } = object;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.resourceVersion;
  metadata.creationTimestamp = now;
  metadata.uid = call.kit.randomness.uid();
  if (call.kind.strategy.countsGenerations === true) metadata.generation = 1;
  else delete metadata.generation;
}

/** What a client may leave out of an update, and what it cannot take back, comes from the stored object. */
export function carryMetaOver(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  if (metadata.uid === undefined || metadata.uid === '') carry(metadata, old.metadata, 'uid');
  if (metadata.creationTimestamp === undefined || metadata.creationTimestamp === null) {
    carry(metadata, old.metadata, 'creationTimestamp');
  }
  if (old.metadata.deletionTimestamp !== undefined) {
    carry(metadata, old.metadata, 'deletionTimestamp');
    carry(metadata, old.metadata, 'deletionGracePeriodSeconds');
  }
  carry(metadata, old.metadata, 'generation');
}

function carry<T extends object>(into: T, from: T, field: keyof T): void {
  if (from[field] === undefined) delete into[field];
  else into[field] = from[field];
}

/** A generation is a change of what somebody wants: everything but metadata and status. */
export function countGeneration(object: KubeObject, old: KubeObject, strategy: Strategy, wantChanged: boolean): void {
  if (strategy.countsGenerations !== true) return;
  const before = old.metadata.generation ?? 0;
  object.metadata.generation = wantChanged ? before + 1 : before;
}
