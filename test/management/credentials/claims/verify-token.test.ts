import fc from 'fast-check';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { payloadOf, readClaims } from '../../../../src/management/credentials/claims/claims.ts';
import { readKeySet } from '../../../../src/management/credentials/claims/key-set.ts';
import { Revocations, readEntry } from '../../../../src/management/credentials/claims/revocations.ts';
import { maxCachedTokens, TokenCache } from '../../../../src/management/credentials/claims/token-cache.ts';
import {
  aheadSeconds,
  lateSeconds,
  refusedNow,
  verifyText,
} from '../../../../src/management/credentials/claims/verify-token.ts';
import {
  audience,
  claims,
  hmacToken,
  issuer,
  keySetDocument,
  keys,
  makeSigner,
  nowMs,
  part,
  signer,
  tokenOf,
} from './token-bench.ts';

const expected = { issuer, audience };
const now = nowMs / 1000;
const none = () => false;

function refusal(text: string): string {
  const verified = verifyText(text, keys, expected);
  return verified.kind === 'refused' ? verified.because : (refusedNow(verified.claims, nowMs, none) ?? 'good');
}

const good = tokenOf();
const [header = '', payload = '', signature = ''] = good.split('.');

describe('a text that is no direct token', () => {
  it('the token that all others are made from is good', () => {
    expect(refusal(good)).toBe('good');
    expect(verifyText(good, keys, expected)).toEqual({ kind: 'good', claims });
  });

  it.each([
    ['the algorithm none', `${part({ alg: 'none', typ: 'dct+jwt', kid: 'one' })}.${payload}.`, 'malformed'],
    [
      'none, and a signature',
      `${part({ alg: 'none', typ: 'dct+jwt', kid: 'one' })}.${payload}.${signature}`,
      'malformed',
    ],
    ['HMAC with the public key', hmacToken(), 'malformed'],
    ['RS256 in the header', tokenOf({ header: { alg: 'RS256' } }), 'malformed'],
    ['an algorithm in another case', tokenOf({ header: { alg: 'eddsa' } }), 'malformed'],
    ['a stripped signature', `${header}.${payload}.`, 'malformed'],
    ['no third part', `${header}.${payload}`, 'malformed'],
    ['a fourth part', `${good}.${signature}`, 'malformed'],
    ['half a signature', `${header}.${payload}.${signature.slice(0, 43)}`, 'malformed'],
    ['an extension that must be understood', tokenOf({ header: { crit: ['x'], x: 1 } }), 'malformed'],
    ['a payload that is not encoded', tokenOf({ header: { b64: false } }), 'malformed'],
    ['a key in the header', tokenOf({ header: { jwk: makeSigner('x').jwk }, by: makeSigner('x') }), 'unknown key'],
    ['no kid', tokenOf({ header: { kid: undefined } }), 'malformed'],
    ['a header that is no JSON', `${Buffer.from('no').toString('base64url')}.${payload}.${signature}`, 'malformed'],
    ['an unknown kid', tokenOf({ header: { kid: 'two' } }), 'unknown key'],
    ['a known kid and another key', tokenOf({ by: makeSigner('one') }), 'signature'],
    [
      'the payload of another token',
      `${header}.${part({ ...payloadOf(claims), admin: true })}.${signature}`,
      'signature',
    ],
    ['another typ', tokenOf({ header: { typ: 'JWT' } }), 'type'],
    ['no typ', tokenOf({ header: { typ: undefined } }), 'type'],
    ['another issuer', tokenOf({ payload: { iss: 'https://other.example' } }), 'issuer'],
    ['the issuer with a slash', tokenOf({ payload: { iss: `${issuer}/` } }), 'issuer'],
    ['another cluster', tokenOf({ payload: { aud: ['c2'] } }), 'audience'],
    ['no cluster', tokenOf({ payload: { aud: [] } }), 'audience'],
    ['no audience', tokenOf({ payload: { aud: undefined } }), 'claims'],
    ['an end as a text', tokenOf({ payload: { exp: String(now + 60) } }), 'claims'],
    ['no end', tokenOf({ payload: { exp: undefined } }), 'claims'],
    ['no scopes', tokenOf({ payload: { scopes: undefined } }), 'claims'],
    ['a scope that is null', tokenOf({ payload: { scopes: [null] } }), 'claims'],
    ['an unknown role', tokenOf({ payload: { projects: { shop: 'owner' } } }), 'claims'],
    ['a space that is no text', tokenOf({ payload: { spaces: [1] } }), 'claims'],
    ['networks that are no text', tokenOf({ payload: { networks: [] } }), 'claims'],
    ['more than 6 KiB', tokenOf({ payload: { groups: ['x'.repeat(6_000)] } }), 'malformed'],
    ['a megabyte of dots', '.'.repeat(1_000_000), 'malformed'],
    ['nothing', '', 'malformed'],
    ['expired', tokenOf({ payload: { exp: now - 31 } }), 'expired'],
    ['not yet valid', tokenOf({ payload: { nbf: now + 61 } }), 'not yet valid'],
    ['issued in the future', tokenOf({ payload: { iat: now + 61 } }), 'not yet valid'],
  ])('%s', (_what, text, because) => {
    expect(refusal(text)).toBe(because);
  });

  it('the signature is checked before what the token says of itself', () => {
    const forged = tokenOf({ by: makeSigner('one'), payload: { iss: 'x', aud: [], exp: 0 }, header: { typ: 'x' } });
    expect(refusal(forged)).toBe('signature');
  });
});

