import { describe, expect, it } from 'vitest';
import { aggregated } from '../../../src/devcluster/rbac/aggregation.ts';

const rule = (verb: string) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] });
const plain = (name: string, labels: Record<string, string>, ...verbs: string[]) => ({
  metadata: { name, labels },
  rules: verbs.map(rule),
});
const gathering = (name: string, selectors: object[], labels: Record<string, string> = {}) => ({
  metadata: { name, labels },
  aggregationRule: { clusterRoleSelectors: selectors },
  rules: null,
});
const verbsOf = (roles: object[], name: string) =>
  (roles as { metadata: { name: string }; rules: { verbs: string[] }[] }[])
    .find(({ metadata }) => metadata.name === name)
    ?.rules.map(({ verbs }) => verbs[0]);

describe('aggregated()', () => {
  it('gathers the rules of selected roles in the order of their names, each once', () => {
    const roles = [
      gathering('all', [{ matchLabels: { to: 'all' } }, { matchLabels: { more: 'yes' } }]),
      plain('b', { to: 'all' }, 'list', 'get'),
      plain('a', { to: 'all', more: 'yes' }, 'watch', 'get'),
      plain('c', { to: 'none' }, 'delete'),
    ];
    expect(verbsOf(aggregated(roles), 'all')).toEqual(['watch', 'get', 'list']);
  });

  it('gathers through other aggregated roles, whatever their order', () => {
    const roles = [
      gathering('admin', [{ matchLabels: { to: 'admin' } }]),
      gathering('edit', [{ matchLabels: { to: 'edit' } }], { to: 'admin' }),
      plain('view', { to: 'edit' }, 'get'),
    ];
    expect(verbsOf(aggregated(roles), 'admin')).toEqual(['get']);
  });

  it('ends where two roles gather each other', () => {
    const roles = [
      gathering('a', [{ matchLabels: { x: 'y' } }], { x: 'y' }),
      gathering('b', [{ matchLabels: { x: 'y' } }], { x: 'y' }),
      plain('c', { x: 'y' }, 'get'),
    ];
    const found = aggregated(roles);
    expect([verbsOf(found, 'a'), verbsOf(found, 'b')]).toEqual([['get'], ['get']]);
  });

  it.each([
    [{ key: 'tier', operator: 'In', values: ['a', 'b'] }, ['get']],
    [{ key: 'tier', operator: 'NotIn', values: ['a'] }, ['list', 'watch']],
    [{ key: 'tier', operator: 'Exists' }, ['get', 'list']],
    [{ key: 'tier', operator: 'DoesNotExist' }, ['watch']],
    [{ key: 'tier', operator: 'Odd' }, []],
  ])('understands %j', (expression, verbs) => {
    const roles = [
      gathering('all', [{ matchExpressions: [expression] }], { tier: 'all' }),
      plain('a', { tier: 'a' }, 'get'),
      plain('b', { tier: 'c' }, 'list'),
      plain('c', {}, 'watch'),
    ];
    expect(verbsOf(aggregated(roles), 'all') ?? []).toEqual(verbs);
  });

  it('leaves roles alone that have their rules already', () => {
    const roles = [
      { ...gathering('all', [{ matchLabels: { to: 'all' } }]), rules: [rule('get')] },
      plain('a', { to: 'all' }, 'get'),
    ];
    expect(aggregated(roles)).toEqual([]);
  });
});
