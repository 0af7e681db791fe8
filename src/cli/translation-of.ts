// The rules of a configuration by which a virtual object becomes a host object, put together for commands that have no
// daemon: the same values that the daemon gets.
import { compileMappings } from '../config/namespace-mappings.ts';
import type { Settings } from '../config/settings.ts';
import type { Translation } from '../sync/draft.ts';
import { endpointsKind } from '../sync/endpoints/endpoints-kind.ts';
import { annotationRules, labelRules } from '../sync/keys.ts';
import { createPlacement } from '../sync/placement.ts';

export function translationOf(settings: Settings): Translation {
  const { virtualClusterName: virtualCluster, hostNamespace, namespaces, backSync, exclude } = settings;
  const mapping = namespaces.enabled
    ? compileMappings(namespaces.byName, {
        virtualClusterName: virtualCluster,
        hostNamespace,
        mappingsOnly: namespaces.mappingsOnly,
      })
    : undefined;
  const placement = createPlacement({ virtualCluster, hostNamespace, mapping });
  const rules = { virtualCluster, mode: placement.mode, backSync, exclude };
  return {
    kind: endpointsKind,
    placement,
    labels: labelRules(rules),
    annotations: annotationRules(rules),
    patchDigest: '',
  };
}
