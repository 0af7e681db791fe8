// Decides whether a new credential stays inside its maker's: every entry of the child must be covered by one entry of the parent.
// The comparison is careful, not complete: it never accepts a wider scope, but refuses a few scopes that would not be wider.
import { coversRule, isUnrestricted } from './covers-rule.ts';
import { namesProxy } from './patterns/resource-patterns.ts';
import { namespaceOfProject } from './request.ts';
import { all, type Entry, type MaybeScope, type RequestTarget, type RoleEntry, type RuleEntry } from './scope.ts';

export type Coverage =
  | { covered: true }
  /** The child has no scope at all, or these entries (by path) are not held by any of the parent. */
  | { covered: false; unscoped: true }
  | { covered: false; unscoped: false; entries: readonly string[] };

/** `parents` are the scopes of the maker's credential; each must hold the child. */
export function covers(parents: readonly MaybeScope[], child: MaybeScope): Coverage {
  const narrowing = parents.filter((parent) => parent !== undefined);
  if (narrowing.length === 0) return { covered: true };
  if (child === undefined) return { covered: false, unscoped: true };
  const outside = child.entries.filter(
    (entry) => !narrowing.every((parent) => parent.entries.some((held) => coversEntry(held, entry))),
  );
  if (outside.length === 0) return { covered: true };
  return { covered: false, unscoped: false, entries: outside.map(({ path }) => path) };
}

function coversEntry(parent: Entry, child: Entry): boolean {
  switch (child.kind) {
    case 'project':
      if (parent.kind === 'project') return holdsName(parent.project, child.project);
      return isWideRule(parent, ['Management', 'ProjectSpace', 'ProjectVirtualCluster']);
    case 'space':
      if (parent.kind === 'project') return holdsName(parent.project, child.project);
      if (parent.kind === 'space') return parent.project === child.project && holdsName(parent.space, child.space);
      return isWideRule(parent, ['ProjectSpace']);
    case 'virtualCluster':
      if (parent.kind === 'project') return holdsName(parent.project, child.project);
      if (parent.kind === 'virtualCluster')
        return parent.project === child.project && holdsName(parent.virtualCluster, child.virtualCluster);
      return isWideRule(parent, ['Management', 'ProjectVirtualCluster']);
    case 'cluster':
      if (parent.kind === 'cluster') return holdsName(parent.cluster, child.cluster);
      return isWideRule(parent, ['Cluster']) && (parent.cluster === '' || parent.cluster === child.cluster);
    case 'role':
      return coversRole(parent, child);
    case 'rule':
      return parent.kind === 'rule' ? coversRule(parent, child) : namedCoversRule(parent, child);
    default:
      return child satisfies never;
  }
}

function holdsName(parent: string, child: string): boolean {
  return parent === all || parent === child;
}

/** A rule without any condition but its targets. */
function isWideRule(parent: Entry, targets: readonly RequestTarget[]): parent is Entry & RuleEntry {
  return parent.kind === 'rule' && isUnrestricted(parent) && targets.every((target) => parent.targets.has(target));
}

function coversRole(parent: Entry, child: Entry & RoleEntry): boolean {
  if (parent.kind === 'rule') return isWideRule(parent, ['Management']);
  const isAboutInstances = child.role === 'platform-cli' || child.role === 'vcluster';
  const isNarrowed = child.projects.length > 0 || child.virtualClusters.length > 0;
  if (parent.kind === 'project') {
    const isInside = (project: string) => holdsName(parent.project, project);
    const isInProject = child.projects.every(isInside) && child.virtualClusters.every((one) => isInside(one.project));
    return isAboutInstances && isNarrowed && isInProject;
  }
  if (parent.kind !== 'role') return false;
  const isSameOrWider = parent.role === child.role || (parent.role === 'platform-cli' && child.role === 'vcluster');
  if (!isSameOrWider) return false;
  if (parent.projects.length === 0 && parent.virtualClusters.length === 0) return true;
  if (!isNarrowed) return false;
  const holdsProject = (project: string) => parent.projects.includes(project);
  return (
    child.projects.every(holdsProject) &&
    child.virtualClusters.every(
      (one) =>
        holdsProject(one.project) ||
        parent.virtualClusters.some((held) => held.project === one.project && held.name === one.name),
    )
  );
}

/** Whether the child is a rule about a single place, and the parent is an entry that opens that whole place. */
function namedCoversRule(parent: Entry, child: Entry & RuleEntry): boolean {
  if (child.resources.some(({ patterns }) => patterns.some(namesProxy))) return false;
  const [target, ...others] = child.targets;
  // A rule that matches nothing is held by anything.
  if (target === undefined) return true;
  if (others.length > 0) return false;
  if (parent.kind === 'cluster') {
    return target === 'Cluster' && (parent.cluster === all || parent.cluster === child.cluster);
  }
  if (target !== 'ProjectVirtualCluster' || child.virtualClusters.length === 0) return false;
  if (parent.kind === 'virtualCluster') {
    const namespace = namespaceOfProject(parent.project);
    return child.virtualClusters.every(
      (one) => one.namespace === namespace && (parent.virtualCluster === all || parent.virtualCluster === one.name),
    );
  }
  if (parent.kind !== 'project') return false;
  if (parent.project === all) return true;
  return child.virtualClusters.every((one) => one.namespace === namespaceOfProject(parent.project));
}
