// The rules of a configuration for commands that have no daemon: the same values that the daemon gets.
import { compileMappings } from '../config/namespace-mappings.ts';
import type { Settings } from '../config/settings.ts';
import { createRules } from '../sync/rules.ts';
import type { Rules } from '../sync/world.ts';

export function rulesOf(settings: Settings): Rules {
  const { virtualClusterName, hostNamespace, namespaces } = settings;
  if (!namespaces.enabled) return createRules(settings, undefined);
  const { mappingsOnly } = namespaces;
  return createRules(settings, compileMappings(namespaces.byName, { virtualClusterName, hostNamespace, mappingsOnly }));
}
