import { describe, expect, it } from 'vitest';
import { fillNewKey, judgeNewKey } from '../../../../src/management/keys/rules/issue.ts';
import type { JudgeContext } from '../../../../src/management/keys/rules/judgement.ts';
import { validateKey } from '../../../../src/management/keys/rules/validate-key.ts';
import { cidrsAnnotation } from '../../../../src/management/scope/patterns/source-networks.ts';
import { fieldErrorText } from '../../../../src/object/meta/field-error.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { by, key, said } from './stage.ts';

describe('validateKey()', () => {
  const faults = (object: KubeObject) => validateKey(object).errors.map(fieldErrorText);

  it('accepts the example of the requirements', () => {
    const { errors, warnings } = validateKey(
      key({ displayName: 'ci', description: 'x', ttl: 1_728_000, type: 'User', user: 'alice', scope: {} }),
    );
    expect([errors, warnings]).toEqual([[], []]);
  });

  it('finds every fault at once', () => {
    const object = key(
      {
        displayName: 'x'.repeat(257),
        description: 'y'.repeat(4097),
        user: 'system:admin',
        team: 'red',
        groups: ['devs', 'hostward:all', 'devs'],
        ttl: -1,
        type: 'Robot',
        scope: { projects: [{}], rules: [{ resourceNames: ['x'] }] },
      },
      { annotations: { 'hostward.dev/allowed-cidrs': '10.0.0.1/8' } },
    );
    expect(faults(object).map((text) => text.slice(0, text.indexOf(':')))).toEqual([
      'spec.displayName',
      'spec.description',
      'spec.user',
      'spec.team',
      'spec.groups[1]',
      'spec.groups[2]',
      'spec.ttl',
      'spec.type',
      'spec.scope.projects[0].project',
      'spec.scope.rules[0].resources',
      'metadata.annotations[hostward.dev/allowed-cidrs]',
    ]);
  });

  it.each([
    [0, true],
    [3_153_600_000, true],
    [3_153_600_001, false],
    [1.5, false],
    [1e300, false],
    ['60', false],
    [null, true],
  ])('ttl %s: %s', (ttl, isFine) => {
    expect(faults(key({ user: 'alice', type: 'User', ttl })).length === 0).toBe(isFine);
  });

  it('counts characters, not the halves of them', () => {
    const name = '🔑'.repeat(256);
    expect(faults(key({ user: 'alice', type: 'User', displayName: name }))).toEqual([]);
    expect(faults(key({ user: 'alice', type: 'User', displayName: `${name}x` }))).toHaveLength(1);
  });

  it('needs exactly one subject', () => {
    expect(faults(key({ type: 'User' }))).toEqual(['spec.user: Required value: one of user, team and subject']);
    expect(faults(key({ type: 'User', team: 'red', subject: 'x' }))).toHaveLength(1);
    expect(faults(key({ type: 'User', user: 'a', groups: Array(101).fill('g') }))).toHaveLength(1);
  });

  it('warns of what is deprecated or has no effect', () => {
    const object = key({ user: 'alice', type: 'User', ttlAfterLastActivity: true, parent: 'x', oidcLogin: {} });
    expect(validateKey(object).warnings).toEqual([
      'spec.ttlAfterLastActivity: has no effect without spec.ttl; this key does not expire',
      'spec.parent: deprecated; use identity instead',
      'spec.oidcLogin: deprecated; use identity instead',
    ]);
  });
});

