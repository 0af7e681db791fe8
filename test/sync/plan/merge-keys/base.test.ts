import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BaseEntry, formatBase, hashOf, parseBase, unknownPatches } from '../../../../src/sync/plan/keys/base.ts';
import { patternMatcher } from '../../../../src/sync/plan/keys/key-rules.ts';
import { baseFrom, merge, same, translate } from './stage.ts';

describe('base', () => {
  it('is the same after formatting and parsing', () => {
    const base = {
      patchDigest: 'abc',
      labels: new Map([
        ['k', { virtual: hashOf('1'), host: hashOf('2'), patches: 'AbCd-_12', isMade: false, isFromHost: false }],
      ]),
      annotations: new Map([
        ['a', { virtual: '', host: hashOf('x'), patches: '', isMade: false, isFromHost: true }],
        ['b', { virtual: hashOf(''), host: hashOf(''), patches: '', isMade: false, isFromHost: false }],
      ]),
    };
    expect(parseBase(formatBase(base))).toEqual(base);
  });

  it.each([
    '',
    'null',
    '{"v":1}',
    '2',
    '2;;',
    '2;;;;',
    '3;;;',
    '1;;;',
    '2;;k;',
    '2;;k:;',
    '2;;k:short;',
    '2;;k:AAAAAAAA,;',
    '2;;,k:AAAAAAAA;',
    '2;;AAAAAAAA;',
    '2;;k:AAAAAAAABBBBBBBB;',
    '2;;k:AAAAAAAABBBBBBBB3;',
    '2;;k:AAAAAAAABBBBBBBB7;',
    '2;;k:AAAAAAAABBBBBBBB8;',
    '2;;k:AAAAAAAABBBBBBBBx;',
    '2;;k:AAAAAAAABBBBBBBB11;',
    '2;;k:AAAAAAAABBBBBBBB0CCCCCCCC;',
    '2;;k:AAAAAAAABBBBBBBB1CCCCCCCCC;',
  ])('does not trust %j', (text) => {
    expect(parseBase(text)).toBeUndefined();
  });

  it('is the same after formatting and parsing with any key names', () => {
    const hash = fc.option(fc.string(), { nil: undefined }).map(hashOf);
    const patches = fc.constantFrom('', unknownPatches, 'AbCd-_12');
    const entries = fc
      .array(fc.tuple(fc.string({ unit: 'binary' }), hash, hash, patches, fc.boolean(), fc.boolean()))
      .map((list) => {
        const entryOf = (one: (typeof list)[0]): [string, BaseEntry] => {
          const [key, virtual, host, by, isMade, isFromHost] = one;
          return [key, { virtual, host, patches: isMade ? by || unknownPatches : by, isMade, isFromHost }];
        };
        return new Map(list.map(entryOf));
      });
    const base = fc.record({ patchDigest: fc.string(), labels: entries, annotations: entries });
    fc.assert(
      fc.property(base, (one) => {
        expect(parseBase(formatBase(one))).toEqual(one);
      }),
    );
  });

  it('has a different hash for every value', () => {
    const values = Array.from({ length: 100_000 }, (_, index) => [`ep-${index}`, `10.0.${index >> 8}.${index & 255}`]);
    const more = ['', ' ', '  ', 'a', 'b', 'ab', 'ba', 'aa', 'A', '\0', '\0\0', '\ud800', 'é', 'e\u0301'];
    const hashes = new Set([...values.flat(), ...more].map(hashOf));
    expect(hashes.size).toBe(new Set([...values.flat(), ...more]).size);
  });

  it('tells an absent value from an empty one', () => {
    expect(hashOf('')).not.toBe(hashOf(undefined));
  });
});

describe('patternMatcher()', () => {
  const table: [string, string, boolean][] = [
    ['a.b/*', 'a.b/c', true],
    ['a.b/*', 'a.c/c', false],
    ['*', 'anything', true],
    ['exact', 'exact', true],
    ['exact', 'exactly', false],
    ['a*c*e', 'abcde', true],
    ['a*c*e', 'ace', true],
    ['a*a', 'a', false],
  ];
  it.each(table)('%s on %s', (pattern, key, wanted) => {
    expect(patternMatcher([pattern])(key)).toBe(wanted);
  });
});

describe('a key that the host owns', () => {
  it('is not written when the patches remove it and the host lacks it', () => {
    const tenants = { two: 'b' };
    const agreed = { virtual: tenants, host: {} };
    const extra = { desired: new Map<string, string>(), ownerOf: () => 'host' as const };
    expect(merge(tenants, {}, agreed, extra).host.size).toBe(0);
    expect(merge(tenants, {}, agreed, { ...extra, desired: translate(tenants) }).host).toEqual(new Map([['two', 'b']]));
  });
});

describe('a host value that cannot be reversed', () => {
  const agreed = same({ k: '1', n: '1' });
  const held = new Set(['k']);

  it('stays on both sides, keeps its entry of the base, and holds back no other key', () => {
    const merged = merge({ k: '1', n: '1' }, { k: 'odd', n: '2' }, agreed, { held });
    expect([merged.host, merged.back]).toEqual([new Map(), new Map([['n', '2']])]);
    expect(merged.base.get('k')).toEqual(baseFrom(agreed.virtual, agreed.host).get('k'));
  });

  it('gives way to a change of the virtual side', () => {
    const merged = merge({ k: '2', n: '1' }, { k: 'odd', n: '1' }, agreed, { held });
    expect([merged.host, merged.conflicts]).toEqual([new Map([['k', '2']]), 1]);
  });

  it('has no entry where the key is new', () => {
    const merged = merge({}, { k: 'odd' }, same({}), { held });
    expect([merged.host.size, merged.back.size, merged.base.size]).toEqual([0, 0, 0]);
  });
});

describe('a key of the virtual side alone', () => {
  const extra = { ownerOf: () => 'virtualAlone' as const };

  it.each([
    ['new on the host', same({})],
    ['there since before the base', { virtual: {}, host: { k: '1' } }],
    ['on a host object without a base', undefined],
  ])('is removed from the host when the virtual side lacks it: %s', (_name, agreed) => {
    expect(merge({}, { k: '1' }, agreed, extra).host).toEqual(new Map([['k', null]]));
  });

  it('is written when a patch makes it', () => {
    const made = { ...extra, desired: new Map([['k', 'made']]) };
    expect(merge({}, { k: '1' }, same({}), made).host).toEqual(new Map([['k', 'made']]));
  });
});
