// The rules of hostward.management that concern several settings: duplicate names, unknown members, spaces of unknown
// clusters, endpoints without a listener. Returns all problems at once, each with its path below the block.
import { isIP } from 'node:net';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { type Fault, fault, quoted } from '../fault.ts';
import { Positions } from '../yaml/positions.ts';
import { type SettingsPath, showPath } from '../yaml/settings-path.ts';
import { child, type TreeNode } from '../yaml/tree.ts';
import {
  builtInAdministrator,
  type ManagementMember,
  type ManagementValues,
  shortestCertificateSeconds,
} from './management-settings.ts';
import { parseListen } from './text-rules.ts';

interface Problem {
  code: 'CONFIG_DUPLICATE_NAME' | 'CONFIG_UNKNOWN_NAME' | 'CONFIG_MEMBER' | 'CONFIG_MANAGEMENT';
  /** The path below hostward.management. */
  path: SettingsPath;
  found: string;
  wanted: string;
  fix?: string;
}

/** The namespace of a project is `p-` and its name, and a namespace has 63 characters at most. */
const longestProjectName = 61;

/** `own` is the tree of our own settings, and `place` is its path. */
export function managementFaults(
  { management: values, listen }: { management?: ManagementValues | undefined; listen: string },
  own: TreeNode | undefined,
  place: SettingsPath,
): Fault[] {
  if (values === undefined) return [];
  const positions = new Positions(own);
  return managementProblems(values, listen, child(own, 'management')).map(({ path, ...parts }) => {
    const below = ['management', ...path];
    return fault({ ...parts, at: positions.positionOf(below), path: showPath([...place, ...below]) });
  });
}

/** Settings that do not ask for sync. */
const withoutSync = new Set(['management', 'direct', 'listen', 'listenNames', 'playground', 'logLevel', 'logFormat']);

/** True when no setting in the files asks for the sync of a virtual cluster. */
export function servesManagementAlone(root: TreeNode | undefined, own: TreeNode | undefined): boolean {
  if (root?.kind !== 'map' || own?.kind !== 'map') return false;
  if (child(own, 'management') === undefined && child(own, 'direct') === undefined) return false;
  const isOurs = [...root.entries.keys()].every((key) => key === 'hostward' || key === 'global');
  return isOurs && [...own.entries.keys()].every((key) => withoutSync.has(key));
}

function managementProblems(values: ManagementValues, statusListen: string, tree: TreeNode | undefined): Problem[] {
  const namesIn = (list: NamedList) => [
    ...values[list].flatMap((item) => item?.name ?? []),
    ...faultyNames(tree, list, values[list]),
  ];
  const known: Known = {
    users: new Set([builtInAdministrator, ...values.administrators.users, ...namesIn('users')]),
    teams: new Set(namesIn('teams')),
    clusters: new Set(namesIn('clusters')),
  };
  return [
    ...duplicates(values.users, ['users']),
    ...duplicates(values.teams, ['teams']),
    ...duplicates(values.clusters, ['clusters']),
    ...duplicates(values.projects, ['projects']),
    ...values.teams.flatMap((team, at) => unknownUsers(team?.users ?? [], ['teams', at, 'users'], known)),
    ...values.clusters.flatMap((cluster, at) => members(cluster?.members ?? [], ['clusters', at, 'members'], known)),
    ...values.projects.flatMap((_, at) => projectProblems(values, at, known)),
    ...listenerProblems(values),
    ...listenProblems(values, statusListen),
  ];
}

interface Known {
  users: ReadonlySet<string>;
  teams: ReadonlySet<string>;
  clusters: ReadonlySet<string>;
}

/** A faulty item of a list is undefined. */
type Checked<T> = readonly (T | undefined)[];

const namedLists = ['users', 'teams', 'clusters'] as const;
type NamedList = (typeof namedLists)[number];

