// Plans the copy of a virtual object on the host: create, repair and remove. It never touches an object that is not ours. Pure.
import type { KubeObject } from '../../../object/meta/object.ts';
import { fixedAnnotations, fixedLabels, present, translateKeys } from '../../plan/draft.ts';
import { mapOfKeys } from '../../plan/keys/key-rules.ts';
import { labelKeysKey, markerLabel } from '../../plan/keys/reserved-keys.ts';
import { ownerReference, repairOwners } from '../../plan/owner.ts';
import { annotatedKeyOf, judgeOwnership } from '../../plan/ownership.ts';
import type { HostPlace } from '../../plan/placement.ts';
import { type HostContent, mapChange, type VirtualContent } from './content-kind.ts';
import {
  alignStep,
  ask,
  type ContentFacts,
  type ContentStep,
  done,
  notCounted,
  readOf,
  removalOf,
} from './content-step.ts';
import { holdOf } from './own-copy.ts';

/** No window shows a copy without its label, so its end has to be looked for. */
const deletionRetryMs = 30_000;

export function planCopy(facts: ContentFacts, virtual: VirtualContent): ContentStep {
  const { copy, copyPlace } = facts;
  if (copyPlace === undefined) return done({ kind: 'settled', as: 'none' });
  if (copy === undefined) {
    if (facts.owner.kind === 'missing')
      return done({ kind: 'waiting', reason: 'OwnerMissing', message: facts.owner.message });
    if (virtual.content === undefined) return readOf(virtual);
    return ask({
      side: 'host',
      verb: 'create',
      object: render(facts, { virtual, place: copyPlace }),
      place: copyPlace,
    });
  }
  const ownership = judgeOwnership(copy, facts.key, facts.placement);
  if (ownership.kind !== 'ours') {
    if (isVclusters(copy, facts)) return done({ kind: 'settled', as: 'exported' });
    const message = `The host name of ${facts.kind.kind} "${facts.key}" is taken by an object that Hostward does not manage`;
    return done({ kind: 'refused', reason: 'NotOwned', message });
  }
  if (holdOf(copy) !== undefined) return done({ kind: 'settled', as: 'exported' });
  if (copy.isDeleting)
    return done({
      kind: 'waiting',
      reason: 'HostDeleting',
      message: 'the host copy is being deleted',
      retryAfterMs: deletionRetryMs,
    });
  // Only a copy with all its marks may be deleted, so a damaged one is repaired first.
  const metadata = metadataChange(facts, { virtual, copy, place: copyPlace });
  const how = { side: 'host', metadata, isReplaceable: ownership.isDeletable } as const;
  return alignStep(virtual, copy, how) ?? done({ kind: 'settled', as: 'exported' });
}

/** Removes a copy that no object refers to, if it is provably ours. `as` is the outcome when nothing is left to do. */
export function planCopyRemoval(facts: ContentFacts, as: 'imported' | 'none'): ContentStep {
  const { copy } = facts;
  const settled = done({ kind: 'settled', as });
  if (copy === undefined || copy.isDeleting || holdOf(copy) !== undefined) return settled;
  const ownership = judgeOwnership(copy, facts.key, facts.placement);
  if (ownership.kind !== 'ours' || !ownership.isDeletable) return settled;
  if (!facts.mayRemove) return done(notCounted);
  return ask(removalOf(copy, 'host'));
}

/** With namespace mapping vCluster's own syncer may keep its copy at the same place; then the content is there already. */
function isVclusters(copy: HostContent, { key, placement }: ContentFacts): boolean {
  return copy.labels?.[markerLabel] === placement.virtualCluster && annotatedKeyOf(copy) === key;
}

interface Copied {
  virtual: VirtualContent;
  place: HostPlace;
}

function render(facts: ContentFacts, copied: Copied): KubeObject {
  const owner = ownerReference(facts.owner, false);
  return {
    apiVersion: 'v1',
    kind: facts.kind.kind,
    metadata: {
      ...copied.place,
      labels: Object.fromEntries(labelsOf(facts, copied.virtual)),
      annotations: Object.fromEntries(annotationsOf(facts, copied)),
      ...(owner && { ownerReferences: [owner] }),
    },
    ...copied.virtual.content,
  };
}

function tenantLabels({ labels }: ContentFacts, virtual: VirtualContent): Map<string, string> {
  return translateKeys(mapOfKeys(virtual.labels), labels);
}

function labelsOf(facts: ContentFacts, virtual: VirtualContent): Map<string, string> {
  return new Map([...tenantLabels(facts, virtual), ...present(fixedLabels(virtual, facts))]);
}

/** The tenant's annotations are not copied: host controllers read some of them from Secrets and act on them. */
function annotationsOf(facts: ContentFacts, { virtual, place }: Copied): Map<string, string> {
  const annotations = new Map(present(fixedAnnotations(virtual, place, facts)));
  const copied = [...tenantLabels(facts, virtual).keys()];
  if (copied.length > 0) annotations.set(labelKeysKey, copied.sort().join('\n'));
  return annotations;
}

/** Removes labels that an earlier copy set and this one lacks; all other labels on the copy belong to the host. */
function metadataChange(
  facts: ContentFacts,
  { virtual, copy, place }: Copied & { copy: HostContent },
): object | undefined {
  const set = (copy.annotations?.[labelKeysKey] ?? '').split('\n').filter((key) => key !== '');
  const labels = mapChange(labelsOf(facts, virtual), mapOfKeys(copy.labels), set);
  const wanted = annotationsOf(facts, { virtual, place });
  const annotations = mapChange(wanted, mapOfKeys(copy.annotations), [labelKeysKey]);
  const ownerReferences = repairOwners(copy.ownerReferences, ownerReference(facts.owner, false));
  if (labels === undefined && annotations === undefined && ownerReferences === undefined) return undefined;
  return {
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
  };
}
