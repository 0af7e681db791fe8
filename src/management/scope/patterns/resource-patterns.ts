// The small language of rules[].resources[].resources: `pods`, `pods/log`, `pods/*`, `*/log` and `*`. Decides whether a pattern
// matches, whether it covers another one, and which patterns of a list overlap.

const namePart = '[a-z0-9]([a-z0-9.-]*[a-z0-9])?';
const patternForm = new RegExp(`^(\\*|${namePart}|${namePart}/\\*|\\*/${namePart}|${namePart}/${namePart})$`);

export const patternWords = 'a resource, RESOURCE/SUBRESOURCE, RESOURCE/*, */SUBRESOURCE or *';

export function isResourcePattern(text: string): boolean {
  return patternForm.test(text);
}

export function matchesPattern(pattern: string, resource: string, subresource: string): boolean {
  if (pattern === '*') return true;
  const [wanted, wantedSub] = parts(pattern);
  if (wantedSub === undefined) return wanted === resource && subresource === '';
  if (subresource === '') return false;
  return (wanted === '*' || wanted === resource) && (wantedSub === '*' || wantedSub === subresource);
}

/** `pods/proxy` and `* /proxy` without the blank: patterns that name the subresource proxy itself. */
export function namesProxy(pattern: string): boolean {
  return pattern.endsWith('/proxy');
}

/** Everything that `inner` matches, `outer` matches as well. */
export function patternHolds(outer: string, inner: string): boolean {
  // A proxied API is reached through proxy only by a pattern that names it, so wildcards do not hold one that does.
  if (namesProxy(inner)) return namesProxy(outer) && (outer === inner || outer === '*/proxy');
  if (outer === '*' || outer === inner) return true;
  const [resource, subresource] = parts(outer);
  const [innerResource, innerSub] = parts(inner);
  if (subresource === undefined || innerSub === undefined) return false;
  const holdsResource = resource === '*' || resource === innerResource;
  return holdsResource && (subresource === '*' || subresource === innerSub);
}

/** Positions of entries that overlap with an earlier one; only where one of the two has a wildcard. */
export function overlappingPatterns(patterns: readonly string[]): { index: number; other: string }[] {
  return patterns.flatMap((pattern, index) => {
    const other = patterns.slice(0, index).find((earlier) => overlap(earlier, pattern));
    return other === undefined ? [] : [{ index, other }];
  });
}

function overlap(a: string, b: string): boolean {
  if (!a.includes('*') && !b.includes('*')) return false;
  if (a === '*' || b === '*') return true;
  const [resource, subresource] = parts(a);
  const [otherResource, otherSub] = parts(b);
  if (subresource === undefined || otherSub === undefined) return false;
  const meets = (one: string, two: string) => one === two || one === '*' || two === '*';
  return meets(resource, otherResource) && meets(subresource, otherSub);
}

function parts(pattern: string): [string, string | undefined] {
  const slash = pattern.indexOf('/');
  return slash < 0 ? [pattern, undefined] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
}
