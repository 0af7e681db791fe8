import { describe, expect, it } from 'vitest';
import { beginning, plainDigest } from '../../../src/management/audit/chain/chain.ts';
import { verifyChain } from '../../../src/management/audit/chain/verify.ts';
import { intentEntry, outcomeEntry, redactURL, withoutSecrets } from '../../../src/management/audit/entries.ts';
import {
  fitting,
  type JournalChange,
  type JournalEntry,
  journalLine,
  limitsOf,
  mergedRevocation,
  type Revocation,
  reapply,
  replayJournal,
} from '../../../src/management/audit/journal/journal.ts';
import { makeToken } from '../../../src/management/keys/secret/token.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';

function journal(...changes: [uid: string, change: JournalChange][]): string {
  let state = beginning;
  let text = '';
  for (const [index, [uid, change]] of changes.entries()) {
    const entry: JournalEntry = {
      revision: 10 + index,
      time: '2026-01-01T00:00:00Z',
      uid,
      name: `name-${uid}`,
      change,
    };
    const next = journalLine(state, entry, plainDigest);
    text += `${next.line}\n`;
    state = next.state;
  }
  return text;
}

const limits = (spec: object): JournalChange => ({ kind: 'limits', limits: limitsOf(object(spec)) });

function object(spec: object): KubeObject {
  return { metadata: { name: 'k' }, spec: { ...spec } };
}

const base: Revocation = {
  name: 'k',
  revision: 1,
  limitsRevision: 0,
  secretsRevision: 0,
  isDeleted: false,
  isDoubted: false,
  doubtRevision: 0,
  isTooLong: false,
  limits: undefined,
  record: undefined,
  secrets: undefined,
  id: undefined,
};

describe('the journal of revocations', () => {
  it('gives the last word on every key', () => {
    const secret = { version: 1, digest: 'ab', validUntilMs: undefined, isSupplied: false };
    const text = journal(
      ['a', limits({ disabled: true, ttl: 60 })],
      ['b', limits({ scope: {} })],
      ['a', limits({ ttl: 60, scope: null, displayName: 'x' })],
      ['c', { kind: 'secrets', secrets: [secret] }],
      ['b', { kind: 'deleted' }],
    );
    const { revocations, highestRevision } = replayJournal([text], plainDigest);
    expect(highestRevision).toBe(14);
    expect(Object.fromEntries(revocations)).toEqual({
      a: { ...base, name: 'name-a', revision: 12, limitsRevision: 12, limits: { ttl: 60 } },
      b: { ...base, name: 'name-b', revision: 14, limitsRevision: 11, isDeleted: true, limits: { scope: {} } },
      c: {
        ...base,
        name: 'name-c',
        revision: 13,
        secretsRevision: 13,
        secrets: [{ version: 1, digest: 'ab', isSupplied: false }],
      },
    });
  });

  it('has the last word of several replicas, whichever is read first', () => {
    const [older, newer] = [journal(['a', limits({})]), journal(['b', limits({})], ['a', limits({ disabled: true })])];
    const known = [older, newer].map((text) => replayJournal([text], plainDigest).revocations.get('a') as Revocation);
    const [first, second] = known as [Revocation, Revocation];
    for (const merged of [mergedRevocation(first, second), mergedRevocation(second, first)])
      expect(merged.limits).toEqual({ disabled: true });
    expect(mergedRevocation({ ...first, isDeleted: true }, second).isDeleted).toBe(true);
  });

  it('disables a key whose record was edited by hand, until a replica believed the record again', () => {
    const revocation = (text: string) => replayJournal([text], plainDigest).revocations.get('a') as Revocation;
    const doubted = revocation(journal(['a', { kind: 'doubted' }]));
    expect(reapply(object({}), doubted)).toMatchObject({ spec: { disabled: true } });
    const both = journal(['a', { kind: 'doubted' }], ['a', { kind: 'believed' }]);
    expect(reapply(object({}), revocation(both))).toEqual(object({}));
    // Another replica has seen only the first, or the key was revoked in the meantime.
    expect(mergedRevocation(doubted, revocation(both)).isDoubted).toBe(false);
    expect(
      reapply(object({}), revocation(journal(['a', { kind: 'deleted' }], ['a', { kind: 'believed' }]))),
    ).toBeUndefined();
  });

  it('is put over restored keys', () => {
    const restored = object({ displayName: 'x', scope: { projects: [{ project: 'a' }] }, disabled: true });
    expect(reapply(restored, base)).toBe(restored);
    expect(reapply(restored, { ...base, isDeleted: true })).toBeUndefined();
    expect(reapply(restored, { ...base, limits: { scope: {}, groups: [] } })?.['spec']).toEqual({
      displayName: 'x',
      scope: {},
      groups: [],
    });
  });

  it('puts back the marks, the granted groups and the secrets as they were at last', () => {
    const marks = { 'hostward.dev/allowed-cidrs': '10.0.0.0/8' };
    const limited = { ...object({ disabled: true }), metadata: { name: 'k', annotations: { ...marks, other: 'x' } } };
    const limitsNow = limitsOf(limited);
    expect(limitsNow).toEqual({ disabled: true, marks });
    const record = { grantedGroups: ['a'], tokenGeneration: 7 };
    const old = { ...object({}), hidden: { record: { id: 'i', tokenGeneration: 1 }, sealed: {} } };
    expect(reapply(old, { ...base, limits: limitsNow, record, secrets: [], id: 'j' })).toEqual({
      metadata: { name: 'k', annotations: marks },
      spec: { disabled: true },
      hidden: { record: { id: 'j', secrets: [], ...record }, sealed: {} },
    });
  });

  it('disables a key whose change was too long for a line', () => {
    const change: JournalChange = { kind: 'limits', limits: { scope: { roles: 'x'.repeat(20_000) } } };
    const long = fitting({ revision: 1, time: '', uid: 'a', name: 'k', change });
    expect(long.change).toEqual({ kind: 'tooLong' });
    const { revocations } = replayJournal([journal(['a', long.change])], plainDigest);
    expect(reapply(object({ scope: {} }), revocations.get('a') as Revocation)).toMatchObject({
      metadata: { annotations: { 'hostward.dev/disabled-by': 'administrator:restore' } },
      spec: { scope: {}, disabled: true },
    });
  });

  it('leaves out what a backup has already', () => {
    const text = journal(
      ['', { kind: 'begins' }],
      ['a', { kind: 'deleted' }],
      ['', { kind: 'ceiling', ceiling: 99 }],
      ['b', { kind: 'deleted' }],
    );
    const { revocations, highestRevision } = replayJournal([text], plainDigest, 11);
    expect([[...revocations.keys()], highestRevision]).toEqual([['b'], 99]);
  });

  it('counts up to where it was tampered with, and says so', () => {
    const text = journal(['a', { kind: 'deleted' }], ['b', { kind: 'deleted' }], ['c', { kind: 'deleted' }]);
    const changed = text.replace('"uid":"b"', '"uid":"x"');
    const { revocations } = replayJournal([changed], plainDigest);
    expect([...revocations.keys()]).toEqual(['a']);
    expect(verifyChain(changed, { digest: plainDigest })).toEqual({
      kind: 'broken',
      line: 2,
      reason: 'the line was changed',
    });
  });

  it('forgives a torn end', () => {
    const text = journal(['a', { kind: 'deleted' }], ['b', { kind: 'deleted' }]).slice(0, -5);
    const { revocations } = replayJournal([text], plainDigest);
    expect([...revocations.keys()]).toEqual(['a']);
    expect(verifyChain(text, { digest: plainDigest })).toMatchObject({ kind: 'whole', torn: true });
  });
});

