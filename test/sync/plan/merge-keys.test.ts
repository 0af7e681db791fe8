import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { type BaseEntry, formatBase, hashOf, parseBase, unknownPatches } from '../../../src/sync/plan/keys/base.ts';
import { annotationRules, labelRules, patternMatcher } from '../../../src/sync/plan/keys/key-rules.ts';
import { type KeyMergeInput, mergeKeys } from '../../../src/sync/plan/keys/merge-keys.ts';

const options = {
  virtualCluster: 'suffix',
  mode: 'single',
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  controllerKeyPrefixes: endpointsKind.controllerKeyPrefixes,
} as const;
const rules = labelRules(options);
const rewrittenRelease = 'vcluster.loft.sh/label-suffix-x-a4d451ec23';

type Pairs = Record<string, string>;

function translate(virtual: Pairs): Map<string, string> {
  const host = new Map<string, string>();
  for (const [key, value] of Object.entries(virtual)) {
    const hostKey = rules.toHost(key);
    if (hostKey !== undefined) host.set(hostKey, value);
  }
  return host;
}

/** The base from the last agreement of `virtual` and `host`. */
function baseFrom(virtual: Pairs, host: Pairs): Map<string, BaseEntry> {
  const keys = new Set([...Object.keys(virtual), ...Object.keys(host).flatMap((key) => rules.toVirtual(key) ?? [])]);
  return new Map(
    [...keys].map((key) => [
      key,
      {
        virtual: hashOf(virtual[key]),
        host: hashOf(host[rules.toHost(key) ?? key]),
        patches: '',
        isMade: false,
        isFromHost: false,
      },
    ]),
  );
}

function merge(
  virtual: Pairs,
  host: Pairs,
  agreed?: { virtual: Pairs; host: Pairs },
  extra: Partial<KeyMergeInput> = {},
) {
  return mergeKeys({
    virtual: new Map(Object.entries(virtual)),
    desired: translate(virtual),
    host: new Map(Object.entries(host)),
    base: agreed && baseFrom(agreed.virtual, agreed.host),
    rules,
    wasCopied: () => false,
    mayFlowBack: true,
    isPatchSetNew: false,
    ...extra,
  });
}

interface Row {
  claim: string;
  agreed?: { virtual: Pairs; host: Pairs };
  virtual: Pairs;
  host: Pairs;
  toHost: Record<string, string | null>;
  toVirtual: Record<string, string | null>;
}

