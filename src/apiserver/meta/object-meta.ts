// The metadata that the server writes into every object, at birth and at a change.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Strategy } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';

/** RFC 3339 in whole seconds, as all of metadata's times. */
export function timestamp(wall: Date): string {
  const second = Math.floor(wall.getTime() / 1000);
  // Thousands of writes share a second.
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = `${wall.toISOString().slice(0, 19)}Z`;
  }
  return lastText;
}

let lastSecond = Number.NaN;
let lastText = '';

/** What only the server may say at birth. */
export function fillNewMeta(object: KubeObject, call: Call, now: string): void {
  const { metadata } = object;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.resourceVersion;
  dropSelfLink(metadata);
  metadata.creationTimestamp = now;
  metadata.uid = call.kit.randomness.uid();
  if (call.kind.strategy.countsGenerations === true) metadata.generation = 1;
}

/** What a client may leave out of an update, and what it cannot take back, comes from the stored object. */
export function carryMetaOver(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  if (metadata.uid === undefined || metadata.uid === '') carry(metadata, old.metadata, 'uid');
  carry(metadata, old.metadata, 'creationTimestamp');
  dropSelfLink(metadata);
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

/** Accepted for the sake of old clients, never kept. */
function dropSelfLink(metadata: object): void {
  delete (metadata as { selfLink?: unknown }).selfLink;
}

/** Owner references with a uid that another one has already; the client is told. */
export function withoutDoubleOwners(object: KubeObject, call: Call): void {
  const references = object.metadata.ownerReferences;
  if (references === undefined || references.length < 2) return;
  const seen = new Set<string>();
  const kept = references.filter(({ uid }) => !seen.has(uid) && seen.add(uid));
  if (kept.length === references.length) return;
  const counted = references.filter(({ uid }, index) => references.findIndex((other) => other.uid === uid) !== index);
  const uids = [...new Set(counted.map(({ uid }) => uid))].join(', ');
  const when = call.target.verb === 'patch' ? ' after mutating admission happens' : '';
  call.warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`,
  );
  object.metadata.ownerReferences = kept;
}

/** A generation is a change of what somebody wants: everything but metadata and status. */
export function countGeneration(object: KubeObject, old: KubeObject, strategy: Strategy, wantChanged: boolean): void {
  if (strategy.countsGenerations !== true) return;
  const before = old.metadata.generation ?? 0;
  object.metadata.generation = wantChanged ? before + 1 : before;
}
