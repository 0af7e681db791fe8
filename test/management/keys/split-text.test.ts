import { describe, expect, it } from 'vitest';
import { toStoredText } from '../../../src/apiserver/wire/stored-text.ts';
import { splitText } from '../../../src/management/keys/book/shown-key.ts';
import { statusOfKey, withoutHidden } from '../../../src/management/keys/book/stored-key.ts';
import type { KeyState } from '../../../src/management/keys/life/key-state.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';

const creationTimestamp = '2026-11-28T07:07:31Z';
const metadata = { name: 'k', creationTimestamp, uid: 'uid-k', generation: 1 };
const record = { name: 'k', uid: 'uid-k', id: 'MARK-id', secrets: [{ version: 1, digest: 'MARK-digest' }] };
const hidden = { record, sealed: { idToken: 'MARK-sealed' } };
const key = (of: Partial<KubeObject>): KubeObject => ({ metadata, spec: { user: 'alice' }, hidden, ...of });
const annotated = (name: string, value: string) => key({ metadata: { ...metadata, annotations: { [name]: value } } });
const withClaims = (extraClaims: object) => key({ spec: { identity: { extraClaims } } });
const nested = { a: 1, spec: { user: 'eve' }, hidden: { record: { uid: 'MARK' }, sealed: {} } };

const createdMs = Date.parse(creationTimestamp);
const at = (lastMs?: number) => ({
  ...{ lastMs, nowMs: createdMs + 60_000 },
  stateByOthers: ({ uid }: { uid: string }): KeyState => (uid === 'uid-k' ? 'suspended' : 'active'),
});

const split: Record<string, KubeObject> = {
  'a plain key': key({}),
  'one with an end': key({ spec: { user: 'alice', ttl: 3600 } }),
  'one that has ended': key({ spec: { ttl: 10 } }),
  'one whose end counts from its last use': key({ spec: { ttl: 90, ttlAfterLastActivity: true } }),
  'a disabled one': key({ spec: { disabled: true } }),
  'texts with marks in them': key({ spec: { description: '","hidden":{"record":{}},"spec":{}}' } }),
  'a mark in an annotation': annotated('note', ',"spec":{"x":1},"hidden":{"record":{}}'),
  'members of the same names in claims': withClaims(nested),
  'claims that end the spec': key({ spec: { a: 1, identity: { extraClaims: nested } } }),
};

const whole: Record<string, KubeObject> = {
  'a second time of creation': annotated('creationTimestamp', '2099-01-01T00:00:00Z'),
  'one that is being deleted': key({ metadata: { ...metadata, deletionTimestamp: creationTimestamp } }),
  'a hidden field in the spec': key({ spec: { user: 'alice', key: 'MARK-key' } }),
  'a token of a login in the spec': key({ spec: { oidcLogin: { idToken: 'MARK-token' } } }),
  'members of other names': key({ more: 1 }),
  'a status of its own': { metadata, status: { phase: 'Active' }, spec: {}, hidden },
  'another order': { metadata, hidden, spec: { identity: { extraClaims: nested } } },
  'no time of creation': key({ metadata: { name: 'k', uid: 'uid-k' } }),
  'no hidden part': { metadata, spec: { user: 'alice' } },
  'a hidden part without a record': key({ hidden: { sealed: {} } }),
  'a member within the hidden part': key({ hidden: { ...hidden, sealed: { a: 1, hidden: { record: {} } } } }),
};

describe('splitText()', () => {
  it.each(Object.keys(split))('shows %s as a whole parse does', (name) => {
    const object = split[name] as KubeObject;
    const found = splitText(toStoredText(object));
    expect(found).toBeDefined();
    expect(JSON.parse(`${found?.shown}}`)).toEqual(withoutHidden(object));
    for (const lastMs of [undefined, createdMs + 30_000])
      expect(statusOfKey(found?.values as KubeObject, at(lastMs))).toEqual(statusOfKey(object, at(lastMs)));
    expect(found?.shown).not.toMatch(/MARK-/);
  });

  it.each(Object.keys(whole))('leaves %s to be parsed', (name) => {
    expect(splitText(toStoredText(whole[name] as KubeObject))).toBeUndefined();
  });

  it('shows of no object what a whole parse would not show', () => {
    const names = ['metadata', 'spec', 'hidden', 'record', 'sealed', 'key', 'identity', 'a'];
    let seed = 1;
    const below = (most: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % most;
    };
    const value = (depth: number): unknown => (depth === 0 || below(4) === 0 ? `,"hidden":{` : members(depth));
    const members = (depth: number): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: below(4) }, () => [names[below(names.length)], value(depth - 1)]));
    let read = 0;
    for (let round = 0; round < 8_000; round++) {
      const object = {
        metadata: { creationTimestamp, ...members(2) },
        ...members(4),
        hidden: { record: members(3), ...members(2) },
      };
      const found = splitText(JSON.stringify(object));
      if (found === undefined) continue;
      read++;
      expect(JSON.parse(`${found.shown}}`)).toEqual(withoutHidden(object));
    }
    expect(read).toBeGreaterThan(150);
  });
});
