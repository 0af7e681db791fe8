// Decides the next step for the content of one object that references name or named: a copy of the virtual object on the host,
// a copy of the host object in the virtual cluster, or neither. Pure. In: facts. Out: one request or an end.
//
//   virtual object   host object with the label   referred to   result
//   the tenant's     any                           yes           exported under the host name
//   the tenant's     any                           no            no copy of it on the host
//   none             there                         yes           imported under its own name
//   imported         there, that uid               yes           kept as the host has it
//   imported         there, that uid               no            the import goes
//   imported         there, that uid, no label     any           the import goes
//   imported         gone, or another uid          any           the mark means nothing: the tenant's

import { type KubeObject, splitKey } from '../../../object/meta/object.ts';
import { importedFromKey, importedLabel } from '../../plan/keys/reserved-keys.ts';
import type { HostPlace } from '../../plan/placement.ts';
import { type HostContent, isToken, type VirtualContent } from './content-kind.ts';
import { alignStep, ask, type ContentFacts, type ContentStep, done, notCounted, removalOf } from './content-step.ts';
import { planCopy, planCopyRemoval } from './copy-plan.ts';
import { holdOf } from './own-copy.ts';

/** An import is allowed as long as the host object with that uid exists and carries the label. */
export function isImport(virtual: VirtualContent | undefined, importable: HostContent | undefined): boolean {
  return virtual?.importedFrom !== undefined && virtual.importedFrom === importable?.uid;
}

export function planContent(facts: ContentFacts): ContentStep {
  const step = planHere(facts);
  // Copies that an operator holds must not keep the others from going.
  const stray = facts.strays.find((copy) => !copy.isDeleting && holdOf(copy) === undefined);
  // The right place comes first, so that readers are never without a copy. A stray of another key in the way may itself wait
  // for this one, so then the stray of this key goes first.
  if (step.kind === 'request' || stray === undefined) return step;
  if (step.outcome.kind !== 'settled' && step.outcome.kind !== 'refused') return step;
  return facts.mayRemove ? ask(removalOf(stray, 'host')) : done(notCounted);
}

function planHere(facts: ContentFacts): ContentStep {
  const { virtual, importable, importPlace } = facts;
  if (virtual?.importedFrom !== undefined && importable === undefined && importPlace !== undefined) {
    if (facts.lost === 'unknown') return ask({ side: 'host', verb: 'get', place: importPlace });
    if (facts.lost === 'there') return done({ kind: 'retry' });
    if (facts.lost === 'unlabelled' && virtual.isDeleting === undefined) return ask(removalOf(virtual, 'virtual'));
  }
  if (virtual !== undefined && isImport(virtual, importable)) {
    return planImport(facts, { virtual, importable: importable as HostContent }) ?? planCopyRemoval(facts, 'imported');
  }
  if (virtual === undefined && importable !== undefined && facts.isReferenced) {
    return ask({ side: 'virtual', verb: 'create', ...renderImport(facts, importable) });
  }
  if (virtual === undefined || !facts.isExported || !facts.isReferenced) return planCopyRemoval(facts, 'none');
  if (isToken(virtual)) {
    const removal = planCopyRemoval(facts, 'none');
    if (removal.kind === 'request' || removal.outcome.kind === 'waiting') return removal;
    const message = `${facts.kind.kind} "${facts.key}" holds the token of a service account, which is not copied to the host`;
    return done({ kind: 'refused', reason: 'ReferenceRefused', message });
  }
  return planCopy(facts, virtual);
}

const importLabels = { [importedLabel]: 'true' };

function isMarkedImport({ labels }: VirtualContent): boolean {
  return labels?.[importedLabel] === 'true';
}

function renderImport(facts: ContentFacts, importable: HostContent): { object: KubeObject; place: HostPlace } {
  const place = splitKey(facts.key);
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: facts.kind.kind,
    // The tenant asked for the content; the host's labels and annotations have a meaning on the host only.
    metadata: { ...place, labels: importLabels, annotations: { [importedFromKey]: importable.uid } },
    ...importable.content,
  };
  return { object, place };
}

/** Undefined when the import is as it should be. */
function planImport(
  facts: ContentFacts,
  { virtual, importable }: { virtual: VirtualContent; importable: HostContent },
): ContentStep | undefined {
  if (virtual.isDeleting) return undefined;
  if (!facts.isReferenced) {
    if (facts.mayRemove) return ask(removalOf(virtual, 'virtual'));
    return done(notCounted);
  }
  const metadata = isMarkedImport(virtual) ? undefined : { labels: importLabels };
  return alignStep(importable, virtual, { side: 'virtual', metadata, isReplaceable: true });
}
