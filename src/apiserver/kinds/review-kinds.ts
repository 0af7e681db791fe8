// The review kinds: who am I, may I, may another user, and which user has this token. The tenant's Reviewer answers them.
import { type FieldError, invalidValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { invalid } from '../../object/meta/status.ts';
import type { AccessRule, Reviewer } from '../request/access-rules.ts';
import type { User } from '../request/identity.ts';
import { badRequest, StatusFault } from '../request/status-fault.ts';
import type { Target, Verb } from '../request/target.ts';
import { at, items, text } from './fields.ts';
import type { Kind, WriteContext } from './kind.ts';

export function reviewKinds(access: Reviewer): Kind[] {
  const authorization = { group: 'authorization.k8s.io', version: 'v1', schemaPrefix: 'io.k8s.api.authorization.v1' };
  const authentication = {
    group: 'authentication.k8s.io',
    version: 'v1',
    schemaPrefix: 'io.k8s.api.authentication.v1',
  };
  return [
    reviewKind(authentication, 'SelfSubjectReview', (_review, { user }) => ({ status: { userInfo: userInfo(user) } })),
    reviewKind(authentication, 'TokenReview', (review) => {
      const user = access.userOfToken(text(review, 'spec', 'token'));
      const status =
        user === undefined ? { user: {}, error: 'invalid token' } : { authenticated: true, user: userInfo(user) };
      return { spec: review['spec'], status };
    }),
    reviewKind(authorization, 'SelfSubjectAccessReview', (review, { user }) =>
      decided(review, user, access, { subject: false, namespace: '' }),
    ),
    reviewKind(authorization, 'SubjectAccessReview', (review) =>
      decided(review, subjectOf(review), access, { subject: true, namespace: '' }),
    ),
    reviewKind(
      authorization,
      'LocalSubjectAccessReview',
      (review, { namespace }) => decided(review, subjectOf(review), access, { subject: true, namespace }),
      true,
    ),
    reviewKind(authorization, 'SelfSubjectRulesReview', async (review, { user }) => {
      const namespace = text(review, 'spec', 'namespace');
      if (namespace === '') throw badRequest('no namespace on request');
      const status = rulesStatus(await access.rulesOf(user, namespace), namespace);
      const evaluationError = (await access.ruleFault?.(user, namespace)) ?? '';
      return { spec: {}, status: evaluationError === '' ? status : { ...status, evaluationError } };
    }),
  ];
}

function reviewKind(
  api: { group: string; version: string; schemaPrefix: string },
  kind: string,
  answer: (review: KubeObject, ctx: WriteContext) => Record<string, unknown> | Promise<Record<string, unknown>>,
  namespaced = false,
): Kind {
  const { group, version, schemaPrefix } = api;
  const singular = kind.toLowerCase();
  return {
    group,
    version,
    kind,
    plural: `${singular}s`,
    singular,
    namespaced,
    verbs: ['create'],
    schema: `${schemaPrefix}.${kind}`,
    storage: '',
    strategy: {},
    columns: [],
    answer: async (review, ctx) => ({ ...(await answer(review, ctx)), metadata: review.metadata ?? {} }),
  };
}

function userInfo(user: User): object {
  return {
    username: user.name,
    ...(user.uid === undefined ? {} : { uid: user.uid }),
    groups: user.groups,
    ...(user.extra === undefined ? {} : { extra: user.extra }),
  };
}

function subjectOf(review: KubeObject): User {
  return { name: text(review, 'spec', 'user'), groups: items(review, 'spec', 'groups').map(String) };
}

async function decided(
  review: KubeObject,
  user: User,
  access: Reviewer,
  about: { subject: boolean; namespace: string },
): Promise<Record<string, unknown>> {
  const errors = reviewErrors(review, about);
  if (errors.length > 0) throw new StatusFault(invalid({ group: 'authorization.k8s.io', kind: '' }, '', errors));
  const { allowed, reason } = await access.decide(user, targetOf(review));
  return { spec: review['spec'], status: { allowed, ...(reason === undefined ? {} : { reason }) } };
}

function targetOf(review: KubeObject): Target {
  const resource = at(review, 'spec', 'resourceAttributes');
  const isResource = resource !== undefined;
  const attributes = isResource ? resource : at(review, 'spec', 'nonResourceAttributes');
  return {
    isResource,
    verb: text(attributes, 'verb') as Verb,
    path: text(attributes, 'path'),
    group: text(attributes, 'group'),
    version: text(attributes, 'version'),
    namespace: text(attributes, 'namespace'),
    resource: text(attributes, 'resource'),
    subresource: text(attributes, 'subresource'),
    name: text(attributes, 'name'),
    query: new URLSearchParams(),
  };
}

function rulesStatus(rules: readonly AccessRule[], namespace: string): object {
  const inNamespace = rules.filter((rule) => rule.namespaces === undefined || rule.namespaces.includes(namespace));
  const resourceRules = inNamespace
    .filter((rule) => rule.resources !== undefined)
    .map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames }));
  const nonResourceRules = inNamespace
    .filter((rule) => rule.nonResourceURLs !== undefined)
    .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }));
  return { resourceRules, nonResourceRules, incomplete: false };
}

// Validates access reviews, with the messages of the real server: whose rights are asked for, and the right to exactly one thing.

/** `subject`: the review names a user or a group. `namespace` is that of a review inside a namespace. */
function reviewErrors(review: KubeObject, about: { subject: boolean; namespace: string }): FieldError[] {
  const resource = at(review, 'spec', 'resourceAttributes');
  const path = at(review, 'spec', 'nonResourceAttributes');
  // The real server shows these attributes with their internal names.
  const shownPath = { Path: text(path, 'path'), Verb: text(path, 'verb') };
  const errors: FieldError[] = [];
  if (resource !== undefined && path !== undefined) {
    const why = 'cannot be specified in combination with resourceAttributes';
    errors.push(invalidValue('spec.nonResourceAttributes', shownPath, why));
  }
  if (resource === undefined && path === undefined) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalidValue('spec.resourceAttributes', null, why));
  }
  const hasSubject = text(review, 'spec', 'user') !== '' || items(review, 'spec', 'groups').length > 0;
  if (about.subject && !hasSubject)
    errors.push(invalidValue('spec.user', '', 'at least one of user or group must be specified'));
  if (about.namespace === '') return errors;
  const asked = text(resource, 'namespace');
  if (resource !== undefined && asked !== about.namespace)
    errors.push(invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace'));
  if (path !== undefined)
    errors.push(invalidValue('spec.nonResourceAttributes', shownPath, 'disallowed on this kind of request'));
  return errors;
}
