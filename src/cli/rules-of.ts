// The rules of a configuration for commands that have no daemon: the same values that the daemon gets.
import { mappingsOf } from '../config/host-namespaces.ts';
import type { Settings } from '../config/settings.ts';
import type { Patcher } from '../sync/patch/patcher.ts';
import { createRules } from '../sync/rules.ts';
import type { Rules } from '../sync/world.ts';

export function rulesOf(settings: Settings, patcher?: Patcher): Rules {
  return createRules(settings, mappingsOf(settings), patcher);
}
