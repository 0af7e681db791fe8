// Collects what a plan has to know about one piece of content: both sides as the windows show them, and what the pass has
// learned since. Reads only.
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { isImport } from '../../kinds/content/content-plan.ts';
import type { ContentFacts } from '../../kinds/content/content-step.ts';
import type { PassMemory } from '../../kinds/content/pass-memory.ts';
import type { OwnerState } from '../../plan/owner.ts';
import type { ReferenceRegistry } from '../../references/registry.ts';
import type { ContentWorld } from './content-world.ts';

export interface FactSources {
  world: ContentWorld;
  registry: ReferenceRegistry;
  owner: () => OwnerState;
  /** Whether a host copy that stayed because its pass failed may still name this place. */
  isMentioned: (hostName: string) => boolean;
  /** A list of the referring objects is in doubt: the content that they referred to stays. */
  isListInDoubt: () => boolean;
  /** The list of the content itself is in doubt. */
  isWithheld: (key: Key) => boolean;
  /** The mark of an import whose host object was read and is gone. */
  goneMarkOf: (key: Key) => string | undefined;
}

export function contentFactsOf(
  key: Key,
  memory: PassMemory,
  { world, registry, owner, isListInDoubt, isMentioned, isWithheld, goneMarkOf }: FactSources,
): ContentFacts {
  const { translation } = world.rules;
  const seen = world.windows.virtual.get(key);
  // The answer counts until something newer is seen.
  const virtual = seen !== undefined && seen.resourceVersion === memory.read?.resourceVersion ? memory.read : seen;
  const copyPlace = world.copyPlaceOf(key);
  const importPlace = world.importPlaceOf(key);
  const copyKey = copyPlace && keyOf(copyPlace.namespace, copyPlace.name);
  const isKnownGone = virtual?.importedFrom !== undefined && goneMarkOf(key) === virtual.importedFrom;
  // The tenant may have created another object in its place since.
  const lost = virtual?.importedFrom === memory.lostMark ? memory.lost : 'unknown';
  const mayRemove =
    registry.isComplete &&
    !isListInDoubt() &&
    !isWithheld(key) &&
    !(copyPlace !== undefined && isMentioned(copyPlace.name));
  return {
    key,
    kind: world.kind,
    placement: translation.placement,
    labels: translation.labels,
    virtual,
    copyPlace,
    copy: copyKey === undefined ? undefined : (world.windows.copies.get(copyKey) ?? memory.unmarked),
    strays: world.straysOf(key),
    importPlace,
    importable: world.importableAt(importPlace),
    lost: isKnownGone ? 'gone' : lost,
    isReferenced: registry.isReferenced(world.referenceOf(key)),
    mayRemove,
    isExported: world.isExported,
    owner: owner(),
  };
}

/** The versions of everything that a copy depends on, without the copy itself. */
export function versionOf({ virtual, importable, isReferenced, isExported, owner }: ContentFacts): string {
  // For an import the virtual object is the copy.
  const own = isImport(virtual, importable) ? undefined : virtual?.resourceVersion;
  const versions = [virtual?.uid, own, importable?.uid, importable?.resourceVersion];
  return [...versions, isReferenced, isExported, owner.kind === 'present' ? owner.uid : owner.kind].join(' ');
}
