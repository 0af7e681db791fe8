import { expect, it } from 'vitest';
import type { TokenClaims } from '../../../../src/management/credentials/claims/claims.ts';
import { holderOf } from '../../../../src/management/proxy/direct/token-holder.ts';
import { allows } from '../../../../src/management/scope/allows.ts';
import { claims } from '../../credentials/claims/token-bench.ts';
import { request } from '../../scope/scopes.ts';

const endpoint = {
  cluster: 'c1',
  spaces: [
    { project: 'a', name: 's', namespace: 'a-s' },
    { project: 'b', name: 's', namespace: 'b-s' },
  ],
};

const spaces = ['c1/a/s/a-s', 'c1/b/s/b-s'];
const nothing: Partial<TokenClaims> = {
  clusters: [],
  projects: {},
  spaces,
  groups: [],
  isAdministrator: false,
  scopes: [],
};

function may(more: Partial<TokenClaims>, asked: string): boolean {
  const { directory, credential } = holderOf({ ...claims, ...nothing, ...more }, endpoint);
  return allows(directory, credential, request(asked)).allowed;
}

it.each<[Partial<TokenClaims>, string, boolean]>([
  [{ clusters: ['c1'] }, 'list nodes @ cluster/c1', true],
  [{ clusters: ['c2'] }, 'list nodes @ cluster/c1', false],
  [{ clusters: ['c2', 'c1'] }, 'list nodes @ cluster/c1', true],
  [{ isAdministrator: true }, 'list nodes @ cluster/c1', true],
  [{ projects: { a: 'user' } }, 'list pods in a-s @ space/a/s', true],
  [{ projects: { a: 'admin' } }, 'list pods in b-s @ space/b/s', false],
  [{ projects: { a: 'user' } }, 'list pods in b-s @ space/a/s', false],
  [{ clusters: ['c1'] }, 'list pods in a-s @ space/a/s', false],
  [{ projects: { a: 'user' }, spaces: [] }, 'list pods in a-s @ space/a/s', false],
  [{ projects: { a: 'user' }, spaces: ['c1/a/s/other'] }, 'list pods in a-s @ space/a/s', false],
  [{ projects: { a: 'user' }, spaces: ['c2/a/s/a-s'] }, 'list pods in a-s @ space/a/s', false],
  [{ isAdministrator: true, projects: { a: 'admin' }, spaces: [] }, 'list pods in a-s @ space/a/s', false],
  [{ projects: { a: 'user' } }, 'list nodes @ cluster/c1', false],
  [{ clusters: ['c1'], scopes: [{ rules: [{ verbs: ['get'] }] }] }, 'list nodes @ cluster/c1', false],
])('the holder of a token with %j may %s: %s', (more, asked, allowed) => {
  expect(may(more, asked)).toBe(allowed);
});
