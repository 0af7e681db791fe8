// The kinds of host objects that `hostward release` looks for, each with the rule by which an object is ours. In: the settings. Out: the
// kinds. Pure.
import { endpointsResource, type ResourceRef } from '../../cluster/wire/scope.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { rulesOf } from '../../daemon/options/rules-of.ts';
import { type ContentKind, contentKinds } from '../../sync/kinds/content/content-kind.ts';
import { holdOf, isOwnCopy } from '../../sync/kinds/content/own-copy.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import { managedByLabel } from '../../sync/kinds/endpointslices/eligibility.ts';
import { endpointSlicesResource, tenantsManagerKey } from '../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { controlledByKey, objectKeys, pauseKey } from '../../sync/plan/keys/reserved-keys.ts';
import { annotatedKeyOf, type HostLook, isOursFor, isSamePlace } from '../../sync/plan/ownership.ts';
import type { Placement } from '../../sync/plan/placement.ts';

/** One kind of object that may carry our marks. */
export interface ReleasedKind {
  resource: ResourceRef;
  /** Written before the name in messages, because one run may release several kinds. */
  prefix: string;
  /** Whether an object without our label is ours by its annotations: somebody may have taken the label away. Absent: only the label counts. */
  isOursUnlabelled?(look: HostLook): boolean;
  /** Why an object must not be touched; undefined when it is ours. */
  reasonToLeave(look: HostLook): string | undefined;
  /** Leaves an object out without a message, because it is clearly not ours. */
  isSkipped?(look: Partial<HostLook>): boolean;
  /** Labels that an object gets when it is handed back. */
  labelsAfter?(look: Partial<HostLook>): Record<string, string | null>;
  /** A missing permission to list the kind is not a failure, because the configuration does not need the permission. */
  isOptional: boolean;
}

export function releasedKinds(settings: Settings, { isDelete }: { isDelete: boolean }): ReleasedKind[] {
  const { placement } = rulesOf(settings).translation;
  const endpoints: ReleasedKind = {
    resource: endpointsResource,
    prefix: '',
    isOursUnlabelled: (look) => {
      const key = annotatedKeyOf(look);
      // Its name says of which virtual cluster it is; all six annotations do not.
      return key !== undefined && isSamePlace(look, placement.placeOf(key)) && isOursFor(look, key, placement);
    },
    reasonToLeave: (look) => reasonToLeaveEndpoints(look, { placement, isDelete }),
    isOptional: false,
  };
  const slices: ReleasedKind = {
    ...endpoints,
    resource: endpointSlicesResource,
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

function reasonToLeaveEndpoints(
  look: HostLook,
  { placement, isDelete }: { placement: Placement; isDelete: boolean },
): string | undefined {
  const { annotations = {} } = look;
  const key = annotatedKeyOf(look);
  if (key === undefined || !isOursFor(look, key, placement)) return "it does not bear Hostward's marks";
  if (annotations[controlledByKey]) return `it is marked ${controlledByKey}="${annotations[controlledByKey]}"`;
  return isDelete && annotations[pauseKey] === 'true' ? `it is marked ${pauseKey}` : undefined;
}
