import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allows } from '../../../src/management/scope/allows.ts';
import { covers } from '../../../src/management/scope/covers.ts';
import { parseScope } from '../../../src/management/scope/parse-scope.ts';
import type { AccessRequest } from '../../../src/management/scope/request.ts';
import type { Scope } from '../../../src/management/scope/scope.ts';
import { sampled } from '../../sampled.ts';
import { few, requests, rules, scopes } from './random-scopes.ts';
import { scope, shop, subject } from './scopes.ts';

describe('covers()', () => {
  const project = (name: string) => ({ projects: [{ project: name }] });
  const instance = (name: string) => ({ virtualClusters: [{ project: 'a', virtualCluster: name }] });
  const space = (name: string) => ({ spaces: [{ project: 'a', space: name }] });
  const cluster = (name: string) => ({ clusters: [{ cluster: name }] });
  const rule = (value: object) => ({ rules: [value] });
  const pods = (...resources: string[]) => rule({ resources: [{ resources }] });
  const role = (name: string, rest: object = {}) => ({ roles: [{ role: name, ...rest }] });
  it.each<[parent: object, child: object, isCovered: boolean]>([
    [project('a'), project('a'), true],
    [project('a'), project('b'), false],
    [project('*'), project('b'), true],
    [project('a'), project('*'), false],
    [project('a'), instance('v'), true],
    [project('a'), instance('*'), true],
    [project('b'), instance('v'), false],
    [project('a'), space('s'), true],
    [project('*'), cluster('c1'), false],
    [instance('*'), instance('v'), true],
    [instance('v'), instance('*'), false],
    [instance('v'), project('a'), false],
    [space('*'), space('s'), true],
    [cluster('*'), cluster('c1'), true],
    [cluster('c1'), cluster('*'), false],
    [{}, {}, true],
    [{}, project('a'), false],
    [project('a'), {}, true],
    [rule({}), project('*'), true],
    [rule({}), cluster('*'), true],
    [rule({ requestTargets: ['Management'] }), project('a'), false],
    [rule({ verbs: ['get'] }), project('a'), false],
    [rule({ cluster: 'c1' }), cluster('c1'), true],
    [rule({ cluster: 'c1' }), cluster('c2'), false],
    [rule({}), role('metrics-reader'), true],
    [role('platform-cli'), role('vcluster'), true],
    [role('vcluster'), role('platform-cli'), false],
    [role('platform-cli', { projects: ['a'] }), role('platform-cli'), false],
    [role('platform-cli', { projects: ['a'] }), role('vcluster', { virtualClusters: ['a/v'] }), true],
    [project('a'), role('platform-cli', { projects: ['a'] }), true],
    [project('a'), role('platform-cli'), false],
    [project('a'), role('metrics-reader'), false],
    [role('platform-cli'), { allowPlatformCli: true }, true],
    [pods('*'), pods('pods', 'pods/log'), true],
    [pods('pods/*'), pods('pods'), false],
    [pods('*/log'), pods('pods/log'), true],
    [pods('*'), pods('pods/proxy'), false],
    [rule({}), pods('pods/proxy'), false],
    [pods('*/proxy'), pods('pods/proxy'), true],
    [rule({}), pods('pods'), true],
    [pods('pods'), rule({}), false],
    [rule({ nonResourceURLs: ['/a/*'] }), rule({ nonResourceURLs: ['/a/b', '/a/b/*'] }), true],
    [rule({ nonResourceURLs: ['/a/b'] }), rule({ nonResourceURLs: ['/a/*'] }), false],
    [rule({ namespaces: ['x'] }), rule({}), false],
    [rule({ namespaces: ['x', 'y'] }), rule({ namespaces: ['y'] }), true],
    [rule({ verbs: ['get', 'list'] }), rule({ verbs: ['get'] }), true],
    [rule({ verbs: ['get'] }), rule({}), false],
    [cluster('c1'), rule({ cluster: 'c1' }), true],
    [project('a'), rule({ virtualClusters: [{ namespace: 'p-a' }] }), true],
    [project('a'), rule({ virtualClusters: [{ name: 'v' }] }), false],
    [project('a'), rule({ requestTargets: ['Cluster'], virtualClusters: [{}] }), true],
  ])('%j holds %j: %s', (parent, child, isCovered) => {
    expect(covers([scope(parent)], scope(child)).covered).toBe(isCovered);
  });

  it('names the entries that lead outside', () => {
    const child = scope({ projects: [{ project: 'a' }, { project: 'b' }], clusters: [{ cluster: 'c1' }] });
    expect(covers([scope(project('a'))], child)).toEqual({
      covered: false,
      unscoped: false,
      entries: ['spec.scope.projects[1]', 'spec.scope.clusters[0]'],
    });
  });

  it('holds everything without a scope, and no scope only then', () => {
    expect(covers([undefined, undefined], undefined).covered).toBe(true);
    expect(covers([undefined], scope(project('a'))).covered).toBe(true);
    expect(covers([undefined, scope({})], undefined)).toEqual({ covered: false, unscoped: true });
  });

  it('needs every scope of the maker', () => {
    expect(covers([scope(project('a')), scope(project('*'))], scope(project('a'))).covered).toBe(true);
    expect(covers([scope(project('a')), scope(project('b'))], scope(project('a'))).covered).toBe(false);
  });
});