/** Encodes each sign of the text before, so that nothing is left plain. */
function encodedOften(text: string, times: number): string {
  const once = [...text].map((sign) => `%${sign.charCodeAt(0).toString(16)}`).join('');
  return times === 1 ? once : encodedOften(once, times - 1);
}

describe('audit entries', () => {
  const token = makeToken((count) => new Uint8Array(count).fill(7)).text;
  const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln';

  it.each([
    ['/apis?watch=true&limit=5', '/apis?watch=true&limit=5'],
    ['/apis?continue=abc&token=x&labelSelector=a%3Db', '/apis?continue=…&token=…&labelSelector=…'],
    ['/apis?', '/apis'],
    [`/x/${token}?limit=${token}`, `/x/mpk_${token.slice(4, 21)}_…?limit=…`],
    [`/x/${jwt}`, '/x/<token>'],
    ['/x/Bearer%20abc', '/x/Bearer …'],
    [`/x/${token.replaceAll('_', '%5F')}`, `/x/mpk_${token.slice(4, 21)}_…`],
    [`/x/${token.replace('mpk_', '%6d%70k%255f')}/y%20z`, `/x/mpk_${token.slice(4, 21)}_…/y%20z`],
    [
      `/x/${[...token].map((sign) => `%25${sign.charCodeAt(0).toString(16)}`).join('')}`,
      `/x/mpk_${token.slice(4, 21)}_…`,
    ],
    [`/x/${token.replaceAll('_', encodedOften('_', 5))}`, '…'],
    [`/x/${jwt.replaceAll('.', '%2E')}`, '/x/<token>'],
    [`/x/${jwt.replace('eyJ', '%65yJ')}`, '/x/<token>'],
    ['/x/Bearer%2520abc', '/x/Bearer …'],
    ['/x/100%25/%E2%82%AC/a%2Fb', '/x/100%25/%E2%82%AC/a%2Fb'],
  ])('show the address %s as %s', (url, shown) => {
    expect(redactURL(url)).toBe(shown);
  });

  it('cut an address that is too long', () => {
    expect(redactURL(`/${'x'.repeat(5000)}`)).toHaveLength(2049);
    const longest = `/${'x'.repeat(2047)}`;
    expect(redactURL(longest)).toBe(longest);
  });

  it('cut a token out of a word, and look at a text once, however often a token seems to begin', () => {
    expect(withoutSecrets(`see ${jwt}, or heyJ.x`)).toBe('see <token>, or h<token>');
    expect(withoutSecrets('eyJ'.repeat(1_000_000))).toHaveLength(3_000_000);
  });

  it('hold no key and no token, wherever somebody put them', () => {
    const common = { time: '2026-01-01T00:00:00.000Z', id: 'r1' };
    const entry = intentEntry(common, {
      subject: { kind: 'user', name: 'alice', key: 'ci' },
      source: '10.0.0.1',
      url: `/apis/management.platform/v1/ownedaccesskeys/${token}?x=${jwt}`,
      request: {
        isResource: true,
        target: { kind: 'Management' },
        verb: 'get',
        group: 'management.platform',
        resource: 'ownedaccesskeys',
        subresource: '',
        namespace: '',
        name: token,
      },
    });
    const outcome = outcomeEntry(common, 404, { note: `ownedaccesskeys "${token}" not found` });
    for (const text of [JSON.stringify(entry), JSON.stringify(outcome)]) {
      expect(text).not.toContain(token.slice(-49));
      expect(text).not.toContain(jwt);
    }
    expect(entry).toMatchObject({ request: expect.stringMatching(/^get ownedaccesskeys.management.platform mpk_/) });
    expect(outcomeEntry(common, 200)).toEqual({ ...common, stage: 'outcome', code: 200 });
    expect(withoutSecrets('nothing to hide')).toBe('nothing to hide');
  });
});
