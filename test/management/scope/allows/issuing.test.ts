// What no body of a request can save is denied like a right that is missing.
import { describe, expect, it } from 'vitest';
import { allows } from '../../../../src/management/scope/allows.ts';
import { maxMakers } from '../../../../src/management/scope/issuing.ts';
import { request, scope, shop, subject } from '../scopes.ts';

const kubeconfig = 'create virtualclusterinstances/kubeconfig.management.platform';
const makesKey = 'create ownedaccesskeys.management.platform';
const decided = (of: ReturnType<typeof subject>, text: string, scopes: readonly unknown[]) =>
  allows(
    shop,
    { subject: of, keyName: 'own', scopes: scopes.map((one) => (one === undefined ? undefined : scope(one))) },
    request(text),
  );

describe('a kubeconfig', () => {
  const wide = { rules: [{ requestTargets: ['Management', 'ProjectVirtualCluster'] }] };
  const rule = { rules: [{ requestTargets: ['Management'] }] };
  const named = { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] };
  it.each([
    [`${kubeconfig} v in p-a`, [rule], false],
    [`${kubeconfig} v in p-a`, [wide], true],
    [`${kubeconfig} v in p-a`, [{ ...rule, ...named }], true],
    [`${kubeconfig} w in p-a`, [{ ...rule, ...named }], false],
    [`${kubeconfig} in p-a`, [{ ...rule, ...named }], false],
    [`${kubeconfig} in p-a`, [{ virtualClusters: [{ project: 'a', virtualCluster: '*' }] }], true],
    [`${kubeconfig} v in p-a`, [named, rule], false],
    [`${kubeconfig} v in p-a`, [named, undefined], true],
    [`get virtualclusterinstances.management.platform v in p-a`, [rule], true],
  ])('%s with the scopes %j: %s', (text, scopes, allowed) => {
    expect(decided(subject('alice'), text, scopes).allowed).toBe(allowed);
  });

  it('with a client certificate needs no place in a chain of makers', () => {
    const chain = (length: number) => Array.from({ length }, () => named);
    // Alice is an admin of the project; qa are its users.
    expect(decided(subject('alice'), `${kubeconfig} v in p-a`, chain(maxMakers + 1)).allowed).toBe(true);
    const qa = subject('vera', { listed: ['qa'], granted: ['qa'] });
    expect(decided(qa, `${kubeconfig} v in p-a`, chain(maxMakers)).allowed).toBe(true);
    expect(decided(qa, `${kubeconfig} v in p-a`, chain(maxMakers + 1))).toMatchObject({
      ...{ allowed: false, reason: expect.stringContaining(`ends after ${maxMakers}`) },
    });
  });
});

describe('a key', () => {
  const any = { rules: [{}] };
  it('is made at the end of a chain of makers by none of them', () => {
    const chain = (length: number) => Array.from({ length }, () => any);
    expect(decided(subject('alice'), makesKey, chain(maxMakers)).allowed).toBe(true);
    expect(decided(subject('alice'), makesKey, chain(maxMakers + 1)).allowed).toBe(false);
  });

  const member = { listed: ['devs'], granted: ['devs'] };
  const ops = { listed: ['ops'], granted: ['ops'] };
  it.each([
    ['a subject', undefined, [undefined], false],
    ['a subject in a team', member, [undefined], true],
    ['a subject that is an administrator', ops, [undefined], true],
    ['a subject that is an administrator with a scope', ops, [any], false],
  ])('by %s', (_who, groups, scopes, allowed) => {
    expect(decided(subject('robot', groups, 'subject'), makesKey, scopes).allowed).toBe(allowed);
  });
});
