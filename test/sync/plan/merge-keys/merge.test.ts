import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BaseEntry } from '../../../../src/sync/plan/keys/base.ts';
import { annotationRules, labelRules } from '../../../../src/sync/plan/keys/key-rules.ts';
import { baseFrom, merge, options, type Pairs, rules, same, translate } from './stage.ts';

const rewrittenRelease = 'vcluster.loft.sh/label-suffix-x-a4d451ec23';

interface Row {
  claim: string;
  agreed?: { virtual: Pairs; host: Pairs };
  virtual: Pairs;
  host: Pairs;
  toHost: Record<string, string | null>;
  toVirtual: Record<string, string | null>;
}

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

  it('lets a key that the host has added flow back when other patches have changed than those that touch it', () => {
    const base = baseFrom({ k: '1', o: '1' }, { k: '1', o: '1' });
    base.set('o', { ...(base.get('o') as BaseEntry), patches: 'BBBBBBBB' });
    const result = merge({ k: '1', o: '1' }, { k: '1', o: '1', n: 'x' }, undefined, {
      base,
      isPatchSetNew: true,
      patchesOf: (key) => (key === 'k' ? 'AAAAAAAA' : 'BBBBBBBB'),
    });
    expect([...result.back]).toEqual([['n', 'x']]);
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
