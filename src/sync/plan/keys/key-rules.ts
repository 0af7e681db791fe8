// Decides which label and annotation keys cross between the sides, and their spelling on each side. merge-keys decides about
// the values. Pure.
import { hostLabelKey } from '../../../object/meta/names.ts';
import { controlledByKey, isNeverBack, isReserved, leaderKey, markerLabel, namespaceLabel } from './reserved-keys.ts';

export interface KeyRules {
  /** Host spelling of a virtual key; undefined when the key does not cross. */
  toHost(virtualKey: string): string | undefined;
  /** Virtual spelling of a host key; undefined when the key does not cross. */
  toVirtual(hostKey: string): string | undefined;
  /** Whether a change of this key on the host may reach the tenant. */
  flowsBack(virtualKey: string): boolean;
  /** Host spelling of a virtual key that crosses without `exclude`, and not with it; undefined for every other key. */
  excludedOnHost(virtualKey: string): string | undefined;
}

export interface KeyRuleOptions {
  virtualCluster: string;
  mode: 'single' | 'mapped';
  backSync: 'all' | 'none';
  /** See SyncedKind. */
  controllerKeyPrefixes: readonly string[];
  exclude: { labels: readonly string[]; annotations: readonly string[] };
  /** See SyncedKind. */
  ownLabels?: readonly string[];
}

export function labelRules(options: KeyRuleOptions): KeyRules {
  const rewritten = [namespaceLabel, markerLabel, controlledByKey];
  // Rewritten in single mode only: in a mapped namespace no selector of the host itself matches a plain `release`.
  if (options.mode === 'single') rewritten.push('release');
  const toHostKey = new Map(rewritten.map((key) => [key, hostLabelKey(key, options.virtualCluster)]));
  const toVirtualKey = new Map([...toHostKey].map(([virtual, host]) => [host, virtual]));
  const isPattern = patternMatcher(options.exclude.labels);
  const own = new Set(options.ownLabels);
  const isExcluded = (key: string): boolean => own.has(key) || isPattern(key);
  const hostKeyOf = (key: string): string | undefined => toHostKey.get(key) ?? (isReserved(key) ? undefined : key);
  return {
    toHost: (key) => (isExcluded(key) ? undefined : hostKeyOf(key)),
    toVirtual: (key) => {
      const virtual = toVirtualKey.get(key) ?? (isReserved(key) || toHostKey.has(key) ? undefined : key);
      return virtual === undefined || isExcluded(virtual) ? undefined : virtual;
    },
    flowsBack: (key) => options.backSync === 'all' && !isNeverBack(key, options),
    excludedOnHost: (key) => (isPattern(key) && !own.has(key) ? hostKeyOf(key) : undefined),
  };
}

export function annotationRules(options: KeyRuleOptions): KeyRules {
  const isExcluded = patternMatcher(options.exclude.annotations);
  const crosses = (key: string): boolean => key !== leaderKey && !isReserved(key);
  const same = (key: string): string | undefined => (crosses(key) && !isExcluded(key) ? key : undefined);
  return {
    toHost: same,
    toVirtual: same,
    flowsBack: (key) => options.backSync === 'all' && !isNeverBack(key, options),
    excludedOnHost: (key) => (crosses(key) && isExcluded(key) ? key : undefined),
  };
}

/** `*` matches any run of characters; a pattern without it matches a whole key. */
export function patternMatcher(patterns: readonly string[]): (key: string) => boolean {
  if (patterns.length === 0) return () => false;
  const split = patterns.map((pattern) => pattern.split('*'));
  return (key) => split.some((pieces) => matchesPieces(key, pieces));
}

function matchesPieces(key: string, pieces: readonly string[]): boolean {
  const [first = '', ...rest] = pieces;
  if (rest.length === 0) return key === first;
  if (!key.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() as string;
  for (const piece of rest) {
    const found = key.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return key.length - last.length >= at && key.endsWith(last);
}

export function mapOfKeys(map: Record<string, string> | undefined): Map<string, string> {
  const entries = new Map<string, string>();
  for (const key in map) entries.set(key, map[key] as string);
  return entries;
}
