// Computes the rights in a token's claims: its clusters, the roles of its owner there, and the scopes that narrow it. Pure: the
// present configuration and the key in, the rights out. When the rights of a key change, its tokens die.
import { createHash } from 'node:crypto';
import { credentialOf, type KeyWorld, makersOf } from '../../keys/life/credential.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import { type Directory, isMember, type Subject } from '../../scope/directory.ts';
import { reaches } from '../../scope/match-entry.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import type { Destination } from '../../scope/request.ts';
import type { MaybeScope } from '../../scope/scope.ts';
import { type ProxiedRole, placeText, type TokenRights } from '../claims/claims.ts';

export interface ReachingRights extends TokenRights {
  /** Clusters whose direct endpoints take the token. */
  reached: readonly string[];
}

/** `own`: the scope of the token itself, in addition to the scopes of the key and of the keys that made it. */
export function rightsOf(
  directory: Directory,
  subject: Subject,
  { scopes, networks }: Pick<TokenRights, 'scopes' | 'networks'>,
): ReachingRights {
  const parsed = scopes.map((scope): MaybeScope => parseScope(scope).scope);
  const isOpen = (target: Destination) =>
    parsed.every((scope) => scope === undefined || scope.entries.some((entry) => reaches(entry, target)));
  const clusters = directory.settings.clusters
    .filter(({ members }) => subject.isAdministrator || members.some((member) => isMember(member, subject)))
    .map(({ name }) => name)
    .filter((cluster) => isOpen({ kind: 'Cluster', cluster }));
  const reached = new Set(clusters);
  const projects: Record<string, ProxiedRole> = {};
  const spaces: string[] = [];
  for (const project of directory.settings.projects) {
    const role = subject.isAdministrator ? 'admin' : roleIn(project.members, subject);
    if (role === undefined) continue;
    const open = project.spaces.filter(({ name: space }) =>
      isOpen({ kind: 'ProjectSpace', project: project.name, space }),
    );
    for (const { cluster, name: space, namespace } of open) {
      reached.add(cluster);
      spaces.push(placeText({ cluster, project: project.name, space, namespace }));
    }
    if (open.length > 0) projects[project.name] = role;
  }
  return {
    reached: [...reached].sort(),
    clusters,
    projects,
    spaces: spaces.sort(),
    groups: [...subject.groups].sort(),
    isAdministrator: subject.isAdministrator,
    scopes,
    networks,
  };
}

function roleIn(
  members: Directory['settings']['projects'][number]['members'],
  subject: Subject,
): ProxiedRole | undefined {
  const roles = members.filter((member) => isMember(member, subject)).map(({ role }) => role);
  if (roles.includes('admin')) return 'admin';
  return roles.includes('user') ? 'user' : undefined;
}

/** The scopes that narrow a key, as in the objects: its own first, then those of its makers, each scope once. */
export function scopesOf(facts: KeyFacts, world: Pick<KeyWorld, 'key'>): Record<string, unknown>[] {
  const all = [facts, ...(makersOf(facts, world) ?? [])].map(({ scoped }) => scoped?.value);
  return withoutDoubles(all.filter((scope) => scope !== undefined));
}

export function withoutDoubles(scopes: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const seen = new Set<string>();
  return scopes.filter((scope) => {
    const text = JSON.stringify(scope);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** All rights of a token of this key. When one of the texts changes, older tokens are dead. */
export interface RightsView {
  view: string;
  /** The spaces; a text of its own, because replicas of the version before compare the other one. */
  places: string;
}

/** A version whose tokens name no spaces writes no text of them. */
export type KnownView = Pick<RightsView, 'view'> & Partial<RightsView>;

export function isSameView(one: KnownView, other: KnownView): boolean {
  const isOfOldVersion = one.places === undefined || other.places === undefined;
  return one.view === other.view && (isOfOldVersion || one.places === other.places);
}

export function viewOfKey(facts: KeyFacts, world: KeyWorld, nowMs: number): RightsView {
  // Networks are left out: the source of each request is judged when it comes.
  const found = credentialOf({ ...facts, networks: undefined }, world, { nowMs, address: undefined });
  if (found.kind === 'dead') return { view: `dead: ${found.because}`, places: '' };
  const { spaces, ...rights } = rightsOf(world.directory, found.credential.subject, {
    scopes: scopesOf(facts, world),
    networks: facts.networksText,
  });
  return {
    view: JSON.stringify([facts.record.tokenGeneration, rights]),
    places: createHash('sha256').update(spaces.join()).digest('base64url'),
  };
}
