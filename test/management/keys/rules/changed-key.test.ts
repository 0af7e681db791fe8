import { describe, expect, it } from 'vitest';
import {
  changesToken,
  fillChangedKey,
  judgeChangedKey,
  type KeyChange,
} from '../../../../src/management/keys/rules/change.ts';
import type { JudgeContext } from '../../../../src/management/keys/rules/judgement.ts';
import { isDisabledByAdministrator, markDisabled } from '../../../../src/management/keys/rules/server-marks.ts';
import { by, key, nowMs, said } from './stage.ts';

describe('a changed key', () => {
  const before = { user: 'alice', type: 'User', ttl: 100, groups: ['devs'], scope: { projects: [{ project: '*' }] } };
  const judge = (now: object, context: JudgeContext, rest: Partial<KeyChange> = {}, old: object = before) =>
    said(
      judgeChangedKey(
        {
          object: key(now),
          old: key(old),
          times: {
            creationMs: nowMs,
            ttl: (old as { ttl?: number }).ttl ?? 0,
            afterLastActivity: (old as { ttlAfterLastActivity?: boolean }).ttlAfterLastActivity === true,
          },
          lastActivityMs: undefined,
          isSameKey: false,
          isSelf: false,
          ...rest,
        },
        context,
      ),
    );
  const alice = by('alice');
  const root = by('root');
  const cases: [says: string, change: object, context: JudgeContext, expected: RegExp[]][] = [
    ['nothing', {}, alice, []],
    ['texts', { displayName: 'x' }, alice, []],
    ['the user', { user: 'bob' }, root, [/^422 spec.user: .*immutable/]],
    ['the kind of subject', { user: '', team: 'red' }, root, [/^422 spec.user: /, /^422 spec.team: /]],
    ['the type', { type: 'Other' }, root, [/^422 spec.type: .*immutable/]],
    ['the value', { key: 'another' }, root, [/^422 spec.key: .*not shown.*rotate/]],
    ['a narrower scope', { scope: { projects: [{ project: 'a' }] } }, alice, []],
    [
      'a wider scope',
      { scope: { clusters: [{ cluster: 'c1' }] } },
      alice,
      [/^403 spec.scope: only an administrator widens/],
    ],
    ['no scope', { scope: undefined }, alice, [/^403 spec.scope: only an administrator widens/]],
    ['no scope, by an administrator', { scope: undefined }, root, []],
    ['no group', { groups: [] }, alice, []],
    ['another group', { groups: ['devs', 'qa'] }, alice, [/^403 spec.groups\[1\]/]],
    ['another group, by an administrator', { groups: ['devs', 'qa'] }, root, []],
    ['a nearer end', { ttl: 50 }, alice, []],
    ['a later end', { ttl: 101 }, alice, [/^403 spec.ttl/]],
    ['no end', { ttl: 0 }, alice, [/^403 spec.ttl/]],
    ['no end, by an administrator', { ttl: 0 }, root, []],
    ['an end that moves', { ttlAfterLastActivity: true }, alice, [/^403 spec.ttl/]],
    ['identity', { identity: {} }, alice, [/^403 spec.identity/]],
    ['identity, by an administrator', { identity: {} }, root, []],
    ['an end beyond the configured one', { ttl: 60 }, by('root', { limits: { maxTTL: 30 } }), [/^422 spec.ttl/]],
    [
      'texts of a key that ends later',
      { displayName: 'x' },
      by('alice', { expiresIn: 60 }),
      [/^422 spec.ttl: .*no later/],
    ],
    [
      'by a narrower key',
      { displayName: 'x' },
      by('alice', { scopes: [{ projects: [{ project: 'a' }] }] }),
      [/^403 spec.scope.projects\[0\]/],
    ],
    ['off', { disabled: true }, alice, []],
  ];
  it.each(cases)('%s', (_, change, context, expected) => {
    const found = judge({ ...before, ...change }, context);
    expect(found).toHaveLength(expected.length);
    for (const [index, text] of found.entries()) expect(text).toMatch(expected[index] as RegExp);
  });

  it('accepts its own value as an echo', () => {
    expect(judge({ ...before, key: 'same' }, alice, { isSameKey: true })).toEqual([]);
  });

  it('stays dead when it has expired', () => {
    const late = { ...root, nowMs: nowMs + 100_000 };
    expect(judge({ ...before, ttl: 200 }, late)).toEqual([
      '422 spec.ttl: Invalid value: 200: the key has expired and stays so; make a new one',
    ]);
    expect(judge({ ...before, displayName: 'x' }, late)).toEqual([]);
  });

  it('lets an end that moves become a nearer one', () => {
    const sliding = { ...before, ttlAfterLastActivity: true };
    const used = { lastActivityMs: nowMs + 50_000 };
    expect(judge({ ...sliding, ttl: 50 }, alice, used, sliding)).toEqual([]);
    expect(judge({ ...sliding, ttl: 101 }, alice, used, sliding)).toHaveLength(1);
    expect(judge({ ...before, ttl: 150 }, alice, used, sliding)).toEqual([]);
    expect(judge({ ...before, ttl: 151 }, alice, used, sliding)).toHaveLength(1);
  });

  it('keeps what an administrator gave', () => {
    const given = { ...before, type: 'Login', identity: { email: 'a@b' }, groups: ['ops'] };
    expect(judge({ ...given, displayName: 'x' }, alice, {}, given)).toEqual([]);
    expect(judge({ ...given, identity: { email: 'c@d' } }, alice, {}, given)).toHaveLength(1);
  });

  it('changes on itself only what describes it or ends it sooner', () => {
    const self = by('alice', { scopes: [{ projects: [{ project: '*' }] }], expiresIn: 100 });
    const own = (change: object) => judge({ ...before, ...change }, self, { isSelf: true });
    for (const change of [{ displayName: 'x' }, { description: 'y' }, { disabled: true }, { ttl: 10 }])
      expect(own(change)).toEqual([]);
    expect(own({ ttl: 101 })).toHaveLength(1);
    expect(own({ scope: {} })).toEqual([expect.stringMatching(/^403 spec.scope: a key may change on itself only/)]);
    expect(own({ groups: [] })).toHaveLength(1);
    expect(own({ ttlAfterLastActivity: true })).toHaveLength(2);
    expect(own({ user: 'bob' })).toEqual([expect.stringMatching(/^422 spec.user/)]);
  });

  it('is enabled only by an administrator after an administrator disabled it', () => {
    const disabled = key({ ...before, disabled: true });
    markDisabled(disabled, false, { kind: 'user', name: 'root' }, true);
    expect(disabled.metadata.annotations).toEqual({ 'hostward.dev/disabled-by': 'administrator:root' });
    const enabled = { ...disabled, spec: before };
    const judged = (context: JudgeContext) =>
      said(
        judgeChangedKey(
          {
            object: enabled,
            old: disabled,
            times: { creationMs: nowMs, ttl: 100, afterLastActivity: false },
            lastActivityMs: undefined,
            isSameKey: false,
            isSelf: false,
          },
          context,
        ),
      );
    expect(judged(alice)).toEqual(['403 spec.disabled: an administrator disabled the key, and only one enables it']);
    expect(judged(root)).toEqual([]);
    markDisabled(enabled, true, { kind: 'user', name: 'root' }, true);
    expect(enabled.metadata.annotations).toEqual({});
  });

  it('never takes the name of a user for an administrator’s mark', () => {
    const disabled = key({ ...before, disabled: true });
    markDisabled(disabled, false, { kind: 'user', name: 'administrator:x' }, false);
    expect(isDisabledByAdministrator(disabled)).toBe(false);
  });

  it('takes from the old object what a PUT left out and what never changes', () => {
    const object = key({ displayName: 'x' });
    fillChangedKey(object, key(before));
    expect(object['spec']).toEqual({ displayName: 'x', user: 'alice', type: 'User' });
    const other = key({ team: 'red' });
    fillChangedKey(other, key(before));
    expect(other['spec']).toEqual({ team: 'red', type: 'User' });
  });

  it('ends direct tokens when what they rest on changes', () => {
    const changes = [{ scope: {} }, { groups: [] }, { disabled: true }, { ttl: 1 }, { ttlAfterLastActivity: true }];
    for (const change of changes) expect(changesToken(key({ ...before, ...change }), key(before))).toBe(true);
    expect(changesToken(key({ ...before, displayName: 'x' }), key(before))).toBe(false);
  });
});
