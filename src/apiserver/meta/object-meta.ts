// Sets the metadata that only the server may set, at create and at update.

import type { KubeObject } from '../../object/meta/object.ts';
import { equalJson } from '../../object/text/json.ts';
import type { Strategy } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';

/** RFC 3339 in whole seconds, like every time in metadata. */
export function timestamp(wall: Date): string {
  const second = Math.floor(wall.getTime() / 1000);
  // Thousands of writes can fall into one second, so the text is kept for the whole second.
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = `${wall.toISOString().slice(0, 19)}Z`;
  }
  return lastText;
}

let lastSecond = Number.NaN;
let lastText = '';

/** Replaces the server's own fields in the metadata of a new object, even if the client sent some. */
export function fillNewMeta(object: KubeObject, call: Call, now: string): void {
  const { metadata } = object;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.resourceVersion;
  dropSelfLink(metadata);
  metadata.creationTimestamp = now;
  metadata.uid = call.kit.randomness.uid();
  if (call.kind.strategy.countsGenerations) metadata.generation = 1;
}

/** Copies the fields that a client may omit or must not change from the stored object. */
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

/** Old clients still send selfLink; the server accepts the field and never stores it. */
function dropSelfLink(metadata: object): void {
  delete (metadata as { selfLink?: unknown }).selfLink;
}

/** Removes owner references that repeat a uid, and warns the client. */
export function withoutDoubleOwners(object: KubeObject, call: Call): void {
  const references = object.metadata.ownerReferences;
  if (references === undefined || references.length < 2) return;
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const kept = references.filter(({ uid }) => {
    if (!seen.has(uid)) return seen.add(uid);
    repeated.add(uid);
    return false;
  });
  if (repeated.size === 0) return;
  const uids = [...repeated].join(', ');
  const when = call.target.verb === 'patch' ? ' after mutating admission happens' : '';
  call.warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`,
  );
  object.metadata.ownerReferences = kept;
}

/** The generation counts changes of the desired state: every field except metadata and status; for some kinds also labels. */
export function countGeneration(object: KubeObject, old: KubeObject, strategy: Strategy, hasChanged: boolean): void {
  if (!strategy.countsGenerations) return;
  const before = old.metadata.generation ?? 0;
  const hasOtherLabels =
    strategy.countsGenerations === 'withLabels' && !equalJson(object.metadata.labels ?? {}, old.metadata.labels ?? {});
  object.metadata.generation = hasChanged || hasOtherLabels ? before + 1 : before;
}
