// Scopes of every form. All of them are valid: what the API refuses with 422 does not occur.
import type { MatrixScope } from '../../matrix-case.ts';
import type { Dice } from '../dice.ts';
import { missing, names } from './configuration-cases.ts';
import { ruleForms } from './rule-cases.ts';

export type ScopeForm = (dice: Dice) => MatrixScope | undefined;

function project(dice: Dice): string {
  return dice.chance(5) ? missing.project : dice.pick(names.projects);
}

function virtualCluster(dice: Dice): string {
  return dice.chance(5) ? missing.virtualCluster : dice.pick(names.virtualClusters);
}

function role(name: string): ScopeForm {
  return () => ({ roles: [{ role: name }] });
}

function narrowedRole(name: string): ScopeForm {
  return (dice) => {
    const entry: NonNullable<MatrixScope['roles']>[number] = { role: name };
    if (dice.chance(60)) entry.projects = [project(dice)];
    if (entry.projects === undefined || dice.chance(40))
      entry.virtualClusters = [`${project(dice)}/${virtualCluster(dice)}`];
    return { roles: [entry] };
  };
}

const singleForms: Record<string, ScopeForm> = {
  'no entries': () => ({}),
  'empty lists': () => ({ roles: [], projects: [], spaces: [], virtualClusters: [], clusters: [], rules: [] }),
  projects: (dice) => ({ projects: [{ project: project(dice) }] }),
  'all projects': () => ({ projects: [{ project: '*' }] }),
  spaces: (dice) => ({ spaces: [{ project: project(dice), space: dice.pick(names.spaces) }] }),
  'all spaces': (dice) => ({ spaces: [{ project: project(dice), space: '*' }] }),
  virtualClusters: (dice) => ({ virtualClusters: [{ project: project(dice), virtualCluster: virtualCluster(dice) }] }),
  'all virtualClusters': (dice) => ({ virtualClusters: [{ project: project(dice), virtualCluster: '*' }] }),
  clusters: (dice) => ({ clusters: [{ cluster: dice.pick(names.clusters) }] }),
  'all clusters': () => ({ clusters: [{ cluster: '*' }] }),
  'platform-cli': role('platform-cli'),
  'platform-cli narrowed': narrowedRole('platform-cli'),
  vcluster: role('vcluster'),
  'vcluster narrowed': narrowedRole('vcluster'),
  agent: role('agent'),
  'agent narrowed': narrowedRole('agent'),
  'metrics-reader': role('metrics-reader'),
  'metrics-reader narrowed': narrowedRole('metrics-reader'),
  'roles without rights': (dice) => ({ roles: [{ role: dice.pick(['network-peer', 'workspace', 'metrics-writer']) }] }),
  allowPlatformCli: () => ({ allowPlatformCli: true }),
  'allowPlatformCli false': () => ({ allowPlatformCli: false }),
  ...ruleForms,
};

/** Two or three forms of entries in one scope. */
function union(dice: Dice): MatrixScope {
  const forms = Object.values(singleForms);
  const scopes = Array.from({ length: 2 + dice.below(2) }, () => dice.pick(forms)(dice) ?? {});
  return {
    roles: scopes.flatMap((scope) => scope.roles ?? []),
    projects: scopes.flatMap((scope) => scope.projects ?? []),
    spaces: scopes.flatMap((scope) => scope.spaces ?? []),
    virtualClusters: scopes.flatMap((scope) => scope.virtualClusters ?? []),
    clusters: scopes.flatMap((scope) => scope.clusters ?? []),
    rules: scopes.flatMap((scope) => scope.rules ?? []),
    ...(scopes.some((scope) => scope.allowPlatformCli === true) ? { allowPlatformCli: true } : {}),
  };
}

export const scopeForms: Readonly<Record<string, ScopeForm>> = { absent: () => undefined, ...singleForms, union };
