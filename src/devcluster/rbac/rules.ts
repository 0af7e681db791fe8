// One rule of a role: whether it allows a request, and whether rules that somebody holds cover rules that are to be granted.
// In: rules and requests as data. Out: yes or no, or the missing rights in the words of the real server.
import type { Target } from '../../apiserver/request/target.ts';
import { quoted } from '../../object/meta/field-error.ts';

/** As stored, with an empty list for each missing member. */
export interface PolicyRule {
  verbs: readonly string[];
  apiGroups: readonly string[];
  resources: readonly string[];
  /** Empty = every name. */
  resourceNames: readonly string[];
  nonResourceURLs: readonly string[];
}

const all = '*';

export function allows(rule: PolicyRule, target: Target): boolean {
  if (!hasOrAll(rule.verbs, target.verb)) return false;
  if (!target.isResource) return rule.nonResourceURLs.some((url) => url === all || coversUrl(url, target.path));
  return (
    hasOrAll(rule.apiGroups, target.group) &&
    rule.resources.some((resource) => isResource(resource, target)) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(target.name))
  );
}

// `pods/log` and `*/log` are rules about a subresource; `pods` says nothing about one.
function isResource(named: string, { resource, subresource }: Target): boolean {
  if (named === all) return true;
  if (subresource === '') return named === resource;
  return named === `${resource}/${subresource}` || named === `*/${subresource}`;
}

function coversUrl(owner: string, url: string): boolean {
  return owner === url || (owner.endsWith(all) && url.startsWith(owner.replace(/\*+$/, '')));
}

/** The parts of `wanted` that no rule of `held` covers; each part has one verb. Empty = nothing is missing. */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(atoms).filter((part) => !held.some((rule) => coversAtom(rule, part)));
}

const none: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

function atoms(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  for (const group of rule.apiGroups)
    for (const resource of rule.resources)
      for (const verb of rule.verbs)
        for (const resourceNames of names)
          parts.push({ ...none, apiGroups: [group], resources: [resource], verbs: [verb], resourceNames });
  for (const url of rule.nonResourceURLs)
    for (const verb of rule.verbs) parts.push({ ...none, nonResourceURLs: [url], verbs: [verb] });
  return parts;
}

/** A URL rule covers no resource and a resource rule no URL, because one of the two lists is empty there. */
function coversAtom(held: PolicyRule, part: PolicyRule): boolean {
  const [verb = '', group, resource, name, url] = [
    part.verbs[0],
    part.apiGroups[0],
    part.resources[0],
    part.resourceNames[0],
    part.nonResourceURLs[0],
  ];
  if (!hasOrAll(held.verbs, verb)) return false;
  if (url !== undefined) return held.nonResourceURLs.some((owner) => coversUrl(owner, url));
  if (group === undefined || resource === undefined) return false;
  if (!hasOrAll(held.apiGroups, group)) return false;
  const slash = resource.indexOf('/');
  const forAnyResource = slash < 0 ? resource : `*${resource.slice(slash)}`;
  if (!hasOrAll(held.resources, resource) && !held.resources.includes(forAnyResource)) return false;
  return held.resourceNames.length === 0 || (name !== undefined && held.resourceNames.includes(name));
}

/** One line for each rule, sorted; rules that differ only in their verbs are one line. */
export function ruleLines(parts: readonly PolicyRule[]): string[] {
  const merged = new Map<string, PolicyRule>();
  const lines = new Set<string>();
  for (const part of parts) {
    if (part.nonResourceURLs.length > 0) {
      lines.add(ruleLine(part));
      continue;
    }
    const key = JSON.stringify([part.apiGroups, part.resources, part.resourceNames]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? part : { ...known, verbs: [...known.verbs, ...part.verbs] });
  }
  for (const rule of merged.values()) lines.add(ruleLine(rule));
  return [...lines].sort((a, b) => (a < b ? -1 : 1));
}

function ruleLine(rule: PolicyRule): string {
  const members: [string, readonly string[]][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const shown = members.filter(([, list]) => list.length > 0).map(([name, list]) => `${name}:${goTexts(list)}`);
  return `{${shown.join(', ')}}`;
}

/** The real server prints lists in the notation of Go. */
export function goTexts(list: readonly string[]): string {
  return `[${list.map(quoted).join(' ')}]`;
}

function hasOrAll(list: readonly string[], value: string): boolean {
  return list.includes(all) || list.includes(value);
}
