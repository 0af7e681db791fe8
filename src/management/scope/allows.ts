// The evaluator: decides whether a credential may send a request, and gives the reason. A credential is a subject, the name of its
// key and a list of scopes (its own, its maker's, and so on). The request must stay in its place, the subject must have the right,
// and each scope must allow the request by itself. Pure: the same question has the same answer.
import type { ProjectRole } from '../../config/settings/management-settings.ts';
import { isDiscoveryOrReview, isEverybodysRight, isIssuing, isOwnKeyOrToken } from './base-grant.ts';
import { type Directory, isMember, type Subject } from './directory.ts';
import { whyNoKey, whyNoKubeconfigKey } from './issuing.ts';
import { matchesEntry, reaches } from './match-entry.ts';
import {
  type AccessRequest,
  instanceResource,
  isManagementResource,
  projectOfNamespace,
  requestText,
} from './request.ts';
import type { MaybeScope, Scope } from './scope.ts';

export interface Credential {
  subject: Subject;
  /** Name of the key object. */
  keyName: string;
  /** The own scope first, then those of the makers. Undefined = that key has no scope. */
  scopes: readonly MaybeScope[];
  /** The credential cannot make keys, tokens and kubeconfigs, even if its scopes allow it. */
  issuesNothing?: boolean;
}

export interface AccessDecision {
  allowed: boolean;
  /** A sentence for audit, `keys explain` and the message of a 403. */
  reason: string;
  /** The entry of the own scope that lets the request through; undefined without a scope, and where the base grant does. */
  entry: string | undefined;
}

export function allows(directory: Directory, credential: Credential, request: AccessRequest): AccessDecision {
  const { subject, keyName, scopes } = credential;
  const right = rightFor(directory, subject, request);
  const noRight = `the ${subject.kind} has no right to ${requestText(request)}`;
  // Only callers who may use the place learn where it ends.
  if (!staysInPlace(directory, request))
    return denied(right === undefined ? noRight : noRight + placeText(directory, request.target));
  if (credential.issuesNothing === true && isIssuing(request))
    return denied('the key of a kubeconfig makes no keys, tokens and kubeconfigs');
  if (right === undefined) return denied(noRight);
  if (asksForCertificate(request) && scopes.some((scope) => scope?.entries.some(({ kind }) => kind === 'rule')))
    return denied('a key with rules in its scope gets no client certificate');
  const grants = scopes.map((scope) => (scope === undefined ? '' : grantedBy(directory, scope, keyName, request)));
  const missing = grants.indexOf(undefined);
  if (missing >= 0) {
    const whose = missing === 0 ? 'its scope' : `the scope of the key that made it${missing > 1 ? ', further up' : ''}`;
    return denied(`no entry of ${whose} allows ${requestText(request)}`);
  }
  const impossible = whyNoKey(credential, request) ?? whyNoKubeconfig(directory, credential, request);
  if (impossible !== undefined) return denied(impossible);
  const own = grants[0] ?? '';
  const because = own === '' ? right : `${right}, by ${own}`;
  return { allowed: true, reason: because, entry: own === '' || own === baseGrant ? undefined : own };
}

/** Rights over the keys of other owners need an administrator's key without a scope. */
export function actsAsAdministrator({ subject, scopes }: Credential): boolean {
  return subject.isAdministrator && scopes.every((scope) => scope === undefined);
}

export function isScoped({ scopes }: Credential): boolean {
  return scopes.some((scope) => scope !== undefined);
}

const baseGrant = 'the base grant';

function grantedBy(directory: Directory, scope: Scope, keyName: string, request: AccessRequest): string | undefined {
  if (request.target.kind === 'Management') {
    if (isDiscoveryOrReview(request) || isOwnKeyOrToken(request, keyName)) return baseGrant;
  } else if (isDiscoveryOrReview(request)) {
    const reaching = scope.entries.find((entry) => reaches(entry, request.target));
    if (reaching !== undefined) return reaching.path;
  }
  return scope.entries.find((entry) => matchesEntry(entry, request, directory))?.path;
}

