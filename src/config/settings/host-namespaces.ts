// Which namespaces of the host a configuration is about: its mappings compiled, and where copies may stand. Pure.
import { type CompiledMappings, compileMappings } from './namespace-mappings.ts';
import type { Settings } from './settings.ts';

/** Undefined where all copies stand in the one namespace of the virtual cluster. */
export function mappingsOf({ virtualClusterName, hostNamespace, namespaces }: Settings): CompiledMappings | undefined {
  if (!namespaces.enabled) return undefined;
  const { mappingsOnly } = namespaces;
  return compileMappings(namespaces.byName, { virtualClusterName, hostNamespace, mappingsOnly });
}

/** Those that are known by name; with patterns there are more, which only a wide look shows. */
export function namedHostNamespaces(mappings: CompiledMappings | undefined, hostNamespace: string): string[] {
  if (mappings === undefined) return [hostNamespace];
  return [...new Set([...mappings.windows.namespaces, ...(mappings.mappingsOnly ? [] : [hostNamespace])])];
}

/** Where copies may stand; undefined = in any namespace, as with patterns among the mappings. */
export function copyNamespaces(
  mappings: CompiledMappings | undefined,
  hostNamespace: string,
): readonly (string | undefined)[] {
  return isWide(mappings) ? [undefined] : namedHostNamespaces(mappings, hostNamespace);
}

/** Patterns reach namespaces that nobody has named, so only a look at all of them shows the copies. */
export function isWide(mappings: CompiledMappings | undefined): boolean {
  return mappings !== undefined && mappings.windows.prefixes.length > 0;
}
