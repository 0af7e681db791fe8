// Part of the front door: which host namespaces copies stand in, and the one window that shows them all.
import { combineWindows, narrowWindow } from './cluster/combined-window.ts';
import type { Item, Window } from './cluster/window.ts';
import { type CompiledMappings, compileMappings } from './config/namespace-mappings.ts';
import type { Settings } from './config/settings.ts';
import type { KubeObject } from './object/object.ts';
import { type HostServiceItem, projectHostService } from './sync/kind.ts';
import { markerLabel } from './sync/words.ts';

export function mappingsOf(settings: Settings): CompiledMappings | undefined {
  const { namespaces, virtualClusterName, hostNamespace } = settings;
  if (!namespaces.enabled) return undefined;
  return compileMappings(namespaces.byName, {
    virtualClusterName,
    hostNamespace,
    mappingsOnly: namespaces.mappingsOnly,
  });
}

/** Host namespaces that copies may stand in; with patterns there are more, which only a wide watch shows. */
export function hostNamespaces(mappings: CompiledMappings | undefined, hostNamespace: string): string[] {
  if (mappings === undefined) return [hostNamespace];
  return [...new Set([...mappings.windows.namespaces, ...(mappings.mappingsOnly ? [] : [hostNamespace])])];
}

/**
 * Services of mapped host namespaces, whose names are shared with the host's own people; in its own namespace a virtual
 * cluster has names to itself.
 */
export function openHostServices(
  mappings: CompiledMappings | undefined,
  options: {
    hostNamespace: string;
    open: (
      scope: { namespace?: string },
      project: (object: KubeObject) => HostServiceItem | undefined,
    ) => Window<HostServiceItem>;
  },
): Window<HostServiceItem> | undefined {
  const { hostNamespace, open } = options;
  if (mappings === undefined) return undefined;
  const namespaces = mappings.windows.namespaces.filter((namespace) => namespace !== hostNamespace);
  const isMapped = matcherOf(mappings, namespaces);
  // Not hidden afterwards but never kept: most Services of a large host are no business of ours.
  if (mappings.windows.prefixes.length > 0)
    return open({}, (object) => (isMapped(object.metadata.namespace ?? '') ? projectHostService(object) : undefined));
  if (namespaces.length === 0) return undefined;
  return combineWindows(new Map(namespaces.map((namespace) => [namespace, open({ namespace }, projectHostService)])));
}

function matcherOf(mappings: CompiledMappings | undefined, namespaces: readonly string[]): (name: string) => boolean {
  const prefixes = (mappings?.windows.prefixes ?? []).map((prefix) => prefix.replace(/\*$/, ''));
  return (name) => namespaces.includes(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

export function openHostWindow<T extends Item>(
  mappings: CompiledMappings | undefined,
  options: {
    namespaces: readonly string[];
    virtualClusterName: string;
    openHost: (scope: { namespace?: string; labelSelector?: string }) => Window<T>;
  },
): Window<T> {
  const { namespaces, openHost } = options;
  const prefixes = mappings?.windows.prefixes ?? [];
  if (prefixes.length > 0) {
    const wide = openHost({ labelSelector: `${markerLabel}=${options.virtualClusterName}` });
    return narrowWindow(wide, matcherOf(mappings, namespaces));
  }
  const [only] = namespaces;
  if (namespaces.length === 1 && only !== undefined) return openHost({ namespace: only });
  return combineWindows(new Map(namespaces.map((namespace) => [namespace, openHost({ namespace })])));
}
