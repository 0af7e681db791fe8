import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Address,
  type Cidr,
  contains,
  parseAddress,
  parseCidr,
  specialRangeOf,
  v4Address,
} from '../../../src/object/text/ip.ts';
import { cases } from '../fixture.ts';

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed.kind === 'invalid') throw new Error(`${text}: ${parsed.reason}`);
  return parsed;
}

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed.kind === 'invalid') throw new Error(`${text}: ${parsed.reason}`);
  return parsed.cidr;
}

describe('parseAddress()', () => {
  const good = cases<{ text: string; canonical: string; embedded?: string; special?: string }>('addresses');

  it.each(good)('reads $text as $canonical', ({ text, canonical, embedded, special }) => {
    const parsed = address(text);
    expect(parsed.canonical).toBe(canonical);
    expect(parsed.embedded?.map(({ value }) => v4Address(value).canonical).join(' ')).toBe(embedded);
    expect(specialRangeOf(parsed)).toBe(special);
    expect(address(parsed.canonical)).toEqual(parsed);
  });

  it.each(cases<{ text: string; problem: string }>('addresses-refused'))(
    'refuses "$text": $problem',
    ({ text, problem }) => {
      expect(parseAddress(text)).toMatchObject({ kind: 'invalid', problem });
    },
  );

  it('accepts every address, and no text that Node refuses', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: fc.constantFrom(...'0123456789af:.%') })),
        (text) => {
          const isStrict = isIP(text) !== 0 && !text.includes('%');
          expect(parseAddress(text).kind).toBe(isStrict ? 'ok' : 'invalid');
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('gives two texts of one address one canonical text', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const parsed = address(text);
        expect(address(text.toUpperCase())).toEqual(parsed);
        const groups = Array.from({ length: 8 }, (_, n) =>
          ((parsed.value >> BigInt(112 - 16 * n)) & 0xffffn).toString(16),
        );
        expect(address(groups.map((group) => group.padStart(4, '0')).join(':'))).toEqual(parsed);
      }),
    );
  });
});

describe('parseCidr()', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['FD00:0::/8', 'fd00::/8'],
    ['192.0.2.1/32', '192.0.2.1/32'],
  ])('reads %s as %s', (text, canonical) => {
    expect(cidr(text).canonical).toBe(canonical);
  });

  it.each([
    ['10.0.0.0', /no prefix length, as in "10.0.0.0\/32"/],
    ['10.0.0.1/8', /the network is "10.0.0.0\/8"/],
    ['10.0.0.0/33', /from 0 to 32, found "33"/],
    ['10.0.0.0/08', /found "08"/],
    ['::/129', /from 0 to 128/],
    ['010.0.0.0/8', /leading zeros/],
    ['fe80::%eth0/64', /zone/],
    ['/8', /empty/],
  ])('refuses %s', (text, reason) => {
    expect(parseCidr(text)).toMatchObject({ kind: 'invalid', reason: expect.stringMatching(reason) });
  });
});

describe('contains()', () => {
  it.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '10.0.0.1', false],
    ['2001:db8::/32', '2001:db8:ffff::', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['::ffff:0:0/96', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '64:ff9b::10.1.2.3', false],
    ['64:ff9b::/96', '64:ff9b::10.1.2.3', true],
  ])('%s contains %s: %s', (range, text, expected) => {
    expect(contains(cidr(range), address(text))).toBe(expected);
  });

  it('places an address in each of its own networks and in no other network of the same length', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), fc.integer({ min: 0, max: 128 }), (one, other, length) => {
        const mask = ((1n << BigInt(length)) - 1n) << BigInt(128 - length);
        const network = {
          family: 'IPv6' as const,
          network: address(one).value & mask,
          prefixLength: length,
          canonical: '',
        };
        expect(contains(network, address(one))).toBe(true);
        expect(contains(network, address(other))).toBe((address(other).value & mask) === network.network);
      }),
    );
  });
});
