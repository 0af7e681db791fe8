// Builds the rules of a configuration for commands that run without a daemon. The rules are the same as the daemon's.
import { mappingsOf } from '../config/settings/host-namespaces.ts';
import type { Settings } from '../config/settings/settings.ts';
import { endpointsKind } from '../sync/endpoints/endpoints-kind.ts';
import { createRules, type SyncRules } from '../sync/loop/rules.ts';
import type { Patcher } from '../sync/patch/run/patcher.ts';

export function rulesOf(settings: Settings, patcher?: Patcher): SyncRules {
  return createRules(endpointsKind, settings, { mapping: mappingsOf(settings), patcher });
}
