// The kinds that a daemon syncs: one line for each, with what the settings say of it. What a kind does lies in its folder.
import type { Settings } from '../../config/settings/settings.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import type { OpenedPatcher } from '../../sync/patch/run/open-patcher.ts';
import type { Patcher } from '../../sync/patch/run/patcher.ts';
import type { SyncedKind } from '../../sync/plan/kind.ts';
import { sliceKindOf } from '../options/rules-of.ts';
import { type NeededFor, type Permissions, slicePermissions } from './permissions.ts';

export interface RegisteredKind {
  of: (settings: Settings) => SyncedKind;
  isOn: (settings: Settings) => boolean;
  patcherOf?: (opened: OpenedPatcher) => Patcher | undefined;
  /** The daemon goes on without the kind while these rights are missing. Without this member they are checked at the start. */
  rights?: (needs: Pick<NeededFor, 'copyNamespaces' | 'isDryRun'>) => Permissions;
}

export const endpoints: RegisteredKind = {
  of: () => endpointsKind,
  isOn: (settings) => settings.endpointsEnabled,
  patcherOf: ({ patcher }) => (patcher.set.patches.length > 0 ? patcher : undefined),
};

export const slices: RegisteredKind = {
  of: sliceKindOf,
  isOn: (settings) => settings.endpointSlices.enabled,
  patcherOf: ({ others }) => others?.patcher,
  rights: slicePermissions,
};

/** In the order in which they begin. */
export const registeredKinds: readonly RegisteredKind[] = [endpoints, slices];
