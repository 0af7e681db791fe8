// Protected fields and keys: identity, ownership, and the bookkeeping that keeps host copies apart. Paths to them are refused
// when the configuration loads, wildcards and whole maps do not contain them, and they are restored after every expression.
import { pathText, type Segment } from '../../../expression/path/path-grammar.ts';
import { nearestKey } from '../../../object/meta/nearest-key.ts';
import { isReserved, isRewrittenLabel } from '../../plan/keys/reserved-keys.ts';
import type { SyncedKind } from '../../plan/kind.ts';

const protectedMetadata = ['name', 'namespace', 'uid', 'resourceVersion', 'ownerReferences'];
/** Fields of metadata that sync never writes: a patch of them would have no effect. */
const unwrittenMetadata = [
  'generateName',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'finalizers',
  'managedFields',
  'selfLink',
];

const metadataMaps = ['labels', 'annotations'];

/** A reserved key on a host copy is an order to us, such as to leave the copy alone, so only the host's people may write one. */
export function isProtectedLabel(key: string, { ownLabels }: Pick<SyncedKind, 'ownLabels'>): boolean {
  return ownLabels.includes(key) || (isReserved(key) && !isRewrittenLabel(key));
}

export function isProtectedAnnotation(key: string): boolean {
  return isReserved(key);
}

export interface PathRefusal {
  why: string;
  fix: string;
}

/** What a path may reach in the objects of a kind. */
export type PatchTarget = Pick<
  SyncedKind,
  'kind' | 'payloadFields' | 'protectedFields' | 'ownLabels' | 'meantPath' | 'payloadShape'
>;

/** Why a path may not be patched; undefined when it may. */
export function whyProtected(segments: readonly Segment[], target: PatchTarget): PathRefusal | undefined {
  const { protectedFields } = target;
  const fieldsOfKind = target.payloadFields.filter((field) => !protectedFields.includes(field));
  const [root, field, key] = segments.map((segment) => (segment.kind === 'key' ? segment.key : undefined));
  if (root === 'apiVersion' || root === 'kind' || protectedFields.includes(root ?? ''))
    return refusal(`"${root}" is protected and cannot be patched`);
  if (root !== undefined && root !== 'metadata' && !fieldsOfKind.includes(root)) {
    const why = `there is no field "${root}"; the fields are metadata, ${fieldsOfKind.join(', ')}`;
    const meant = target.meantPath?.(segments.map((segment) => (segment.kind === 'key' ? segment.key : '*')));
    if (meant !== undefined) return { why: `no ${target.kind} has a field "${root}"`, fix: `write ${meant}` };
    const levels = root.split('/');
    const isSlashed =
      levels.length > 1 && segments.length === 1 && ['metadata', ...fieldsOfKind].includes(levels[0] ?? '');
    if (isSlashed) return refusal(`${why}; levels are separated by dots`, pathText(levels));
    const ofMetadata = nearestKey(root, metadataMaps);
    return refusal(why, nearestKey(root, ['metadata', ...fieldsOfKind]) ?? (ofMetadata && `metadata.${ofMetadata}`));
  }
  if (root !== 'metadata' || field === undefined) return undefined;
  if (protectedMetadata.includes(field)) return refusal(`"metadata.${field}" is protected and cannot be patched`);
  if (unwrittenMetadata.includes(field)) return refusal(`"metadata.${field}" is not synced and cannot be patched`);
  if (!metadataMaps.includes(field)) {
    const meant = nearestKey(field, metadataMaps);
    return refusal(`there is no field "metadata.${field}"`, meant && `metadata.${meant}`);
  }
  if (key === undefined) return undefined;
  const isProtected = field === 'labels' ? isProtectedLabel(key, target) : isProtectedAnnotation(key);
  return isProtected ? refusal(`"${key}" is reserved for the sync and cannot be patched`) : undefined;
}

function refusal(why: string, meant?: string): PathRefusal {
  const fix = meant === undefined ? 'patch labels, annotations or the fields of the object itself' : `write ${meant}`;
  return { why, fix };
}
