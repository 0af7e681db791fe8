// The rules of a configuration for commands that have no daemon: the same values that the daemon gets.
import { mappingsOf } from '../config/settings/host-namespaces.ts';
import type { Settings } from '../config/settings/settings.ts';
import { createRules } from '../sync/loop/rules.ts';
import type { Patcher } from '../sync/patch/run/patcher.ts';
import type { Rules } from '../sync/world/world.ts';

export function rulesOf(settings: Settings, patcher?: Patcher): Rules {
  return createRules(settings, mappingsOf(settings), patcher);
}