describe('a new key', () => {
  const filled = (spec: object, context: JudgeContext) => {
    const object = key(spec);
    const warnings = fillNewKey(object, context);
    return { spec: object['spec'], warnings };
  };

  it('is its maker’s, of type User', () => {
    expect(filled({}, by('alice')).spec).toEqual({ user: 'alice', type: 'User' });
    expect(filled({}, by('red', { kind: 'team' })).spec).toEqual({ team: 'red', type: 'User' });
    expect(filled({ team: 'red', type: 'Other' }, by('alice')).spec).toEqual({ team: 'red', type: 'Other' });
  });

  it('ends with its maker, and with the longest ttl that is configured', () => {
    expect(filled({}, by('alice', { expiresIn: 60.5 }))).toEqual({
      spec: { user: 'alice', type: 'User', ttl: 60 },
      warnings: ['spec.ttl: set to 60, because the key that makes this one expires then'],
    });
    expect(filled({ ttl: 0 }, by('alice', { limits: { maxTTL: 30 } })).spec).toMatchObject({ ttl: 30 });
    expect(filled({}, by('alice', { limits: { maxTTL: 30 }, expiresIn: 60 }))).toMatchObject({
      spec: { ttl: 30 },
      warnings: [],
    });
    expect(filled({ ttl: 5 }, by('alice', { expiresIn: 60 })).spec).toMatchObject({ ttl: 5 });
    expect(filled({ ttl: 'x' }, by('alice', { expiresIn: 60 })).spec).toMatchObject({ ttl: 'x' });
  });

  const scoped = { scopes: [{ projects: [{ project: 'a' }] }] };
  const cases: [says: string, spec: object, context: JudgeContext, expected: RegExp[]][] = [
    ['of its maker', { user: 'alice' }, by('alice'), []],
    ['of another user', { user: 'bob' }, by('alice'), [/^403 spec.user: only an administrator/]],
    ['of another user, by an administrator', { user: 'bob' }, by('root'), []],
    ['of an unknown user, by an administrator', { user: 'dora' }, by('root'), [/^422 spec.user: .*no such user/]],
    ['of an unknown team, by an administrator', { team: 'green' }, by('root'), [/^422 spec.team: .*no such team/]],
    [
      'of another user, by a scoped administrator',
      { user: 'bob', scope: {} },
      by('root', { scopes: [{}] }),
      [/^403 spec.user/],
    ],
    ['of a subject', { subject: 'robot' }, by('alice'), [/^403 spec.subject/]],
    ['of a subject, by an administrator', { subject: 'robot', groups: ['any'] }, by('root'), []],
    ['of a team it is in', { team: 'red' }, by('alice'), []],
    ['of another team', { team: 'red' }, by('bob'), [/^403 spec.team: only members/]],
    ['of a team that does not exist', { team: 'green' }, by('bob'), [/^403 spec.team: only members/]],
    ['of a user, by a team', { user: 'alice' }, by('red', { kind: 'team' }), [/^403 spec.user/]],
    ['with a group it holds', { user: 'alice', groups: ['devs'] }, by('alice'), []],
    [
      'with a group it does not hold',
      { user: 'alice', groups: ['ops'] },
      by('alice'),
      [/^403 spec.groups\[0\]: "ops"/],
    ],
    ['of a team, with a group', { team: 'red', groups: ['devs'] }, by('alice'), [/^403 spec.groups\[0\]/]],
    ['of a login type', { user: 'alice', type: 'Login' }, by('alice'), [/^403 spec.type/]],
    ['of a login type, by an administrator', { user: 'alice', type: 'Login' }, by('root'), []],
    [
      'with identity',
      { user: 'alice', identity: {}, oidcLogin: {} },
      by('alice'),
      [/^403 spec.identity/, /^403 spec.oidcLogin/],
    ],
    [
      'with a role',
      { user: 'alice', scope: { roles: [{ role: 'agent' }] } },
      by('alice'),
      [/^403 spec.scope.roles\[0\].role/],
    ],
    ['with a common role', { user: 'alice', scope: { roles: [{ role: 'platform-cli' }] } }, by('alice'), []],
    [
      'without scope, by a scoped key',
      { user: 'alice' },
      by('alice', scoped),
      [/^403 spec.scope: a key that has a scope/],
    ],
    ['inside the scope', { user: 'alice', scope: { projects: [{ project: 'a' }] } }, by('alice', scoped), []],
    [
      'outside the scope',
      { user: 'alice', scope: { projects: [{ project: 'a' }, { project: 'b' }] } },
      by('alice', scoped),
      [/^403 spec.scope.projects\[1\]: is not inside any one entry/],
    ],
    [
      'of a key whose maker is scoped',
      { user: 'alice' },
      by('alice', { scopes: [undefined, {}] }),
      [/^403 spec.scope/],
    ],
    [
      'ending later',
      { user: 'alice', ttl: 61 },
      by('alice', { expiresIn: 60 }),
      [/^422 spec.ttl: .*no later than the calling key/],
    ],
    ['ending with its maker', { user: 'alice', ttl: 60 }, by('alice', { expiresIn: 60 }), []],
    [
      'ending with its last use',
      { user: 'alice', ttl: 6, ttlAfterLastActivity: true },
      by('alice', { expiresIn: 60 }),
      [/^422 spec.ttlAfterLastActivity/],
    ],
    [
      'beyond the configured ttl',
      { user: 'root', ttl: 31 },
      by('root', { limits: { maxTTL: 30 } }),
      [/^422 spec.ttl: .*1 to 30/],
    ],
    ['without an end', { user: 'root' }, by('root', { limits: { requireExpiry: true } }), [/^422 spec.ttl: Required/]],
    ['with a value', { user: 'alice', key: 'abcdefghijklmnopqrstuvwxyz012345' }, by('alice'), [/^403 spec.key/]],
    ['with a value, by an administrator', { user: 'bob', key: 'abcdefghijklmnopqrstuvwxyz012345' }, by('root'), []],
    ['with a bad value', { user: 'bob', key: 'secret' }, by('root'), [/^422 spec.key: .*not shown/]],
    [
      'with an allowed value',
      { user: 'alice', key: 'abcdefghijklmnopqrstuvwxyz012345' },
      by('alice', { limits: { allowSupplied: true } }),
      [],
    ],
    [
      'at the end of a chain',
      { user: 'alice', scope: {} },
      by('alice', { ...scoped, makers: 8 }),
      [/^403 metadata: a chain/],
    ],
  ];
  it.each(cases)('%s', (_, spec, context, expected) => {
    const found = said(judgeNewKey(key(spec), context, 0));
    expect(found).toHaveLength(expected.length);
    for (const [index, text] of found.entries()) expect(text).toMatch(expected[index] as RegExp);
  });

  it('counts against the quota of its owner', () => {
    const judged = (keys: number) => said(judgeNewKey(key({ user: 'alice' }), by('alice'), keys));
    expect(judged(999)).toEqual([]);
    expect(judged(1000)).toEqual([
      '403 metadata: the owner has all the keys that an owner may have, 1000; delete keys that are not used',
    ]);
  });

  it('brings no marks of the server', () => {
    const marks = {
      annotations: { 'hostward.dev/disabled-by': 'x', mine: 'y' },
      labels: { 'hostward.dev/z': '', [cidrsAnnotation]: 'all' },
    };
    expect(said(judgeNewKey(key({ user: 'root' }, marks), by('root'), 0))).toEqual([
      '422 metadata.labels[hostward.dev/z]: Forbidden: hostward.dev/* is written by the server only',
      '422 metadata.labels[hostward.dev/allowed-cidrs]: Forbidden: a label limits nothing; write it as an annotation',
      '422 metadata.annotations[hostward.dev/disabled-by]: Forbidden: hostward.dev/* is written by the server only',
    ]);
  });
});
