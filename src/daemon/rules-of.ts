// The rules of a configuration for commands that have no daemon: the same values that the daemon gets.
import { mappingsOf } from '../config/settings/host-namespaces.ts';
import type { Settings } from '../config/settings/settings.ts';
import { endpointsKind } from '../sync/endpoints/endpoints-kind.ts';
import { createRules, type SyncRules } from '../sync/loop/rules.ts';
import type { Patcher } from '../sync/patch/run/patcher.ts';

export function rulesOf(settings: Settings, patcher?: Patcher): SyncRules {
  return createRules(endpointsKind, settings, { mapping: mappingsOf(settings), patcher });
}
