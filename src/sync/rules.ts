// From settings to the rules that sync works by: built once per configuration, shared by the live sync and by render.
import type { Settings } from '../config/settings.ts';
import { createAddressPolicy } from './address-policy.ts';
import { endpointsKind } from './endpoints/endpoints-kind.ts';
import { annotationRules, labelRules } from './keys.ts';
import type { SyncedKind } from './kind.ts';
import type { Patcher } from './patch/patcher.ts';
import { createPlacement, type NamespaceMapping } from './placement.ts';
import type { Rules } from './world.ts';

export type RuleSettings = Pick<
  Settings,
  'virtualClusterName' | 'hostNamespace' | 'backSync' | 'exclude' | 'addressPolicy'
>;

export function createRules(settings: RuleSettings, mapping: NamespaceMapping | undefined, patcher?: Patcher): Rules {
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
  };
  return {
    translation: {
      // The generic code hands a kind only what that kind projected itself.
      kind: endpointsKind as unknown as SyncedKind,
      placement,
      labels: labelRules(keys),
      annotations: annotationRules(keys),
      patchDigest: patcher?.digest ?? '',
    },
    policy: createAddressPolicy(settings.addressPolicy),
    patcher,
  };
}