/** Neither with a key nor with a client certificate; undefined = with one of them. */
function whyNoKubeconfig(directory: Directory, credential: Credential, request: AccessRequest): string | undefined {
  const why = whyNoKubeconfigKey(credential, request);
  if (why === undefined || !request.isResource) return undefined;
  return allows(directory, credential, { ...request, clientCert: true }).allowed ? undefined : why;
}

function asksForCertificate(request: AccessRequest): boolean {
  return request.isResource && request.clientCert === true;
}

function denied(reason: string): AccessDecision {
  return { allowed: false, reason, entry: undefined };
}

// The place of a request, judged once for everybody: before persons, rights and scopes. A space is one namespace of its cluster,
// and nothing else there can be reached through it, whoever asks. Pure.

/** Discovery and self-reviews are about no namespace. */
function staysInPlace(directory: Directory, request: AccessRequest): boolean {
  if (request.target.kind !== 'ProjectSpace' || isDiscoveryOrReview(request)) return true;
  const namespace = spaceNamespace(directory, request.target);
  return namespace !== undefined && request.isResource && request.namespace === namespace;
}

/** For somebody who may use the space but asked for another namespace: kubectl asks for "default" by itself. */
function placeText(directory: Directory, target: AccessRequest['target']): string {
  if (target.kind !== 'ProjectSpace') return '';
  const namespace = spaceNamespace(directory, target);
  return namespace === undefined ? '' : `; the space ${target.space} is the namespace ${namespace} alone`;
}

function spaceNamespace(directory: Directory, at: { project: string; space: string }): string | undefined {
  return directory.projects.get(at.project)?.spaces.find(({ name }) => name === at.space)?.namespace;
}

// The rights of a subject from the configuration alone: the rights of everybody, of project members by their role, of cluster
// members and of administrators. A scope can only narrow them. That a request stays in its place is judged before, by `staysInPlace`.

/** The words of the right that allows the request; undefined = no right allows it. */
function rightFor(directory: Directory, subject: Subject, request: AccessRequest): string | undefined {
  if (subject.isAdministrator) return 'administrator';
  const { target } = request;
  switch (target.kind) {
    case 'Management':
      return managementRight(directory, subject, request);
    case 'Cluster': {
      const members = directory.clusters.get(target.cluster)?.members ?? [];
      const isIn = members.some((member) => isMember(member, subject));
      return isIn ? `member of cluster ${target.cluster}` : undefined;
    }
    case 'ProjectSpace':
    case 'ProjectVirtualCluster':
      return roleRight(directory, subject, target.project, 'user');
    default:
      return target satisfies never;
  }
}

function managementRight(directory: Directory, subject: Subject, request: AccessRequest): string | undefined {
  if (isDiscoveryOrReview(request) || isEverybodysRight(request)) return 'everybody';
  if (!isManagementResource(request, instanceResource)) return undefined;
  const project = projectOfNamespace(request.namespace);
  if (project === undefined) return undefined;
  const needed = neededRole(request.verb, request.subresource, request.clientCert === true);
  return needed === undefined ? undefined : roleRight(directory, subject, project, needed);
}

function neededRole(verb: string, subresource: string, clientCert: boolean): ProjectRole | undefined {
  if (subresource === '') return verb === 'get' || verb === 'list' || verb === 'watch' ? 'viewer' : undefined;
  if (subresource !== 'kubeconfig' || verb !== 'create') return undefined;
  return clientCert ? 'admin' : 'user';
}

/** Each role holds the ones before it. */
const roleOrder: readonly ProjectRole[] = ['viewer', 'user', 'admin'];

function roleRight(directory: Directory, subject: Subject, project: string, needed: ProjectRole): string | undefined {
  const members = directory.projects.get(project)?.members ?? [];
  const held = members.find(
    (member) => roleOrder.indexOf(member.role) >= roleOrder.indexOf(needed) && isMember(member, subject),
  );
  return held === undefined ? undefined : `${held.role} of project ${project}`;
}
