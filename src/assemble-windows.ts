// Part of the front door: which host namespaces copies stand in, and the one window that shows them all.
import { combineWindows, narrowWindow } from './cluster/combined-window.ts';
import type { Item, Window } from './cluster/window.ts';
import { type CompiledMappings, compileMappings } from './config/namespace-mappings.ts';
import type { Settings } from './config/settings.ts';
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
    const isOurs = (namespace: string): boolean =>
      namespaces.includes(namespace) || prefixes.some((prefix) => namespace.startsWith(prefix.replace(/\*$/, '')));
    return narrowWindow(wide, isOurs);
  }
  const [only] = namespaces;
  if (namespaces.length === 1 && only !== undefined) return openHost({ namespace: only });
  return combineWindows(new Map(namespaces.map((namespace) => [namespace, openHost({ namespace })])));
}