const same = (pairs: Pairs) => ({ virtual: pairs, host: pairs });
const rows: Row[] = [
  {
    claim: 'a rewritten key follows the tenant',
    agreed: { virtual: { release: 'a' }, host: { [rewrittenRelease]: 'a' } },
    virtual: { release: 'b' },
    host: { [rewrittenRelease]: 'a' },
    toHost: { [rewrittenRelease]: 'b' },
    toVirtual: {},
  },
  {
    claim: 'a rewritten key flows back under its own name',
    agreed: { virtual: { release: 'a' }, host: { [rewrittenRelease]: 'a' } },
    virtual: { release: 'a' },
    host: { [rewrittenRelease]: 'h' },
    toHost: {},
    toVirtual: { release: 'h' },
  },
  {
    claim: 'a key changed on both sides: the virtual side wins',
    agreed: same({ k: '1' }),
    virtual: { k: '2' },
    host: { k: '3' },
    toHost: { k: '2' },
    toVirtual: {},
  },
  {
    claim: 'a key changed on both sides: another key of the host is not lost',
    agreed: same({ k: '1' }),
    virtual: { k: '2' },
    host: { k: '1', z: '9' },
    toHost: { k: '2' },
    toVirtual: { z: '9' },
  },
  {
    claim: 'without a base the virtual side wins for its own keys, and nothing flows back',
    virtual: { k: '1', release: 'r' },
    host: { q: '1', k: 'h' },
    toHost: { k: '1', [rewrittenRelease]: 'r' },
    toVirtual: {},
  },
  {
    claim: 'a key removed on the virtual side is removed on the host',
    agreed: same({ k: '1', j: '1' }),
    virtual: { j: '1' },
    host: { k: '1', j: '1' },
    toHost: { k: null },
    toVirtual: {},
  },
  {
    claim: 'a removal on the virtual side wins over a change on the host',
    agreed: same({ k: '1' }),
    virtual: {},
    host: { k: 'other' },
    toHost: { k: null },
    toVirtual: {},
  },
  {
    claim: 'a removal on the host flows back',
    agreed: same({ k: '1' }),
    virtual: { k: '1' },
    host: {},
    toHost: {},
    toVirtual: { k: null },
  },
  {
    claim: 'a key added on the host flows back',
    agreed: same({ k: '1' }),
    virtual: { k: '1' },
    host: { k: '1', n: 'x' },
    toHost: {},
    toVirtual: { n: 'x' },
  },
  {
    claim: 'drift known to the base is repaired',
    agreed: { virtual: { k: '1' }, host: { k: '2' } },
    virtual: { k: '1' },
    host: { k: '2' },
    toHost: { k: '1' },
    toVirtual: {},
  },
  {
    claim: 'a key that only the host had at adoption stays',
    agreed: { virtual: {}, host: { own: 'h' } },
    virtual: {},
    host: { own: 'h' },
    toHost: {},
    toVirtual: {},
  },
  {
    claim: 'the marker labels are left out of the merge',
    agreed: same({ k: '1' }),
    virtual: { k: '1' },
    host: { k: '1', 'vcluster.loft.sh/managed-by': 'evil' },
    toHost: {},
    toVirtual: {},
  },
  {
    claim: 'a reserved label of the tenant is rewritten',
    agreed: same({}),
    virtual: { 'vcluster.loft.sh/namespace': 'foo' },
    host: {},
    toHost: { 'vcluster.loft.sh/label-suffix-x-101dcd4e86': 'foo' },
    toVirtual: {},
  },
  {
    claim: 'an unknown reserved key crosses in neither direction',
    agreed: same({}),
    virtual: { 'vcluster.loft.sh/other': 'v' },
    host: { 'vcluster.loft.sh/else': 'h', 'hostward.dev/x': 'h' },
    toHost: {},
    toVirtual: {},
  },
  {
    claim: 'Kubernetes’ own keys stay on the host when the tenant lacks them',
    agreed: same({}),
    virtual: {},
    host: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
    toHost: {},
    toVirtual: {},
  },
  {
    claim: 'Kubernetes’ own keys never flow back',
    agreed: same({ 'endpointslice.kubernetes.io/skip-mirror': 'true' }),
    virtual: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
    host: { 'endpointslice.kubernetes.io/skip-mirror': 'false' },
    toHost: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
    toVirtual: {},
  },
  {
    claim: 'both sides made the same change: neither side is written',
    agreed: same({ k: '1' }),
    virtual: { k: '2' },
    host: { k: '2' },
    toHost: {},
    toVirtual: {},
  },
  {
    claim: 'an empty value counts as a value',
    agreed: same({ k: '' }),
    virtual: { k: '' },
    host: {},
    toHost: {},
    toVirtual: { k: null },
  },
  {
    claim: 'keys with unusual names survive',
    agreed: same({}),
    virtual: { ['__proto__']: 'p', constructor: 'c' },
    host: {},
    toHost: { ['__proto__']: 'p', constructor: 'c' },
    toVirtual: {},
  },
];

