import { describe, expect, it } from 'vitest';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { listQuery, notOlderThan, watchQuery } from '../../../src/apiserver/verbs/revision-query.ts';

const query = (text: string) => new URLSearchParams(text);
const codeOf = (read: () => unknown): number | undefined => {
  try {
    read();
  } catch (error) {
    if (error instanceof StatusFault) return error.code;
    throw error;
  }
  return undefined;
};

describe('listQuery()', () => {
  it.each([
    ['', { kind: 'newest' }],
    ['limit=5', { kind: 'newest' }],
    ['resourceVersion=0', { kind: 'newest' }],
    ['resourceVersion=7', { kind: 'atLeast', revision: 7 }],
    ['resourceVersion=7&limit=5', { kind: 'exact', revision: 7 }],
    ['resourceVersion=7&limit=5&resourceVersionMatch=NotOlderThan', { kind: 'atLeast', revision: 7 }],
    ['resourceVersion=7&resourceVersionMatch=Exact', { kind: 'exact', revision: 7 }],
    ['resourceVersion=0&continue=token', { kind: 'newest' }],
  ])('reads "%s"', (text, at) => {
    expect(listQuery(query(text)).at).toEqual(at);
  });

  it('treats a negative limit as no limit', () => {
    expect(listQuery(query('limit=-3')).limit).toBe(0);
  });

  it.each([
    ['resourceVersion=abc', 400],
    ['resourceVersion=99999999999999999999', 400],
    ['resourceVersion=7&continue=token', 400],
    ['limit=many', 400],
    ['timeoutSeconds=soon', 400],
    ['timeoutSeconds=9223372036854775808', 400],
    ['limit=-9223372036854775809', 400],
    [`limit=${'9'.repeat(400)}`, 400],
    ['sendInitialEvents=true', 422],
    ['resourceVersionMatch=Exact', 422],
    ['resourceVersion=0&resourceVersionMatch=Exact', 422],
    ['resourceVersion=7&resourceVersionMatch=Newest', 422],
    ['resourceVersion=7&resourceVersionMatch=Exact&continue=token', 422],
  ])('refuses "%s" with %i', (text, code) => {
    expect(codeOf(() => listQuery(query(text)))).toBe(code);
  });
});

describe('watchQuery()', () => {
  it.each([
    ['', undefined, undefined],
    ['resourceVersion=0', undefined, undefined],
    ['resourceVersion=7', 7, undefined],
    ['sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=7', 7, false],
    ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=7', undefined, true],
  ])('reads "%s"', (text, after, sendInitialEvents) => {
    expect(watchQuery(query(text))).toMatchObject({ after, sendInitialEvents });
  });

  it.each([
    'resourceVersionMatch=NotOlderThan',
    'sendInitialEvents=true',
    'sendInitialEvents=true&resourceVersionMatch=Exact',
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=token',
  ])('refuses "%s" with 422', (text) => {
    expect(codeOf(() => watchQuery(query(text)))).toBe(422);
  });

  it('reads bookmarks, the time limit and the oldest allowed state', () => {
    const text = 'allowWatchBookmarks=1&timeoutSeconds=30&resourceVersion=7';
    expect(watchQuery(query(text))).toMatchObject({ bookmarks: true, timeoutSeconds: 30 });
    expect(notOlderThan(query(text))).toBe(7);
    expect(notOlderThan(query(''))).toBe(0);
    expect(watchQuery(query('timeoutSeconds=0')).timeoutSeconds).toBeUndefined();
  });
});
