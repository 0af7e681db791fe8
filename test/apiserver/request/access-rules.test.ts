import { describe, expect, it } from 'vitest';
import { type AccessRule, covers } from '../../../src/apiserver/request/access-rules.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';

const pods: AccessRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };

describe('covers()', () => {
  const cases: [string, AccessRule, string, boolean][] = [
    ['a listed verb', pods, '/api/v1/namespaces/a/pods', true],
    ['every namespace', pods, '/api/v1/pods', true],
    ['another resource', pods, '/api/v1/namespaces/a/secrets', false],
    ['another group', pods, '/apis/apps/v1/namespaces/a/pods', false],
    ['a subresource', pods, '/api/v1/namespaces/a/pods/b/log', false],
    ['a named subresource', { ...pods, resources: ['pods/log'] }, '/api/v1/namespaces/a/pods/b/log', true],
    ['every resource', { ...pods, resources: ['*'] }, '/api/v1/namespaces/a/pods/b/log', true],
    ['every group', { ...pods, apiGroups: ['*'] }, '/apis/apps/v1/namespaces/a/pods', true],
    ['another verb', { ...pods, verbs: ['create'] }, '/api/v1/namespaces/a/pods', false],
    ['the rule’s namespace', { ...pods, namespaces: ['a'] }, '/api/v1/namespaces/a/pods', true],
    ['another namespace', { ...pods, namespaces: ['b'] }, '/api/v1/namespaces/a/pods', false],
    ['the cluster scope', { ...pods, namespaces: ['a'] }, '/api/v1/pods', false],
    ['the rule’s name', { ...pods, resourceNames: ['b'] }, '/api/v1/namespaces/a/pods/b', true],
    ['another name', { ...pods, resourceNames: ['c'] }, '/api/v1/namespaces/a/pods/b', false],
    ['a path', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, '/healthz', true],
    ['a longer path', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, '/healthz/etcd', false],
    ['a path pattern', { verbs: ['*'], nonResourceURLs: ['/healthz/*'] }, '/healthz/etcd', true],
    ['a path without path rules', pods, '/healthz', false],
  ];
  it.each(cases)('%s', (_claim, rule, path, wanted) => {
    expect(covers(rule, parseTarget('GET', path))).toBe(wanted);
  });
});
