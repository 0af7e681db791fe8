// Decides for the kit about the rights of a caller: a decision for each request, the same decision for a review, and the rules
// that `kubectl auth can-i --list` prints, which are found by asking the evaluator.
import type { AccessRule, Reviewer } from '../../../apiserver/request/access-rules.ts';
import type { Authorize, Decision, User } from '../../../apiserver/request/identity.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Target } from '../../../apiserver/request/target.ts';
import type { ManagementProject } from '../../../config/settings/management-settings.ts';
import { notFound } from '../../../object/meta/status.ts';
import { actsAsAdministrator, allows } from '../../scope/allows.ts';
import { managementRequest } from '../../scope/classify.ts';
import type { Directory } from '../../scope/directory.ts';
import {
  type AccessRequest,
  instanceResource,
  keyResource,
  managementGroup,
  namespaceOfProject,
  reportResource,
  revocationResource,
  tokenResource,
} from '../../scope/request.ts';
import { isVisible, type KeysAndPeople, namesNoVisibleKey } from '../life/visible.ts';
import { whyNotRotated } from '../rules/rotation.ts';
import type { Callers, Session } from './callers.ts';

const openPaths = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/openapi/*',
  '/version',
  '/healthz',
  '/livez',
  '/readyz',
  '/',
];
const keyVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const instanceVerbs = ['get', 'list', 'watch'];

export class Rights implements Reviewer {
  readonly #callers: Callers;
  readonly #directory: () => Directory;
  readonly #key: KeysAndPeople['key'];

  constructor(callers: Callers, directory: () => Directory, key: KeysAndPeople['key']) {
    this.#callers = callers;
    this.#directory = directory;
    this.#key = key;
  }

  authorize: Authorize = ({ user, target }) => {
    const decision = this.#judge(user, target);
    const session = this.#callers.sessionOf(user);
    if (decision.allowed || session === undefined) return decision;
    const world = { directory: this.#directory(), key: this.#key };
    // Answered here rather than by the verb: a key that is made in between must not be touched without leave.
    if (namesNoVisibleKey(managementRequest(target), session.credential, world))
      throw new StatusFault(notFound({ group: target.group, resource: target.resource }, target.name));
    return decision;
  };

  /** For reviews and owners, who do not hear the fields that the request itself is answered. */
  decide(user: User, target: Target): Decision {
    const decision = this.#judge(user, target);
    const session = this.#callers.sessionOf(user);
    if (!decision.allowed || session === undefined) return decision;
    const why = this.#whyNotRotated(session, managementRequest(target));
    return why === undefined ? decision : { allowed: false, reason: why };
  }

  #whyNotRotated(session: Session, request: AccessRequest): string | undefined {
    const key = request.isResource ? this.#key(request.name) : undefined;
    if (key === undefined || !isVisible(key, session.credential, this.#directory())) return undefined;
    return whyNotRotated(request, this.#callers.callerOf(session), key);
  }

  #judge(user: User, target: Target): Decision {
    // Nothing is served there, and that is all there is to say.
    if (!target.isResource && target.path === '') return { allowed: true };
    const session = this.#callers.sessionOf(user);
    if (session === undefined) {
      // Strangers got this far for the paths that need no key.
      return { allowed: !target.isResource && target.verb === 'get' };
    }
    const { allowed, reason } = allows(this.#directory(), session.credential, managementRequest(inItsPlace(target)));
    return allowed ? { allowed } : { allowed, reason: withPlace(reason, target) };
  }

  /** Like `decide`, but always no for a key that is absent or that the caller cannot see, so that the two look alike. */
  decideVisible(user: User, target: Target): Decision {
    const session = this.#callers.sessionOf(user);
    const decision = this.decide(user, target);
    if (session === undefined || actsAsAdministrator(session.credential)) return decision;
    const world = { directory: this.#directory(), key: this.#key };
    return namesNoVisibleKey(managementRequest(target), session.credential, world) ? { allowed: false } : decision;
  }

  /** For a report of an agent, whose body names the cluster. */
  mayReport(user: User, cluster: string): Decision {
    const session = this.#callers.sessionOf(user);
    if (session === undefined) return { allowed: false };
    return allows(this.#directory(), session.credential, { ...newReport, cluster });
  }

  /** Of those who may report: the key of an administrator without a scope may do it too. */
  isAgent(user: User): boolean {
    const session = this.#callers.sessionOf(user);
    return session !== undefined && !actsAsAdministrator(session.credential);
  }

  userOfToken(): undefined {
    return undefined;
  }

  rulesOf(user: User): readonly AccessRule[] {
    const session = this.#callers.sessionOf(user);
    if (session === undefined) return [];
    if (actsAsAdministrator(session.credential)) {
      return [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ];
    }
    return [
      ...selfReviews,
      { verbs: ['get'], nonResourceURLs: openPaths },
      ...this.#keyRules(session),
      ...this.#agentRules(session),
      ...this.#instanceRules(session),
    ];
  }

  #keyRules(session: Session): AccessRule[] {
    const about = { apiGroups: [managementGroup], resources: [keyResource] };
    const rules: AccessRule[] = [];
    const everywhere = keyVerbs.filter((verb) => this.#may(session, { verb, resource: keyResource }));
    if (everywhere.length > 0) rules.push({ verbs: everywhere, ...about });
    for (const name of namesIn(session)) {
      const verbs = keyVerbs.filter((verb) => this.#may(session, { verb, resource: keyResource, name }));
      const more = verbs.filter((verb) => !everywhere.includes(verb));
      if (more.length > 0) rules.push({ verbs: more, ...about, resourceNames: [name] });
    }
    if (this.#may(session, { verb: 'create', resource: keyResource, subresource: 'rotate' }))
      rules.push({ verbs: ['create'], apiGroups: [managementGroup], resources: [`${keyResource}/rotate`] });
    if (this.#may(session, { verb: 'create', resource: tokenResource }))
      rules.push({ verbs: ['create'], apiGroups: [managementGroup], resources: [tokenResource] });
    return rules;
  }

  #agentRules(session: Session): AccessRule[] {
    const reads = ['list', 'watch'].filter((verb) => this.#may(session, { verb, resource: revocationResource }));
    const rules: AccessRule[] = [];
    if (reads.length > 0) rules.push({ verbs: reads, apiGroups: [managementGroup], resources: [revocationResource] });
    if (this.#may(session, newReport))
      rules.push({ verbs: ['create'], apiGroups: [managementGroup], resources: [reportResource] });
    return rules;
  }

  #instanceRules(session: Session): AccessRule[] {
    return this.#directory().settings.projects.flatMap((project) => {
      const namespace = namespaceOfProject(project.name);
      const about = { apiGroups: [managementGroup], resources: [instanceResource], namespaces: [namespace] };
      const may = (verb: string, name = '') =>
        this.#may(session, { verb, resource: instanceResource, namespace, name });
      const everywhere = instanceVerbs.filter((verb) => may(verb));
      const rules: AccessRule[] = everywhere.length > 0 ? [{ verbs: everywhere, ...about }] : [];
      for (const { name } of project.virtualClusters) {
        const more = instanceVerbs.filter((verb) => !everywhere.includes(verb) && may(verb, name));
        if (more.length > 0) rules.push({ verbs: more, ...about, resourceNames: [name] });
      }
      return [...rules, ...this.#kubeconfigRules(session, project)];
    });
  }

  #kubeconfigRules(session: Session, { name: project, virtualClusters }: ManagementProject): AccessRule[] {
    const namespace = namespaceOfProject(project);
    const resources = [`${instanceResource}/kubeconfig`];
    const about = { verbs: ['create'], apiGroups: [managementGroup], resources, namespaces: [namespace] };
    const asked = { verb: 'create', resource: instanceResource, subresource: 'kubeconfig', namespace };
    if (this.#may(session, asked)) return [about];
    const names = virtualClusters.map(({ name }) => name).filter((name) => this.#may(session, { ...asked, name }));
    return names.length === 0 ? [] : [{ ...about, resourceNames: names }];
  }

  #may(
    { credential }: Session,
    of: { verb: string; resource: string; subresource?: string; namespace?: string; name?: string },
  ): boolean {
    const { verb, resource, subresource = '', namespace = '', name = '' } = of;
    const request: AccessRequest = {
      isResource: true,
      target: { kind: 'Management' },
      group: managementGroup,
      verb,
      resource,
      subresource,
      namespace,
      name,
    };
    return allows(this.#directory(), credential, request).allowed;
  }
}

const newReport: Extract<AccessRequest, { isResource: true }> = {
  isResource: true,
  target: { kind: 'Management' },
  verb: 'create',
  group: managementGroup,
  resource: reportResource,
  subresource: '',
  namespace: '',
  name: '',
};

/** Keys are in no namespace, but kubectl asks about them in the namespace of its context. Requests for keys in a namespace are answered 404. */
function inItsPlace(target: Target): Target {
  const isKey = target.isResource && target.group === managementGroup && target.resource === keyResource;
  return isKey ? { ...target, namespace: '' } : target;
}

const selfReviews: readonly AccessRule[] = [
  {
    verbs: ['create'],
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  },
  { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
];

/** The names that a scope can be about: the key itself and those that its rules list. */
function namesIn({ credential }: Session): Set<string> {
  const names = new Set<string>([credential.keyName]);
  for (const scope of credential.scopes)
    for (const entry of scope?.entries ?? [])
      if (entry.kind === 'rule') for (const name of entry.resourceNames) names.add(name);
  return names;
}

/** `kubectl get virtualclusterinstances -A` asks for all projects; a member may read those of one. */
function withPlace(reason: string, { verb, resource, namespace, name }: Target): string {
  const isEverywhere = resource === instanceResource && namespace === '' && name === '';
  return isEverywhere && (verb === 'list' || verb === 'watch')
    ? `${reason} of all projects; name one project, like -n p-PROJECT`
    : reason;
}