describe('whatever a covered scope allows, its parent allows too', () => {
  const isAllowed = (value: Scope, request: AccessRequest) =>
    allows(shop, { subject: subject('root'), keyName: 'own', scopes: [value] }, request).allowed;

  it('for any two scopes and any request', () => {
    let compared = 0;
    fc.assert(
      fc.property(scopes, scopes, few(requests, 20), (parent, child, asked) => {
        // Of the child only what is covered is kept, so that every run compares something.
        const entries = child.entries.filter((entry) => covers([parent], { entries: [entry] }).covered);
        const narrow = { entries };
        expect(covers([parent], narrow).covered).toBe(true);
        for (const request of asked) {
          if (!isAllowed(narrow, request)) continue;
          compared += entries.length > 0 ? 1 : 0;
          expect({ request, parent: isAllowed(parent, request) }).toEqual({ request, parent: true });
        }
      }),
      { numRuns: sampled(4000) },
    );
    expect(compared).toBeGreaterThan(sampled(500));
  });

  it('for a rule and a copy of it with some fields changed, where the difference is small', () => {
    const fields = ['verbs', 'resources', 'resourceNames', 'namespaces', 'nonResourceURLs', 'requestTargets'] as const;
    const changes = fc.subarray([...fields, 'cluster', 'virtualClusters'] as const, { minLength: 1, maxLength: 2 });
    const open = {
      verbs: [],
      resources: [],
      resourceNames: [],
      namespaces: [],
      nonResourceURLs: [],
      requestTargets: [],
    };
    const sparse = fc
      .tuple(rules, fc.subarray([...fields]))
      .map(([rule, kept]) => ({ ...rule, ...open, ...Object.fromEntries(kept.map((field) => [field, rule[field]])) }));
    let compared = 0;
    fc.assert(
      fc.property(
        sparse,
        rules,
        changes,
        fc.array(requests, { minLength: 40, maxLength: 40 }),
        (rule, other, fewOf, asked) => {
          const changed = { ...rule, ...Object.fromEntries(fewOf.map((field) => [field, other[field]])) };
          const [one, two] = [{ rules: [rule] }, { rules: [changed] }].map((value) => parseScope(value));
          if (one === undefined || two === undefined || one.errors.length + two.errors.length > 0) return;
          for (const [parent, child] of [
            [one.scope, two.scope],
            [two.scope, one.scope],
          ] as const) {
            if (!covers([parent], child).covered) continue;
            for (const request of asked) {
              if (!isAllowed(child, request)) continue;
              compared++;
              expect({ request, parent: isAllowed(parent, request) }).toEqual({ request, parent: true });
            }
          }
        },
      ),
      { numRuns: sampled(4000) },
    );
    expect(compared).toBeGreaterThan(sampled(4500));
  });

  it('and a parent covers itself', () => {
    fc.assert(fc.property(scopes, (value) => covers([value], value).covered));
  });
});
