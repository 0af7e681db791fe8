// Makes the credential of a token's holder from the claims alone, because an endpoint has no users in its configuration. In:
// verified claims, and the spaces of the cluster. Out: a credential and a directory for the evaluator of the management API. Pure.
import type { User } from '../../../apiserver/request/identity.ts';
import type { DirectSettings, ManagementSettings } from '../../../config/settings/management-settings.ts';
import { placeText, type TokenClaims } from '../../credentials/claims/claims.ts';
import type { Credential } from '../../scope/allows.ts';
import { Directory, type Subject } from '../../scope/directory.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import { type SourceNetworks, sourceNetworks } from '../../scope/patterns/source-networks.ts';

export interface TokenHolder {
  claims: TokenClaims;
  user: User;
  credential: Credential;
  directory: Directory;
  /** Undefined = from everywhere. */
  networks: SourceNetworks | undefined;
}

/** The owner of the key is modelled as a team of one, so users and teams are judged alike. */
const holder = 'holder';

export function holderOf(claims: TokenClaims, endpoint: Pick<DirectSettings, 'cluster' | 'spaces'>): TokenHolder {
  const { subjectKind: kind, subjectName: name, subjectUid: uid, keyName, isAdministrator } = claims;
  const groups = new Set(claims.groups);
  const subject: Subject = { kind, name, groups, teams: new Set([holder]), isAdministrator };
  const scopes = claims.scopes.map((scope) => parseScope(scope).scope);
  return {
    claims,
    user: { name: kind === 'user' ? name : `${kind}:${name}`, uid, groups: claims.groups },
    // Without a scope, only the rights of the owner limit the token.
    credential: { subject, keyName, scopes },
    directory: new Directory(settingsOf(claims, endpoint)),
    networks: claims.networks === undefined ? undefined : sourceNetworks(claims.networks),
  };
}

/** The settings of an endpoint, which has no users of its own. */
export const emptySettings: ManagementSettings = {
  administrators: { users: [], groups: [] },
  users: [],
  teams: [],
  clusters: [],
  projects: [],
  keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1 },
  audit: { reads: false, keepFiles: 10 },
  kubeconfigs: { allowedServers: [] },
};

function settingsOf(
  { clusters, projects, spaces: places, groups }: TokenClaims,
  { cluster, spaces: listed }: Pick<DirectSettings, 'cluster' | 'spaces'>,
): ManagementSettings {
  // The platform may have taken a space away, or given it another namespace, since the endpoint was configured.
  const spaces = listed.filter(({ project, name, namespace }) =>
    places.includes(placeText({ cluster, project, space: name, namespace })),
  );
  const names = [...new Set(spaces.map(({ project }) => project))];
  return {
    ...emptySettings,
    // identityOf() sends only the groups that the settings name.
    users: [{ name: holder, groups, disabled: false }],
    teams: [{ name: holder, users: [], groups: [] }],
    clusters: [{ name: cluster, members: clusters.includes(cluster) ? [{ team: holder }] : [] }],
    projects: names.map((name) => {
      const role = Object.hasOwn(projects, name) ? projects[name] : undefined;
      return {
        name,
        members: role === undefined ? [] : [{ team: holder, role }],
        virtualClusters: [],
        spaces: spaces
          .filter(({ project }) => project === name)
          .map((space) => ({ name: space.name, cluster, namespace: space.namespace })),
      };
    }),
  };
}