describe('a direct token where clocks differ', () => {
  it.each([
    ['exp', -lateSeconds - 1, 'expired'],
    ['exp', -lateSeconds, 'expired'],
    ['exp', -lateSeconds + 1, 'good'],
    ['nbf', aheadSeconds, 'good'],
    ['nbf', aheadSeconds + 1, 'not yet valid'],
    ['iat', aheadSeconds, 'good'],
    ['iat', aheadSeconds + 1, 'not yet valid'],
  ])('%s %d seconds from now: %s', (claim, seconds, because) => {
    expect(refusal(tokenOf({ payload: { [claim]: now + seconds } }))).toBe(because);
  });
});

describe('any change of a token', () => {
  it('in one character is refused, in whatever place', () => {
    const others = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ');
    for (let at = 0; at < good.length; at++) {
      const other = fc.sample(
        others.filter((character) => character !== good[at]),
        { numRuns: 3, seed: at },
      );
      for (const character of other)
        expect(refusal(good.slice(0, at) + character + good.slice(at + 1))).not.toBe('good');
    }
  });

  it('of the last character is refused', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const character of alphabet)
      if (character !== good.at(-1)) expect(refusal(good.slice(0, -1) + character)).not.toBe('good');
  });

  it('by inserting, cutting and doubling is refused', () => {
    fc.assert(
      fc.property(fc.nat(good.length), fc.nat(20), fc.string({ maxLength: 5 }), (at, cut, text) => {
        const changed = good.slice(0, at) + text + good.slice(at + cut);
        expect(refusal(changed) === 'good').toBe(changed === good);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('beside the library jose', () => {
  it('agrees about random claims and headers', async () => {
    const keySet = createLocalJWKSet(keySetDocument as unknown as JSONWebKeySet);
    const options = {
      issuer,
      audience,
      algorithms: ['EdDSA'],
      typ: 'dct+jwt',
      currentDate: new Date(nowMs),
      clockTolerance: lateSeconds,
    };
    const edges = fc.constantFrom(now - 40, now - 30, now - 29, now, now + 20, now + 30, now + 3_600);
    const made = fc.record({
      header: fc.record({
        typ: fc.constantFrom('dct+jwt', 'dct+jwt', 'JWT'),
        kid: fc.constantFrom('one', 'one', 'two'),
      }),
      payload: fc.record({
        iss: fc.constantFrom(issuer, issuer, 'other'),
        aud: fc.constantFrom([audience], audience, ['c2'], ['c2', audience]),
        exp: edges,
        nbf: edges.filter((time) => time <= now + 30),
      }),
    });
    await fc.assert(
      fc.asyncProperty(made, async (given) => {
        const text = tokenOf(given);
        const theirs = await jwtVerify(text, keySet, options).then(
          () => true,
          () => false,
        );
        expect(refusal(text) === 'good').toBe(theirs);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the key set', () => {
  it('takes keys of Ed25519 with an id, and nothing else', () => {
    const { jwk } = signer;
    const two = { ...jwk, kid: 'two' };
    const others = [
      { ...two, alg: 'ES256' },
      { ...two, use: 'enc' },
      { ...two, kid: '' },
      { ...two, x: 'AAAA' },
      { kty: 'oct', k: 'AAAA', kid: 's' },
      null,
      7,
    ];
    expect([...(readKeySet({ keys: [...others, jwk] }) ?? [])].map(([kid]) => kid)).toEqual(['one']);
    for (const document of [null, {}, { keys: {} }, { keys: Array(33).fill(jwk) }])
      expect(readKeySet(document)).toBeUndefined();
  });
});

describe('claims', () => {
  it('come back as they went', () => {
    for (const one of [
      claims,
      { ...claims, isAdministrator: true, networks: '10.0.0.0/8', groups: [], clusters: [], projects: {}, scopes: [] },
    ])
      expect(readClaims(JSON.parse(JSON.stringify(payloadOf(one))))).toEqual(one);
  });
});

describe('revocations', () => {
  it('never go back, whatever the order', () => {
    const entries = fc.array(
      fc.record({ key: fc.constantFrom('a', 'b'), generation: fc.nat(5), expiresMs: fc.nat(100) }),
    );
    fc.assert(
      fc.property(entries, fc.constantFrom('a', 'b'), fc.nat(6), (all, keyUid, generation) => {
        const revocations = new Revocations();
        for (const entry of all) revocations.take(entry);
        const isDead = all.some((entry) => entry.key === keyUid && generation < entry.generation);
        expect(revocations.isRevoked({ keyUid, generation })).toBe(isDead);
      }),
    );
  });

  it('are forgotten some minutes after the last token', () => {
    const revocations = new Revocations();
    revocations.take({ key: 'a', generation: 2, expiresMs: nowMs });
    revocations.forgetOld(nowMs + 119_000);
    expect(revocations.size).toBe(1);
    revocations.forgetOld(nowMs + 120_000);
    expect(revocations.size).toBe(0);
  });

  it('are kept for the token that ends last, whatever came after it', () => {
    const revocations = new Revocations();
    revocations.take({ key: 'a', generation: 2, expiresMs: nowMs + 600_000 });
    revocations.take({ key: 'a', generation: 3, expiresMs: nowMs });
    revocations.forgetOld(nowMs + 300_000);
    expect(revocations.isRevoked({ keyUid: 'a', generation: 1 })).toBe(true);
  });

  it('an entry without a readable time stays for a day', () => {
    const metadata = { name: 'a' };
    expect(readEntry({ metadata, spec: { generation: 2, expires: 'soon' } }, nowMs)?.expiresMs).toBe(
      nowMs + 86_400_000,
    );
    for (const value of [null, {}, { metadata }, { spec: { generation: 2 } }, { metadata, spec: { generation: 1.5 } }])
      expect(readEntry(value, nowMs)).toBeUndefined();
  });
});

describe('the cache of verified tokens', () => {
  it('checks a signature once, and forgets it with the keys', () => {
    const cache = new TokenCache();
    const first = cache.verify(good, keys, expected);
    // Without keys nothing could be verified again.
    expect(cache.verify(good, new Map(), expected)).toBe(first);
    cache.clear();
    expect(cache.verify(good, new Map(), expected)).toEqual({ kind: 'refused', because: 'unknown key' });
  });

  it('keeps no refusal', () => {
    const cache = new TokenCache();
    expect(cache.verify(good, new Map(), expected).kind).toBe('refused');
    expect(cache.verify(good, keys, expected).kind).toBe('good');
    expect(cache.size).toBe(1);
    expect(maxCachedTokens).toBeGreaterThan(1);
  });
});
