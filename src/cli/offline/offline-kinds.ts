// The kinds that the offline commands render, each with its patches. In: a configuration. Out: for each kind its rules and its
// compiled patches.
import type { Settings } from '../../config/settings/settings.ts';
import type { KindPatches, LoadedPatches } from '../../daemon/options/load-patches.ts';
import { sliceKindOf } from '../../daemon/options/rules-of.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import type { EndpointSubset } from '../../sync/kinds/endpoints/items.ts';
import { normalizeSubsets } from '../../sync/kinds/endpoints/subsets.ts';
import { normalPayload } from '../../sync/kinds/endpointslices/payload.ts';
import type { OpenedPatcher } from '../../sync/patch/run/open-patcher.ts';
import type { Patcher } from '../../sync/patch/run/patcher.ts';
import type { SyncedKind } from '../../sync/plan/kind.ts';

export interface OfflineKind {
  kind: SyncedKind;
  patches: KindPatches;
  patcherIn(opened: OpenedPatcher | undefined): Patcher | undefined;
}

export function offlineKinds(settings: Settings, compiled: LoadedPatches): readonly OfflineKind[] {
  return [
    {
      kind: endpointsKind,
      patches: compiled,
      patcherIn: (opened) => (compiled.set.patches.length > 0 ? opened?.patcher : undefined),
    },
    { kind: sliceKindOf(settings), patches: compiled.slices, patcherIn: (opened) => opened?.others?.patcher },
  ];
}

const offlineKindNames: readonly string[] = ['Endpoints', 'EndpointSlice'];

export function isOfflineKind({ kind }: { kind?: unknown }): boolean {
  return offlineKindNames.includes(kind as string);
}

export function hasPatches({ set, slices }: LoadedPatches): boolean {
  return set.patches.length + slices.set.patches.length > 0;
}

/** Adds the defaults of an API server, so that an expected file need not spell them out. */
export function withServerDefaults(object: KubeObject): KubeObject {
  if (object.kind === 'EndpointSlice') {
    const { addressType, endpoints, ports } = normalPayload(object as never);
    const { addressType: _type, endpoints: _endpoints, ports: _ports, ...rest } = object;
    const apiVersion = object.apiVersion ?? 'discovery.k8s.io/v1';
    return { ...rest, apiVersion, addressType, endpoints, ...(ports.length > 0 && { ports }) } as KubeObject;
  }
  if (object.kind !== endpointsKind.kind) return object;
  const { subsets, ...rest } = object;
  const stored = normalizeSubsets(subsets as EndpointSubset[] | undefined);
  return {
    ...rest,
    apiVersion: object.apiVersion ?? endpointsKind.apiVersion,
    ...(stored.length > 0 && { subsets: stored }),
  };
}