/** A name that stands in an entry, or below a key, with a fault of its own is not missed a second time wherever it is used. */
function faultyNames(tree: TreeNode | undefined, list: NamedList, values: Checked<{ name?: string }>): string[] {
  if (tree?.kind !== 'map') return [];
  const node = child(tree, list);
  const entries = node?.kind === 'list' ? node.items.filter((_, at) => values[at]?.name === undefined) : [];
  const misspelt = [...tree.entries].flatMap(([key, entry]) =>
    !namedLists.includes(key as NamedList) && nearestKey(key, namedLists) === list ? [entry.node] : [],
  );
  return [...entries, ...misspelt].flatMap(textsBelow);
}

function textsBelow(node: TreeNode): string[] {
  if (node.kind === 'scalar') return [node.text];
  const below = node.kind === 'list' ? node.items : [...node.entries.values()].map((entry) => entry.node);
  return below.flatMap(textsBelow);
}

function duplicates(list: Checked<{ name?: string }>, path: SettingsPath): Problem[] {
  const seen = new Set<string>();
  return list.flatMap((item, at): Problem[] => {
    const name = item?.name;
    if (name === undefined) return [];
    const isKnown = seen.has(name);
    seen.add(name);
    if (!isKnown) return [];
    const parts = { found: `${quoted(name)} a second time`, wanted: 'every name once' };
    return [{ code: 'CONFIG_DUPLICATE_NAME', path: [...path, at, 'name'], ...parts }];
  });
}

function unknownUsers(names: readonly string[], path: SettingsPath, known: Known): Problem[] {
  return names.flatMap((name, at) => (known.users.has(name) ? [] : [unknown('user', name, [...path, at], known)]));
}

function unknown(what: 'user' | 'team' | 'cluster', name: string, path: SettingsPath, known: Known): Problem {
  const found = `${quoted(name)}, which does not exist`;
  const near = nearestKey(name, known[`${what}s`]);
  return {
    code: 'CONFIG_UNKNOWN_NAME',
    path,
    found,
    wanted: `a ${what} of hostward.management.${what}s`,
    fix: near === undefined ? `add it to ${what}s, or correct the name` : `did you mean ${near}? Or add it to ${what}s`,
  };
}

function members(list: Checked<ManagementMember>, path: SettingsPath, known: Known): Problem[] {
  const seen = new Set<string>();
  return list.flatMap((member, at): Problem[] => {
    if (member === undefined) return [];
    const { user, team, group } = member;
    const given = Object.entries({ user, team, group }).filter(([, name]) => name !== undefined);
    const place = [...path, at];
    const [only] = given;
    if (only === undefined || given.length > 1) {
      const found = given.length === 0 ? 'none of them' : given.map(([key]) => key).join(' and ');
      return [{ code: 'CONFIG_MEMBER', path: place, found, wanted: 'exactly one of user, team and group' }];
    }
    const subject = only.join(' ');
    const problems: Problem[] = [];
    if (seen.has(subject)) {
      const parts = { found: `${quoted(only[1] ?? '')} a second time`, wanted: 'every member once' };
      problems.push({ code: 'CONFIG_DUPLICATE_NAME', path: [...place, only[0]], ...parts });
    }
    seen.add(subject);
    if (user !== undefined && !known.users.has(user)) problems.push(unknown('user', user, [...place, 'user'], known));
    if (team !== undefined && !known.teams.has(team)) problems.push(unknown('team', team, [...place, 'team'], known));
    return problems;
  });
}

