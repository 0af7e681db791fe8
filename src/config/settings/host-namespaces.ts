// Compiles the namespace mappings of a configuration, and lists the host namespaces that may hold copies. Pure.
import { type CompiledMappings, compileMappings } from './namespace-mappings.ts';
import type { Settings } from './settings.ts';

/** Undefined when all copies are in the single namespace of the virtual cluster. */
export function mappingsOf({ virtualClusterName, hostNamespace, namespaces }: Settings): CompiledMappings | undefined {
  if (!namespaces.enabled) return undefined;
  const { mappingsOnly } = namespaces;
  return compileMappings(namespaces.byName, { virtualClusterName, hostNamespace, mappingsOnly });
}

/** The host namespaces with a known name; patterns can add more, which only a cluster-wide list shows. */
export function namedHostNamespaces(mappings: CompiledMappings | undefined, hostNamespace: string): string[] {
  if (mappings === undefined) return [hostNamespace];
  return [...new Set([...mappings.windows.namespaces, ...(mappings.mappingsOnly ? [] : [hostNamespace])])];
}

/** The namespaces that may hold copies; [undefined] = any namespace, because a mapping has a pattern. */
export function copyNamespaces(
  mappings: CompiledMappings | undefined,
  hostNamespace: string,
): readonly (string | undefined)[] {
  return isWide(mappings) ? [undefined] : namedHostNamespaces(mappings, hostNamespace);
}

/** Patterns match namespaces with unknown names, so only a cluster-wide list shows all copies. */
export function isWide(mappings: CompiledMappings | undefined): boolean {
  return mappings !== undefined && mappings.windows.prefixes.length > 0;
}
