// Plans the copy of a virtual object on the host: create, repair and remove. It never touches an object that is not ours. Pure.
import type { KubeObject } from '../../../object/meta/object.ts';
import { entriesOf } from '../../plan/keys/key-rules.ts';
import { instanceKey, labelKeysKey, markerLabel, namespaceLabel, objectKeys } from '../../plan/keys/reserved-keys.ts';
import { ownerReference, repairOwners } from '../../plan/owner.ts';
import { annotatedKeyOf, judgeOwnership } from '../../plan/ownership.ts';
import type { HostPlace } from '../../plan/placement.ts';
import { changeOfCopy, type HostContent, type VirtualContent } from './content-kind.ts';
import { ask, type ContentFacts, type ContentStep, done, notCounted } from './content-step.ts';
import { readOf, removalOf } from './import-plan.ts';
import { holdOf } from './own-copy.ts';

/** No window shows a copy without its label, so its end has to be looked for. */
const deletionRetryMs = 30_000;

export function planCopy(facts: ContentFacts, virtual: VirtualContent): ContentStep {
  const { copy, copyPlace } = facts;
  if (copyPlace === undefined) return done({ kind: 'settled', as: 'none' });
  if (copy === undefined) {
    if (facts.owner.kind === 'missing')
      return done({ kind: 'waiting', message: facts.owner.message, isForOwner: true });
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
    return done({ kind: 'waiting', message: 'the host copy is being deleted', retryAfterMs: deletionRetryMs });
  const change = changeOfCopy(virtual, copy);
  if (change.kind === 'unread') return readOf(virtual);
  // Only a copy with all its marks may be deleted, so a damaged one is repaired first.
  if (change.kind === 'replace' && ownership.isDeletable) return ask(removalOf(copy, 'host'));
  const metadata = metadataChange(facts, { virtual, copy, place: copyPlace });
  const members = change.kind === 'patch' ? change.members : undefined;
  if (metadata === undefined && members === undefined) return done({ kind: 'settled', as: 'exported' });
  const { uid, resourceVersion } = copy;
  const mergePatch = { metadata: { uid, resourceVersion, ...metadata }, ...members };
  return ask({ side: 'host', verb: 'patch', place: copyPlace, mergePatch });
}

/** Removes a copy that no object refers to, if it is provably ours. `as` is the outcome when nothing is left to do. */
export function planCopyRemoval(facts: ContentFacts, as: 'imported' | 'none'): ContentStep {
  const { copy } = facts;
  const settled = done({ kind: 'settled', as });
  if (copy === undefined || copy.isDeleting || holdOf(copy) !== undefined) return settled;
  const ownership = judgeOwnership(copy, facts.key, facts.placement);
  if (ownership.kind !== 'ours' || !ownership.isDeletable) return settled;
  if (!facts.mayRemove) return done({ kind: 'waiting', message: notCounted });
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

function tenantLabels({ labels }: ContentFacts, virtual: VirtualContent): [string, string][] {
  return [...entriesOf(virtual.labels)].flatMap(([key, value]) => {
    const hostKey = labels.toHost(key);
    return hostKey === undefined ? [] : [[hostKey, value] satisfies [string, string]];
  });
}

function labelsOf(facts: ContentFacts, virtual: VirtualContent): Map<string, string> {
  const labels = new Map(tenantLabels(facts, virtual));
  return labels.set(markerLabel, facts.placement.virtualCluster).set(namespaceLabel, virtual.namespace);
}

/** The tenant's annotations are not copied: host controllers read some of them from Secrets and act on them. */
function annotationsOf(facts: ContentFacts, { virtual, place }: Copied): Map<string, string> {
  const annotations = new Map<string, string>([
    [objectKeys.name, virtual.name],
    [objectKeys.namespace, virtual.namespace],
    [objectKeys.uid, virtual.uid],
    [objectKeys.kind, facts.kind.kindAnnotation],
    [objectKeys.hostName, place.name],
    [objectKeys.hostNamespace, place.namespace],
  ]);
  if (facts.placement.mode === 'mapped') annotations.set(instanceKey, facts.placement.instance);
  const copied = tenantLabels(facts, virtual).map(([key]) => key);
  if (copied.length > 0) annotations.set(labelKeysKey, copied.sort().join('\n'));
  return annotations;
}

/** Removes labels that an earlier copy set and this one lacks; all other labels on the copy belong to the host. */
function metadataChange(
  facts: ContentFacts,
  { virtual, copy, place }: Copied & { copy: HostContent },
): Record<string, unknown> | undefined {
  const wantedLabels = labelsOf(facts, virtual);
  const wantedAnnotations = annotationsOf(facts, { virtual, place });
  const set = (copy.annotations?.[labelKeysKey] ?? '').split('\n').filter((key) => key !== '');
  const labels = mapChange(wantedLabels, entriesOf(copy.labels), set);
  const annotations = mapChange(wantedAnnotations, entriesOf(copy.annotations), [labelKeysKey]);
  const ownerReferences = repairOwners(copy.ownerReferences, ownerReference(facts.owner, false));
  if (labels.size === 0 && annotations.size === 0 && ownerReferences === undefined) return undefined;
  return {
    ...(labels.size > 0 && { labels: Object.fromEntries(labels) }),
    ...(annotations.size > 0 && { annotations: Object.fromEntries(annotations) }),
    ...(ownerReferences && { ownerReferences }),
  };
}

function mapChange(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
  leftovers: readonly string[],
): Map<string, string | null> {
  const changes = new Map<string, string | null>();
  for (const [key, value] of wanted) if (found.get(key) !== value) changes.set(key, value);
  for (const key of leftovers) if (found.has(key) && !wanted.has(key)) changes.set(key, null);
  return changes;
}
