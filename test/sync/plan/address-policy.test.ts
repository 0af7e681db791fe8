import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAddressPolicy } from '../../../src/sync/plan/address-policy.ts';

interface Case {
  address: string;
  allow?: string[];
  deny?: string[];
  rule?: string;
}

const file = new URL('../../../fixtures/sync/address-policy.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: Case[] };

/** The groups of an IPv6 address with an embedded IPv4 address, by RFCs 4291, 7915, 6052, 8215, 3056, 4380 and 5214. */
const embeddings: Record<string, (high: number, low: number) => number[]> = {
  mapped: (high, low) => [0, 0, 0, 0, 0, 0xffff, high, low],
  compatible: (high, low) => [0, 0, 0, 0, 0, 0, high, low],
  translated: (high, low) => [0, 0, 0, 0, 0xffff, 0, high, low],
  nat64: (high, low) => [0x64, 0xff9b, 0, 0, 0, 0, high, low],
  'local nat64 /96': (high, low) => [0x64, 0xff9b, 1, 0, 0, 0, high, low],
  'local nat64 /48': (high, low) => [0x64, 0xff9b, 1, high, low >> 8, (low & 255) << 8, 0, 0],
  'local nat64 /56': (high, low) => [0x64, 0xff9b, 1, 0xab00 | (high >> 8), high & 255, low, 0, 0],
  'local nat64 /64': (high, low) => [
    0x64,
    0xff9b,
    1,
    0xabcd,
    high >> 8,
    ((high & 255) << 8) | (low >> 8),
    (low & 255) << 8,
    0,
  ],
  '6to4': (high, low) => [0x2002, high, low, 1, 2, 3, 4, 5],
  'Teredo server': (high, low) => [0x2001, 0, high, low, 0, 0, 0xf7f7, 0xf7f7],
  'Teredo client': (high, low) => [0x2001, 0, 0x808, 0x808, 0x8000, 1, high ^ 0xffff, low ^ 0xffff],
  ISATAP: (high, low) => [0x2001, 0xdb8, 1, 2, 0, 0x5efe, high, low],
  'ISATAP, globally unique': (high, low) => [0x2001, 0xdb8, 1, 2, 0x200, 0x5efe, high, low],
};

/** All spellings of an address: short, long, upper case, without the longest run of zeros, with a dotted end. */
function textsOf(groups: number[]): string[] {
  const short = groups.map((group) => group.toString(16));
  const long = short.map((group) => group.padStart(4, '0'));
  const [high = 0, low = 0] = groups.slice(6);
  const dotted = [...short.slice(0, 6), [high >> 8, high & 255, low >> 8, low & 255].join('.')];
  const texts = [short.join(':'), long.join(':'), long.join(':').toUpperCase(), dotted.join(':')];
  for (let from = 0; from < 8; from++) {
    for (let to = from + 1; to <= 8 && groups.slice(from, to).every((group) => group === 0); to++) {
      texts.push(`${short.slice(0, from).join(':')}::${short.slice(to).join(':')}`);
      if (to <= 6) texts.push(`${dotted.slice(0, from).join(':')}::${dotted.slice(to).join(':')}`);
    }
  }
  return texts;
}

/** An address whose first octet is zero looks like the padding of another form, and cannot be reached. */
const fillingForms = new Set(['local nat64 /56', 'local nat64 /64']);

const octet = fc.integer({ min: 0, max: 255 });
const refusedV4 = fc.oneof(
  fc.tuple(fc.constantFrom(0, 127, 224, 239, 240, 255), octet, octet, octet),
  fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
  fc.constant([255, 255, 255, 255] as const),
);

describe('createAddressPolicy()', () => {
  it.each(cases)('$address with allow $allow and deny $deny: $rule', ({ address, allow = [], deny = [], rule }) => {
    const refused = createAddressPolicy({ allow, deny }).refusals([address]);
    expect(refused.map((one) => one.rule)).toEqual(rule === undefined ? [] : [rule]);
  });

  it.each(Object.entries(embeddings))('refuses %s forms of a refused IPv4 address in every spelling', (name, form) => {
    const bare = createAddressPolicy({ allow: [], deny: [] });
    const allowing = createAddressPolicy({ allow: ['::/0', '0.0.0.0/0'], deny: [] });
    fc.assert(
      fc.property(refusedV4, ([a, b, c, d]) => {
        if (a === 0 && fillingForms.has(name)) return;
        for (const text of textsOf(form(a * 256 + b, c * 256 + d))) {
          expect([text, bare.refusals([text]).length]).toEqual([text, 1]);
          expect([text, allowing.refusals([text]).length]).toEqual([text, 1]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each(Object.entries(embeddings))('sees a denied IPv4 address in %s forms, in every spelling', (name, form) => {
    const policy = createAddressPolicy({ allow: [], deny: ['10.0.0.0/8', '192.168.7.9/32'] });
    const denied = fc.oneof(fc.tuple(fc.constant(10), octet, octet, octet), fc.constant([192, 168, 7, 9] as const));
    fc.assert(
      fc.property(denied, ([a, b, c, d]) => {
        for (const text of textsOf(form(a * 256 + b, c * 256 + d)))
          expect([name, text, policy.refusals([text]).length]).toEqual([name, text, 1]);
      }),
      { numRuns: 60 },
    );
  });

  it('accepts an IPv6 address without an embedded IPv4 address', () => {
    const policy = createAddressPolicy({ allow: [], deny: ['10.0.0.0/8'] });
    for (const text of ['2001:db8::1', 'fd00::a00:1', '2600:1f18::10', '2001:1::a00:1', '2001:db8::1:5efe:a00:1'])
      expect([text, policy.refusals([text])]).toEqual([text, []]);
  });
});
