// Builds the rules of sync from the settings, once per configuration; the live sync and render share them.
import type { Settings } from '../../../config/settings/settings.ts';
import type { Patcher } from '../../patch/run/patcher.ts';
import { createAddressPolicy } from '../../plan/address-policy.ts';
import { annotationRules, labelRules } from '../../plan/keys/key-rules.ts';
import type { SyncedKind } from '../../plan/kind.ts';
import { createPlacement, type NamespaceMapping } from '../../plan/placement.ts';
import type { Rules } from '../../world/sources.ts';
import type { World } from '../../world/world.ts';

export type RuleSettings = Pick<
  Settings,
  'virtualClusterName' | 'hostNamespace' | 'backSync' | 'exclude' | 'addressPolicy'
>;

/** The rules of the world, and the patcher, which only the loop needs. */
export interface SyncRules extends Rules {
  /** Undefined without patches. */
  patcher: Patcher | undefined;
}

export type SyncWorld = World<SyncRules>;

export function createRules(
  kind: SyncedKind,
  settings: RuleSettings,
  { mapping, patcher }: { mapping?: NamespaceMapping | undefined; patcher?: Patcher | undefined } = {},
): SyncRules {
  const placement = createPlacement({
    virtualCluster: settings.virtualClusterName,
    hostNamespace: settings.hostNamespace,
    mapping,
  });
  const keys = {
    virtualCluster: settings.virtualClusterName,
    mode: placement.mode,
    backSync: settings.backSync,
    exclude: settings.exclude,
    controllerKeyPrefixes: kind.controllerKeyPrefixes,
    ownLabels: kind.ownLabels,
  };
  return {
    translation: {
      kind,
      placement,
      labels: labelRules(keys),
      annotations: annotationRules(keys),
      patchDigest: patcher?.digests.ofSet ?? '',
    },
    policy: createAddressPolicy(settings.addressPolicy),
    isPatched: patcher !== undefined,
    patcher,
  };
}
