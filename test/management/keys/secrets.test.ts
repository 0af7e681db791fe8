import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSecret, type KeyIndex } from '../../../src/management/keys/secret/check-secret.ts';
import { FieldCipher } from '../../../src/management/keys/secret/field-cipher.ts';
import type { KeyRecord } from '../../../src/management/keys/secret/key-record.ts';
import { type Hmac, hmacSha256, Peppers } from '../../../src/management/keys/secret/pepper.ts';
import { makeSecret, overlapFaults, rotate } from '../../../src/management/keys/secret/rotate.ts';
import { suppliedFaults } from '../../../src/management/keys/secret/supplied.ts';
import { makeToken, type RandomBytes, readToken } from '../../../src/management/keys/secret/token.ts';

/** The same bytes in every run. */
function seeded(seed = 'seed'): RandomBytes {
  let count = 0;
  return (length) => createHash('sha512').update(`${seed}${count++}`).digest().subarray(0, length);
}

const pepper = (version: number) => ({ version, bytes: createHash('sha256').update(`pepper ${version}`).digest() });
const none = { name: 'k', uid: 'u', grantedGroups: [], madeBy: undefined, tokenGeneration: 1 };
const subject = { kind: 'user', name: 'alice', uid: 'a' } as const;

function indexOf(...records: KeyRecord[]): KeyIndex {
  return {
    byId: (id) => records.find((record) => record.id === id),
    bySupplied: ({ version, digest }) =>
      records.find(({ secrets }) => secrets.some((s) => s.isSupplied && s.version === version && s.digest === digest)),
  };
}

describe('the text of a key', () => {
  it('has a prefix, an id, 256 random bits and a checksum', () => {
    const { text, id } = makeToken(seeded());
    expect(text).toMatch(/^mpk_[0-9A-Za-z]{17}_[0-9A-Za-z]{49}$/);
    expect(readToken(text)).toEqual({ kind: 'own', id });
    expect(43 * Math.log2(62)).toBeGreaterThanOrEqual(256);
  });

  it('is other bits for other bytes, from all zeros to all ones', () => {
    const all = (byte: number) => makeToken((count) => new Uint8Array(count).fill(byte)).text;
    expect(all(0)).toMatch(/^mpk_0{17}_0{43}/);
    expect(readToken(all(255)).kind).toBe('own');
    expect(new Set(Array.from({ length: 500 }, (_, at) => makeToken(seeded(`${at}`)).text)).size).toBe(500);
  });

  it('is refused with any one character changed, cut or added', () => {
    const { text } = makeToken(seeded());
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom('0', 'a', 'Z', '_', '-'), (at, other) => {
        fc.pre(text[at] !== other);
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        const read = readToken(changed);
        // Without the prefix it may be anybody's.
        expect(read.kind).toBe(at < 4 ? 'supplied' : 'malformed');
        expect(readToken(text.slice(0, at)).kind).not.toBe('own');
      }),
    );
    expect(readToken(`${text}x`).kind).toBe('malformed');
    expect(readToken('').kind).toBe('malformed');
    expect(readToken('x'.repeat(257)).kind).toBe('malformed');
  });
});

