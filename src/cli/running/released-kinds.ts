// The kinds of host objects that `hostward release` looks for, each with the rule by which an object is ours. In: the settings. Out: the
// kinds. Pure.
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { anySliceKind, rulesOf } from '../../daemon/options/rules-of.ts';
import type { OwnerReference } from '../../object/meta/object.ts';
import { type ContentKind, contentKinds } from '../../sync/kinds/content/content-kind.ts';
import { holdOf, isOwnCopy } from '../../sync/kinds/content/own-copy.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import { managedByLabel } from '../../sync/kinds/endpointslices/eligibility.ts';
import { tenantsManagerKey } from '../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { controlledByKey, markerLabel, objectKeys, pauseKey } from '../../sync/plan/keys/reserved-keys.ts';
import type { SyncedKind } from '../../sync/plan/kind.ts';
import { isOwnerOfCopies } from '../../sync/plan/owner.ts';
import { annotatedKeyOf, doubtOf, type HostLook, hasMarks, isOursFor, isSamePlace } from '../../sync/plan/ownership.ts';
import type { Placement } from '../../sync/plan/placement.ts';

/** A look with the owners, which only a delete asks for. */
export interface OwnedLook extends HostLook {
  owners?: readonly OwnerReference[];
}

/** One kind of object that may carry our marks. */
export interface ReleasedKind {
  resource: ResourceRef;
  /** Written before the name in messages, because one run may release several kinds. */
  prefix: string;
  /** Whether an object without our label may be ours by its annotations: somebody may have taken the label away. Absent: only the label counts. */
  isMeantUnlabelled?(look: HostLook): boolean;
  /** Why an object must not be touched; undefined when it is ours. */
  reasonToLeave(look: OwnedLook): string | undefined;
  /** Leaves an object out without a message, because it is clearly not ours. */
  isSkipped?(look: Partial<HostLook>): boolean;
  /** Labels that an object gets when it is handed back. */
  labelsAfter?(look: Partial<HostLook>): Record<string, string | null>;
  /** A missing permission to list the kind is not a failure, because the configuration does not need the permission. */
  isOptional: boolean;
}

export function releasedKinds(settings: Settings, { isDelete }: { isDelete: boolean }): ReleasedKind[] {
  const { placement } = rulesOf(settings).translation;
  const kindTarget = ({ resource, kindAnnotation }: SyncedKind) => ({
    resource,
    isMeantUnlabelled: (look: HostLook): boolean => {
      // The label of another virtual cluster counts, unless all else, the name included, says that the object is ours.
      if (!look.labels?.[markerLabel]) return hasMarks(look);
      const key = annotatedKeyOf(look);
      return key !== undefined && isSamePlace(look, placement.placeOf(key)) && isOursFor(look, key, placement);
    },
    reasonToLeave: (look: OwnedLook) =>
      doubtOf(look, kindAnnotation, placement) ?? reasonToLeaveOurs(look, { placement, isDelete }),
  });
  const endpoints: ReleasedKind = { ...kindTarget(endpointsKind), prefix: '', isOptional: false };
  const slices: ReleasedKind = {
    ...kindTarget(anySliceKind),
    prefix: 'EndpointSlice ',
    // The host's own slices of our Endpoints copies have the same annotations, for another kind.
    isSkipped: ({ annotations }) => annotations?.[objectKeys.kind] === endpointsKind.kindAnnotation,
    isOptional: !settings.endpointSlices.enabled,
    labelsAfter: ({ annotations }) => ({ [managedByLabel]: annotations?.[tenantsManagerKey] ?? null }),
  };
  // Without --delete the copied Secrets and ConfigMaps stay, because the Endpoints that vCluster takes over name them.
  return [endpoints, slices, ...(isDelete ? contentKinds.map((kind) => contentTarget(kind, settings, placement)) : [])];
}

function contentTarget(kind: ContentKind, settings: Settings, placement: Placement): ReleasedKind {
  return {
    resource: kind.resource,
    prefix: `${kind.kind} `,
    reasonToLeave: (look) => (isOwnCopy(look, kind, placement) ? holdOf(look) : 'no reference patch made it'),
    isOptional: ![...settings.patches, ...settings.slicePatches].some(({ reference }) => reference?.kind === kind.kind),
  };
}

function reasonToLeaveOurs(
  { annotations = {}, owners = [] }: OwnedLook,
  { placement, isDelete }: { placement: Placement; isDelete: boolean },
): string | undefined {
  if (annotations[controlledByKey]) return `it is marked ${controlledByKey}="${annotations[controlledByKey]}"`;
  if (!isDelete) return undefined;
  if (annotations[pauseKey] === 'true') return `it is marked ${pauseKey}`;
  const other = owners.find((one) => one.controller === true && !isOwnerOfCopies(one, placement));
  return other && `its controller is ${other.kind} "${other.name}"`;
}