function projectProblems({ projects }: ManagementValues, at: number, known: Known): Problem[] {
  const project = projects[at];
  if (project === undefined) return [];
  const path = ['projects', at];
  const problems = [
    ...members(project.members, [...path, 'members'], known),
    ...duplicates(project.virtualClusters, [...path, 'virtualClusters']),
    ...duplicates(project.spaces, [...path, 'spaces']),
  ];
  for (const [index, space] of project.spaces.entries()) {
    if (space?.cluster === undefined || known.clusters.has(space.cluster)) continue;
    problems.push(unknown('cluster', space.cluster, [...path, 'spaces', index, 'cluster'], known));
  }
  for (const [index, instance] of project.virtualClusters.entries()) {
    const life = instance?.clientCert?.maxTTL ?? 0;
    if (life === 0 || life >= shortestCertificateSeconds) continue;
    const wanted = `0 for no limit, or at least ${shortestCertificateSeconds} seconds, because the CSR API signs no shorter certificate`;
    const place = [...path, 'virtualClusters', index, 'clientCert', 'maxTTL'];
    problems.push({ code: 'CONFIG_MANAGEMENT', path: place, found: `${life}`, wanted });
  }
  if (project.name?.length > longestProjectName) {
    const wanted = `a name of at most ${longestProjectName} characters, because its namespace is p-NAME`;
    const found = `${project.name.length} characters`;
    problems.push({ code: 'CONFIG_MANAGEMENT', path: [...path, 'name'], found, wanted });
  }
  return problems;
}

function listenerProblems({ ingressListen, projects }: ManagementValues): Problem[] {
  const problems: Problem[] = [];
  const hosts = new Map<string, string>();
  for (const [at, project] of projects.entries()) {
    for (const [index, instance] of project?.virtualClusters.entries() ?? []) {
      const ingress = instance?.ingress;
      if (ingress?.servedBy !== 'hostward' || ingress.server === undefined) continue;
      const path = ['projects', at, 'virtualClusters', index, 'ingress'];
      if (ingressListen === undefined) {
        const fix = 'set hostward.management.ingressListen';
        const wanted = 'an address to serve it at';
        problems.push({ code: 'CONFIG_MANAGEMENT', path: [...path, 'servedBy'], found: 'hostward', wanted, fix });
      }
      const { hostname: host, pathname } = new URL(ingress.server);
      if (pathname !== '/') {
        const wanted = 'an address without a path, because every path there belongs to the API of the virtual cluster';
        problems.push({ code: 'CONFIG_MANAGEMENT', path: [...path, 'server'], found: `the path ${pathname}`, wanted });
      }
      if (isIP(host.replace(/^\[|\]$/g, '')) !== 0) {
        const wanted = 'a host name, because the TLS server name selects the virtual cluster';
        problems.push({ code: 'CONFIG_MANAGEMENT', path: [...path, 'server'], found: `the address ${host}`, wanted });
      }
      const other = hosts.get(host);
      const found = `the host of ${other}, although the host name selects the virtual cluster`;
      const wanted = 'a host of its own for every virtual cluster that Hostward serves';
      if (other !== undefined) problems.push({ code: 'CONFIG_MANAGEMENT', path: [...path, 'server'], found, wanted });
      hosts.set(host, `${project?.name}/${instance?.name}`);
    }
  }
  return problems;
}

function listenProblems({ listen, ingressListen }: ManagementValues, statusListen: string): Problem[] {
  const all = { 'hostward.listen': statusListen, 'hostward.management.listen': listen };
  const problem = (setting: string, text: string | undefined, others: Record<string, string>): Problem[] => {
    const taken = Object.keys(others).find((other) => meet(text, others[other]));
    if (taken === undefined) return [];
    const parts = { found: `the address of ${taken}`, wanted: 'a separate address' };
    return [{ code: 'CONFIG_MANAGEMENT', path: [setting], ...parts }];
  };
  return [
    ...problem('listen', listen, { 'hostward.listen': statusListen }),
    ...problem('ingressListen', ingressListen, all),
  ];
}

const everyAddress = new Set(['0.0.0.0', '::']);

/** Whether two listeners cannot be open at once. Port 0 is another port each time. */
function meet(one: string | undefined, other: string | undefined): boolean {
  const [a, b] = [one, other].map((text) => (text === undefined ? undefined : parseListen(text)));
  if (a === undefined || b === undefined || a.port !== b.port || a.port === 0) return false;
  return a.host === b.host || everyAddress.has(a.host) || everyAddress.has(b.host);
}