describe('checkSecret()', () => {
  const peppers = new Peppers([pepper(1)]);
  const made = makeSecret(seeded(), peppers);
  const record: KeyRecord = { ...none, subject, ...made.part };
  const now = 1_000_000;

  it('proves the right secret and no other', () => {
    expect(checkSecret(made.text, indexOf(record), peppers, now)).toEqual({ kind: 'proved', record, isFormer: false });
    const other = makeToken(seeded('other'), record.id).text;
    expect(checkSecret(other, indexOf(record), peppers, now)).toEqual({ kind: 'unknown' });
    expect(checkSecret(made.text, indexOf(), peppers, now)).toEqual({ kind: 'unknown' });
    expect(checkSecret('mpk_x', indexOf(record), peppers, now)).toEqual({ kind: 'malformed' });
  });

  it('stores nothing of the text', () => {
    const kept = JSON.stringify(record);
    expect(kept).not.toContain(made.text.slice(-49));
    expect(kept).toContain(record.id);
  });

  it('costs the same for an unknown id as for a wrong secret: the same calls', () => {
    const calls = (text: string, ...records: KeyRecord[]): string[] => {
      const seen: string[] = [];
      const counting: Hmac = (key, value) => {
        seen.push('hmac');
        return hmacSha256(key, value);
      };
      const index = indexOf(...records);
      const counted: KeyIndex = {
        byId: (id) => {
          seen.push('byId');
          return index.byId(id);
        },
        bySupplied: (digest) => {
          seen.push('bySupplied');
          return index.bySupplied(digest);
        },
      };
      checkSecret(text, counted, new Peppers([pepper(2), pepper(1)], counting), now);
      return seen;
    };
    const wrong = makeToken(seeded('other'), record.id).text;
    const rotated = rotate(record, { random: seeded('r'), peppers, nowMs: now, overlapSeconds: 60 }).record;
    expect(calls(wrong)).toEqual(['byId', 'hmac', 'hmac']);
    expect(calls(wrong, record)).toEqual(calls(wrong));
    expect(calls(wrong, rotated)).toEqual(calls(wrong));
    expect(calls(made.text, record)).toEqual(calls(wrong));
    const supplied = 'abcdefghijklmnopqrstuvwxyz0123456789';
    const kept = {
      ...record,
      id: '',
      secrets: [{ ...peppers.digest(supplied), validUntilMs: undefined, isSupplied: true }],
    };
    expect(calls(supplied)).toHaveLength(6);
    expect(calls(supplied, kept)).toEqual(calls(supplied));
  });

  it('never proves the dummy of an unknown id', () => {
    const zeros: Hmac = () => new Uint8Array(32);
    expect(checkSecret(made.text, indexOf(), new Peppers([pepper(1)], zeros), now).kind).toBe('unknown');
    const short = { ...record, secrets: [{ version: 1, digest: '', validUntilMs: undefined, isSupplied: false }] };
    expect(checkSecret(made.text, indexOf(short), peppers, now).kind).toBe('unknown');
  });

  it('goes on proving keys under an older pepper, and stops when it is lost', () => {
    const both = new Peppers([pepper(1), pepper(2)]);
    expect(both.newest.version).toBe(2);
    expect(checkSecret(made.text, indexOf(record), both, now).kind).toBe('proved');
    expect(checkSecret(made.text, indexOf(record), new Peppers([pepper(2)]), now).kind).toBe('unknown');
    // Another pepper under the old number proves nothing.
    const forged = new Peppers([{ version: 1, bytes: pepper(2).bytes }]);
    expect(checkSecret(made.text, indexOf(record), forged, now).kind).toBe('unknown');
  });

  it('finds supplied keys by their digest, under any pepper', () => {
    const supplied = 'abcdefghijklmnopqrstuvwxyz0123456789';
    const kept = {
      ...record,
      id: '',
      secrets: [{ ...peppers.digest(supplied), validUntilMs: undefined, isSupplied: true }],
    };
    const both = new Peppers([pepper(2), pepper(1)]);
    expect(checkSecret(supplied, indexOf(kept), both, now)).toEqual({ kind: 'proved', record: kept, isFormer: false });
    expect(checkSecret(`${supplied}x`, indexOf(kept), both, now).kind).toBe('unknown');
  });

  it('refuses peppers that are too short or too many', () => {
    expect(() => new Peppers([])).toThrow('wanted 1 to 4');
    expect(new Peppers([1, 2, 3, 4].map(pepper)).newest.version).toBe(4);
    expect(() => new Peppers([1, 2, 3, 4, 5].map(pepper))).toThrow('found 5');
    expect(() => new Peppers([{ version: 1, bytes: new Uint8Array(16) }])).toThrow('wanted 32 bytes');
  });
});

