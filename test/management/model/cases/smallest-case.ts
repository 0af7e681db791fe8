// Makes a case smaller as long as it keeps a property, so that a difference is shown without what does not matter.
import type { MatrixCase } from '../../matrix-case.ts';

/** A case has fewer parts than this; the limit keeps a mistake from looping. */
const mostSteps = 2_000;

/** Parts that a valid case may lack. */
const optional = new Set([
  ...[
    'groups',
    'grantedGroups',
    'disabled',
    'ttl',
    'ttlAfterLastActivity',
    'lastActivity',
    'deletionTimestamp',
    'scope',
    'madeBy',
  ],
  ...['roles', 'projects', 'spaces', 'virtualClusters', 'clusters', 'rules', 'allowPlatformCli', 'members', 'users'],
  ...[
    'verbs',
    'resources',
    'resourceNames',
    'namespaces',
    'nonResourceURLs',
    'requestTargets',
    'cluster',
    'clientCert',
  ],
]);

export function smallestCase(of: MatrixCase, keeps: (smaller: MatrixCase) => boolean): MatrixCase {
  let smallest = of;
  for (let step = 0; step < mostSteps; step++) {
    const smaller = smallerCases(smallest).find((candidate) => isValid(candidate) && keeps(candidate));
    if (smaller === undefined) return smallest;
    smallest = smaller;
  }
  return smallest;
}

function isValid(of: MatrixCase): boolean {
  const { administrators, users, teams, clusters, projects } = of.configuration;
  const lists = [administrators?.users, administrators?.groups, users, teams, clusters, projects];
  if (!lists.every(Array.isArray)) return false;
  if (!of.keys.some((key) => key.name === of.caller)) return false;
  const hasNames = (rule: { resourceNames?: string[]; resources?: unknown[] }) => (rule.resourceNames ?? []).length > 0;
  return of.keys.every(
    (key) =>
      (key.grantedGroups ?? []).every((group) => key.groups?.includes(group)) &&
      (key.scope?.rules ?? []).every((rule) => !hasNames(rule) || (rule.resources ?? []).length > 0),
  );
}

/** All cases that lack one element of a list or one optional part. */
function smallerCases(of: MatrixCase): MatrixCase[] {
  const found: MatrixCase[] = [];
  for (const steps of removablePlaces(of, [])) {
    const copy = structuredClone(of);
    removeAt(copy, steps);
    found.push(copy);
  }
  return found;
}

type Steps = readonly (string | number)[];

function removablePlaces(value: unknown, at: Steps): Steps[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => [[...at, index], ...removablePlaces(item, [...at, index])]);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const inside = removablePlaces(part, [...at, name]);
    return optional.has(name) && mayLack(name, at) ? [[...at, name], ...inside] : inside;
  });
}

/** Requests keep all parts; the part `cluster` is optional in a rule alone. */
function mayLack(name: string, at: Steps): boolean {
  return at[0] !== 'request' && (name !== 'cluster' || at.includes('rules'));
}

function removeAt(root: object, steps: Steps): void {
  let parent: unknown = root;
  for (const step of steps.slice(0, -1)) parent = Reflect.get(Object(parent), step);
  const last = steps.at(-1);
  if (Array.isArray(parent) && typeof last === 'number') parent.splice(last, 1);
  else if (last !== undefined) Reflect.deleteProperty(Object(parent), last);
}
