// Builds the rules of a configuration for commands that run without a daemon. The rules are the same as the daemon's.
import { mappingsOf } from '../../config/settings/host-namespaces.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import type { MirroredSlices } from '../../sync/kinds/endpointslices/eligibility.ts';
import { createEndpointSliceKind } from '../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { createRules, type SyncRules } from '../../sync/loop/pass/rules.ts';
import type { Patcher } from '../../sync/patch/run/patcher.ts';
import type { SyncedKind } from '../../sync/plan/kind.ts';

/** For questions whose answer no setting changes, such as the fields of a slice. */
export const anySliceKind: SyncedKind = createEndpointSliceKind({ mirrored: 'always', dropsNodeName: false });

export function rulesOf(settings: Settings, patcher?: Patcher, kind: SyncedKind = endpointsKind): SyncRules {
  return createRules(kind, settings, { mapping: mappingsOf(settings), patcher });
}

export function sliceKindOf({ endpointsEnabled, endpointSlices }: Settings): SyncedKind {
  const { mirrored, nodeName } = endpointSlices;
  const where: MirroredSlices = endpointsEnabled ? (mirrored ? 'withEndpoints' : 'never') : 'always';
  return createEndpointSliceKind({ mirrored: where, dropsNodeName: nodeName === 'drop' });
}

/** The kinds that a configuration can sync, each with the rules of its settings. */
export function kindsOf(settings: Settings): readonly SyncedKind[] {
  return [endpointsKind, sliceKindOf(settings)];
}