describe('rotate()', () => {
  const peppers = new Peppers([pepper(1)]);
  const first = makeSecret(seeded('1'), peppers);
  const record: KeyRecord = { ...none, subject, ...first.part };
  const at = (nowMs: number, text: string, of: KeyRecord) => checkSecret(text, indexOf(of), peppers, nowMs).kind;

  it('ends the old secret at once unless there is an overlap', () => {
    const next = rotate(record, { random: seeded('2'), peppers, nowMs: 1000, overlapSeconds: 0 });
    expect(at(1000, next.text, next.record)).toBe('proved');
    expect(at(1000, first.text, next.record)).toBe('unknown');
  });

  it('keeps the old secret to the end of the overlap, and never a third', () => {
    const second = rotate(record, { random: seeded('2'), peppers, nowMs: 0, overlapSeconds: 60 });
    expect(at(59_999, first.text, second.record)).toBe('proved');
    expect(at(60_000, first.text, second.record)).toBe('unknown');
    expect(at(60_000, second.text, second.record)).toBe('proved');
    const third = rotate(second.record, { random: seeded('3'), peppers, nowMs: 1000, overlapSeconds: 60 });
    expect([first, second, third].map(({ text }) => at(2000, text, third.record))).toEqual([
      'unknown',
      'proved',
      'proved',
    ]);
    expect(third.record.secrets).toHaveLength(2);
  });

  it('gives a supplied key an id, and keeps its value for the overlap', () => {
    const supplied = 'abcdefghijklmnopqrstuvwxyz0123456789';
    const kept = {
      ...record,
      id: '',
      secrets: [{ ...peppers.digest(supplied), validUntilMs: undefined, isSupplied: true }],
    };
    const next = rotate(kept, { random: seeded('2'), peppers, nowMs: 0, overlapSeconds: 60 });
    expect([at(0, supplied, next.record), at(0, next.text, next.record), at(60_000, supplied, next.record)]).toEqual([
      'proved',
      'proved',
      'unknown',
    ]);
  });

  it('takes up the newest pepper', () => {
    const both = new Peppers([pepper(1), pepper(2)]);
    const next = rotate(record, { random: seeded('2'), peppers: both, nowMs: 0, overlapSeconds: 5 });
    expect(next.record.secrets.map(({ version }) => version)).toEqual([2, 1]);
  });

  it.each([
    [0, true],
    [604_800, true],
    [604_801, false],
    [-1, false],
    [0.5, false],
  ])('an overlap of %s seconds: %s', (seconds, isFine) => {
    expect(overlapFaults(seconds, 'spec.overlap').length === 0).toBe(isFine);
  });
});

describe('a supplied value', () => {
  const fine = 'abcdefghijklmnopqrstuvwxyz012345';
  it.each([
    ['is fine with 32 characters', fine, undefined],
    ['is fine with 256', fine.repeat(8), undefined],
    ['is too short with 31', fine.slice(1), 'must have 32 to 256 characters'],
    ['is too long with 257', `${fine.repeat(8)}x`, 'must have 32 to 256 characters'],
    ['has too few distinct characters', 'abcdefghijk'.repeat(4), 'must have at least 12 distinct characters'],
    ['has another character', `${fine} `, 'must consist of A-Z, a-z, 0-9 and ._~+/=-'],
    ['looks like ours', `mpk_${fine}`, 'must not begin with mpk_, as generated keys do'],
    ['looks like a JWT', `eyJhbGciOiJFZERTQSJ9.${fine}.abc`, 'must not look like a JWT, as direct tokens do'],
    ['has dots without being a JWT', `aJhbGciOiJFZERTQSJ9.${fine}.abc`, undefined],
  ])('%s', (_, value, message) => {
    const faults = suppliedFaults(value, 'spec.key');
    expect(faults.map((fault) => fault.message)).toEqual(
      message === undefined ? [] : [`Invalid value: the value is not shown: ${message}`],
    );
    expect(JSON.stringify(faults)).not.toContain(value);
  });
});

describe('FieldCipher', () => {
  const cipher = new FieldCipher(pepper(7).bytes, seeded());
  it('opens what it sealed, for the same object only', () => {
    const sealed = cipher.seal('a refresh token', 'uid-1');
    expect(sealed).not.toContain('refresh');
    expect(cipher.open(sealed, 'uid-1')).toBe('a refresh token');
    expect(cipher.open(sealed, 'uid-2')).toBeUndefined();
    expect(new FieldCipher(pepper(8).bytes, seeded()).open(sealed, 'uid-1')).toBeUndefined();
    expect(cipher.seal('a refresh token', 'uid-1')).not.toBe(sealed);
  });

  it('opens nothing that was changed or cut', () => {
    const sealed = cipher.seal('text', 'u');
    expect(
      ['', 'v1:', 'v2:abc', sealed.slice(0, -8), sealed.replace('v1:', '')].map((of) => cipher.open(of, 'u')),
    ).toEqual(Array.from({ length: 5 }, () => undefined));
    const bytes = Buffer.from(sealed.slice(3), 'base64');
    bytes[14] = (bytes[14] ?? 0) ^ 1;
    expect(cipher.open(`v1:${bytes.toString('base64')}`, 'u')).toBeUndefined();
  });

  it('wants a whole key', () => {
    expect(() => new FieldCipher(new Uint8Array(16), seeded())).toThrow('wanted 32 bytes, found 16');
  });
});
