// Decides whether one rule covers another: whether every request that the child allows is allowed by the parent too. Each
// condition is compared by itself.
import { patternHolds } from './patterns/resource-patterns.ts';
import { urlHolds } from './patterns/url-patterns.ts';
import type { RuleEntry, RuleResources } from './scope.ts';

/** Only the targets limit the rule. */
export function isUnrestricted(rule: RuleEntry): boolean {
  return rule.verbs.length === 0 && matchesBoth(rule) && rule.virtualClusters.length === 0;
}

export function coversRule(parent: RuleEntry, child: RuleEntry): boolean {
  // A child without targets matches nothing.
  if (child.targets.size === 0) return true;
  return (
    coversList(parent.verbs, child.verbs) &&
    [...child.targets].every((target) => parent.targets.has(target)) &&
    (parent.cluster === '' || parent.cluster === child.cluster) &&
    coversInstances(parent, child) &&
    coversWhat(parent, child)
  );
}

/** An empty list holds everything, and only an empty list holds an empty one. */
function coversList(parent: readonly string[], child: readonly string[]): boolean {
  if (parent.length === 0) return true;
  return child.length > 0 && child.every((item) => parent.includes(item));
}

function coversInstances(parent: RuleEntry, child: RuleEntry): boolean {
  if (parent.virtualClusters.length === 0) return true;
  return (
    child.virtualClusters.length > 0 &&
    child.virtualClusters.every((one) =>
      parent.virtualClusters.some(
        (held) =>
          (held.name === '' || held.name === one.name) && (held.namespace === '' || held.namespace === one.namespace),
      ),
    )
  );
}

/** The rule matches resource requests and others alike. */
function matchesBoth(rule: RuleEntry): boolean {
  return rule.nonResourceURLs.length === 0 && rule.resources.length === 0 && rule.namespaces.length === 0;
}

function coversWhat(parent: RuleEntry, child: RuleEntry): boolean {
  if (child.nonResourceURLs.length > 0) {
    if (parent.nonResourceURLs.length === 0) return matchesBoth(parent);
    return child.nonResourceURLs.every((url) => parent.nonResourceURLs.some((held) => urlHolds(held, url)));
  }
  if (matchesBoth(child)) return matchesBoth(parent);
  return (
    parent.nonResourceURLs.length === 0 &&
    coversResources(parent.resources, child.resources) &&
    coversList(parent.namespaces, child.namespaces) &&
    coversList(parent.resourceNames, child.resourceNames)
  );
}

const everything: readonly string[] = ['*'];

function coversResources(parent: readonly RuleResources[], child: readonly RuleResources[]): boolean {
  // No list of the parent holds a proxy that the child names: it must name it too.
  const held = (group: string) =>
    parent.length === 0
      ? [everything]
      : parent
          .filter((entry) => entry.group === group)
          .map(({ patterns }) => (patterns.length === 0 ? everything : patterns));
  if (child.length === 0) return parent.length === 0;
  return child.every(({ group, patterns }) => {
    const lists = held(group);
    const wanted = patterns.length === 0 ? everything : patterns;
    return wanted.every((pattern) => lists.some((list) => list.some((one) => patternHolds(one, pattern))));
  });
}