describe('mergeKeys()', () => {
  it.each(rows)('$claim', ({ agreed, virtual, host, toHost, toVirtual }) => {
    const result = merge(virtual, host, agreed);
    expect([...result.host].sort()).toEqual(Object.entries(toHost).sort());
    expect([...result.back].sort()).toEqual(Object.entries(toVirtual).sort());
  });

  it('counts a key that both sides changed to different values', () => {
    expect(merge({ k: '2' }, { k: '3' }, same({ k: '1' })).conflicts).toBe(1);
    expect(merge({ k: '2' }, { k: '2' }, same({ k: '1' })).conflicts).toBe(0);
  });

  it('removes a host key that an earlier create copied and the tenant no longer has', () => {
    expect([...merge({}, { old: '1', own: '2' }, undefined, { wasCopied: (key) => key === 'old' }).host]).toEqual([
      ['old', null],
    ]);
  });

  it('carries nothing back from a host version that may not flow back', () => {
    const result = merge({ k: '1' }, { k: 'h', n: 'x' }, same({ k: '1' }), { mayFlowBack: false });
    expect([...result.back]).toEqual([]);
    expect([...result.host]).toEqual([['k', '1']]);
  });

  it('does not let a key flow back when its own patches have changed, and no other key is held', () => {
    const result = merge({ k: '1', o: '1' }, { k: 'h', o: 'h', n: 'x' }, same({ k: '1', o: '1' }), {
      isPatchSetNew: true,
      patchesOf: (key) => (key === 'k' ? 'AAAAAAAA' : ''),
    });
    expect([...result.back]).toEqual([
      ['o', 'h'],
      ['n', 'x'],
    ]);
    expect([...result.host]).toEqual([['k', '1']]);
    const wide = merge({ k: '1' }, { k: 'h', n: 'x' }, same({ k: '1' }), {
      isPatchSetNew: true,
      patchesOf: () => 'AAAAAAAA',
    });
    expect([...wide.back]).toEqual([]);
  });

  it('with backSync none writes nothing to the tenant and keeps keys that only the host has', () => {
    const none = labelRules({ ...options, backSync: 'none' });
    const result = merge({ k: '1' }, { k: 'h', n: 'x' }, same({ k: '1' }), { rules: none });
    expect([...result.back]).toEqual([]);
    expect([...result.host]).toEqual([['k', '1']]);
  });

  it('leaves excluded keys alone on both sides', () => {
    const exclude = annotationRules({ ...options, exclude: { labels: [], annotations: ['team.example.com/*'] } });
    const result = merge({ 'team.example.com/a': 'v' }, { 'team.example.com/b': 'h' }, same({}), {
      rules: exclude,
      desired: new Map(),
    });
    expect([...result.host, ...result.back]).toEqual([]);
  });

  const side = fc.dictionary(fc.constantFrom('a', 'b', 'release', 'c.d/e'), fc.constantFrom('', '1', '2', '3'), {
    maxKeys: 4,
  });
  it('settles: after any changes on both sides, two rounds make them agree and a third changes nothing', () => {
    fc.assert(
      fc.property(side, side, fc.option(side, { nil: undefined }), (virtual, hostRaw, agreedRaw: Pairs | undefined) => {
        const host = Object.fromEntries(
          Object.entries(hostRaw).map(([key, value]) => [rules.toHost(key) as string, value]),
        );
        const agreed = agreedRaw && { virtual: agreedRaw, host: Object.fromEntries(translate(agreedRaw)) };
        let base = agreed && baseFrom(agreed.virtual, agreed.host);
        let now: { virtual: Pairs; host: Pairs } = { virtual: { ...virtual }, host: { ...host } };
        for (let round = 0; round < 3; round++) {
          const result = merge(now.virtual, now.host, undefined, { base });
          const isQuiet = result.host.size + result.back.size === 0;
          if (round === 2) expect(isQuiet).toBe(true);
          if (result.back.size > 0) now = { ...now, virtual: apply(now.virtual, result.back) };
          else {
            now = { ...now, host: apply(now.host, result.host) };
            base = result.base as Map<string, BaseEntry>;
          }
        }
        if (agreed !== undefined) expect(Object.fromEntries(translate(now.virtual))).toEqual(now.host);
      }),
      { numRuns: 2000 },
    );
  });
});

function apply(pairs: Pairs, changes: ReadonlyMap<string, string | null>): Pairs {
  const result = new Map(Object.entries(pairs));
  for (const [key, value] of changes) {
    if (value === null) result.delete(key);
    else result.set(key, value);
  }
  return Object.fromEntries(result);
}

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
