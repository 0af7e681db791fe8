// Scopes of keys in memory: those that were used last, within a bound of their texts, and the same scope however often it is read.
import { describe, expect, it } from 'vitest';
import { type KeyFacts, keyFacts } from '../../../src/management/keys/life/key-facts.ts';
import { KeyScope, RecentScopes } from '../../../src/management/keys/life/recent-scopes.ts';
import type { KeyRecord } from '../../../src/management/keys/secret/key-record.ts';

const textOf = (project: string) => JSON.stringify({ projects: [{ project }] });
const lengthOfOne = textOf('p0').length;

describe('RecentScopes', () => {
  it('keeps those that were used last, and no more than its bound', () => {
    const recent = new RecentScopes(3 * lengthOfOne);
    const [first, second] = [recent.of(textOf('p0')), recent.of(textOf('p1'))];
    recent.of(textOf('p2'));
    expect(recent.of(textOf('p0'))).toBe(first);
    recent.of(textOf('p3'));
    expect(recent.chars).toBe(3 * lengthOfOne);
    expect(recent.of(textOf('p0'))).toBe(first);
    expect(recent.of(textOf('p1'))).not.toBe(second);
    expect(recent.of(textOf('p1'))).toEqual(second);
  });

  it('keeps nothing that is longer than its bound', () => {
    const recent = new RecentScopes(10);
    expect(recent.of(textOf('p0')).scope.entries).toMatchObject([{ kind: 'project', project: 'p0' }]);
    expect(recent.chars).toBe(0);
  });

  it('reads a scope that is no object as one that allows as little as an empty one', () => {
    expect(new KeyScope('"all"', new RecentScopes())).toMatchObject({ scope: { entries: [] }, value: {} });
  });
});

describe('the facts of a key', () => {
  it('keep their scope when they are copied, because a key without scope is a wide one', () => {
    const object = { metadata: { name: 'a' }, spec: { scope: { projects: [{ project: 'p' }] } } };
    const facts = keyFacts(object as never, {} as KeyRecord);
    const { scoped }: KeyFacts = { ...facts, networks: undefined };
    expect(scoped?.scope.entries).toMatchObject([{ kind: 'project', project: 'p' }]);
    expect(scoped?.value).toEqual({ projects: [{ project: 'p' }] });
  });
});
