// A claim that is missing or of another type makes the whole token worthless: a missing limit would look like no limit.
import { expect, it } from 'vitest';
import { payloadOf, readClaims } from '../../../../src/management/credentials/claims/claims.ts';
import { maxKeys, readKeySet } from '../../../../src/management/credentials/claims/key-set.ts';
import { claims, makeSigner } from './token-bench.ts';

const needed = ['iss', 'aud', 'iat', 'nbf', 'exp', 'jti', 'sub', 'kind', 'name', 'akid', 'key', 'gen', 'scopes'];
const whole = { ...payloadOf({ ...claims, networks: '10.0.0.0/8' }) };

it.each(needed)('claims without %s are none', (name) => {
  const { [name]: _gone, ...rest } = whole;
  expect(readClaims(whole)).toBeDefined();
  expect(readClaims(rest)).toBeUndefined();
});

const wrong: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(['iss', 'jti', 'sub', 'name', 'akid', 'key'].map((name) => [name, [1, '', null, ['a']]])),
  ...Object.fromEntries(['iat', 'nbf', 'exp', 'gen'].map((name) => [name, ['1', -1, 1.5, null, 2 ** 60]])),
  kind: ['cluster', null, ['user']],
  aud: [1, [1], null, { 0: 'a' }],
  groups: ['devs', [1], {}],
  clusters: ['c1', [null], {}],
  projects: [['user'], { shop: 'viewer' }, { shop: 1 }, 'user'],
  networks: [['10.0.0.0/8'], 1, null, {}],
  scopes: ['*', [1], [null], {}, null],
};

it.each(Object.entries(wrong).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
  'claims whose %s is %j are none',
  (name, value) => {
    expect(readClaims({ ...whole, [name]: value })).toBeUndefined();
  },
);

it('only true makes an administrator', () => {
  for (const admin of ['true', 1, {}, false]) expect(readClaims({ ...whole, admin })?.isAdministrator).toBe(false);
  expect(readClaims({ ...whole, admin: true })?.isAdministrator).toBe(true);
});

it('a key set has at most so many keys', () => {
  const { jwk } = makeSigner('one');
  const many = (count: number) => Array.from({ length: count }, (_, at) => ({ ...jwk, kid: `k${at}` }));
  expect(readKeySet({ keys: many(maxKeys) })?.size).toBe(maxKeys);
  expect(readKeySet({ keys: many(maxKeys + 1) })).toBeUndefined();
});
