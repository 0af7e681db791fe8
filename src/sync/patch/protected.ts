// What no patch may change: identity, ownership, and the bookkeeping that keeps host copies apart. Paths to it are refused
// when the configuration loads; wildcards and whole maps do not see it; whatever an expression returns, it is put back.
import type { Segment } from '../../expression/path-grammar.ts';
import { managedAnnotationsKey, markerLabel, namespaceLabel, theSix } from '../words.ts';

const protectedMetadata = ['name', 'namespace', 'uid', 'resourceVersion', 'ownerReferences'];
/** Fields of metadata that the sync does not write at all, so that a patch of them could have no effect. */
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

export function isProtectedLabel(key: string): boolean {
  return (
    key === markerLabel ||
    key === namespaceLabel ||
    key.startsWith('vcluster.loft.sh/managed-') ||
    key.startsWith('hostward.dev/')
  );
}

export function isProtectedAnnotation(key: string): boolean {
  return (
    theSix.includes(key) ||
    key === managedAnnotationsKey ||
    key.startsWith('vcluster.loft.sh/managed-') ||
    key.startsWith('hostward.dev/')
  );
}

/** Why a path may not be patched; undefined when it may. `fieldsOfKind` are the payload's top-level keys. */
export function whyProtected(segments: readonly Segment[], fieldsOfKind: readonly string[]): string | undefined {
  const [root, field, key] = segments.map((segment) => (segment.kind === 'key' ? segment.key : undefined));
  if (root === 'apiVersion' || root === 'kind') return `"${root}" is protected`;
  if (root !== undefined && root !== 'metadata' && !fieldsOfKind.includes(root)) {
    return `there is no field "${root}"; the fields are metadata, ${fieldsOfKind.join(', ')}`;
  }
  if (root !== 'metadata' || field === undefined) return undefined;
  if (protectedMetadata.includes(field)) return `"metadata.${field}" is protected`;
  if (unwrittenMetadata.includes(field)) return `"metadata.${field}" is not synced`;
  if (field !== 'labels' && field !== 'annotations') return `there is no field "metadata.${field}"`;
  if (key === undefined) return undefined;
  const isProtected = field === 'labels' ? isProtectedLabel(key) : isProtectedAnnotation(key);
  return isProtected ? `"${key}" is bookkeeping of the sync and protected` : undefined;
}
