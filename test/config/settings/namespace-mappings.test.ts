import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileMappings, mappingProblems } from '../../../src/config/settings/namespace-mappings.ts';
import { fixtures } from '../loading.ts';

const vectors = JSON.parse(readFileSync(join(fixtures, 'names/namespace-mappings.json'), 'utf8')) as {
  virtualClusterName: string;
  hostNamespace: string;
  byName: Record<string, string>;
  hostToVirtual: Record<string, string | null>;
};
const context = { virtualClusterName: 'my-vc', hostNamespace: 'hns', mappingsOnly: false };

function compile(byName: Record<string, string>) {
  return compileMappings(byName, context);
}

describe('compileMappings()', () => {
  const compiled = compileMappings(vectors.byName, { ...vectors, mappingsOnly: true });

  it.each(Object.entries(vectors.hostToVirtual))('maps the host namespace %j to %j and back', (host, virtual) => {
    expect(compiled.virtualNamespaceOf(host)).toBe(virtual ?? undefined);
    if (virtual !== null) expect(compiled.hostNamespaceOf(virtual)).toBe(host);
  });

  it('accepts the vectors without a problem and keeps mappingsOnly', () => {
    expect(mappingProblems(vectors.byName, vectors)).toEqual([]);
    expect(compiled.mappingsOnly).toBe(true);
  });

  it('names the host namespaces to watch', () => {
    expect(compiled.windows).toEqual({
      namespaces: ['customer-project-alpha-prod', 'hx-my-vc'],
      prefixes: ['h-team-a-', 'my-vc-data-'],
    });
  });

  it('uses the most specific pair, in any order of the pairs', () => {
    const pairs = { 'a-*': 'x-*', 'a-b-*': 'y-*', 'a-b-c': 'z' };
    for (const byName of [pairs, Object.fromEntries(Object.entries(pairs).reverse())]) {
      const { hostNamespaceOf, virtualNamespaceOf } = compile(byName);
      expect(['a-1', 'a-b-1', 'a-b-c', 'b'].map(hostNamespaceOf)).toEqual(['x-1', 'y-1', 'z', undefined]);
      // By the wider pair, x-b-1 would be the copy of a-b-1, but a narrower pair maps a-b-1 elsewhere.
      expect(['x-1', 'x-b-1', 'y-1', 'z'].map(virtualNamespaceOf)).toEqual(['a-1', undefined, 'a-b-1', 'a-b-c']);
    }
  });

  it('maps every virtual namespace with the pattern *', () => {
    const { hostNamespaceOf } = compile({ '*': `\${name}-*` });
    expect(hostNamespaceOf('default')).toBe('my-vc-default');
  });

  it('reports a host namespace that belongs to another mapping or is too long', () => {
    const { hostNamespaceOf, unusable } = compile({ '*': 'h-*', prod: 'h-main' });
    expect(hostNamespaceOf('main')).toBeUndefined();
    expect(unusable('main')).toEqual({
      hostNamespace: 'h-main',
      reason: 'a more specific mapping gives it to the virtual namespace "prod"',
    });
    expect(unusable('x'.repeat(62))?.reason).toBe('it is longer than 63 characters');
    expect(unusable('x'.repeat(61))).toBeUndefined();
  });

  it('maps different virtual namespaces to different host namespaces, and each host namespace back', () => {
    const word = fc.stringMatching(/^[ab-]{0,4}$/);
    const byName = fc.dictionary(
      word.chain((text) => fc.constantFrom(text, `${text}*`)),
      word.chain((text) => fc.constantFrom(text, `${text}*`)),
      { maxKeys: 5 },
    );
    fc.assert(
      fc.property(byName, fc.array(fc.stringMatching(/^[ab-]{1,7}$/), { maxLength: 30 }), (pairs, names) => {
        const sound = Object.entries(pairs).filter(([key, host]) => key.includes('*') === host.includes('*'));
        const { hostNamespaceOf, virtualNamespaceOf } = compile(Object.fromEntries(sound));
        const taken = new Map<string, string>();
        for (const name of new Set(names)) {
          const host = hostNamespaceOf(name);
          if (host === undefined) continue;
          expect(virtualNamespaceOf(host)).toBe(name);
          expect(taken.has(host)).toBe(false);
          taken.set(host, name);
        }
        for (const name of names) {
          const virtual = virtualNamespaceOf(name);
          if (virtual !== undefined) expect(hostNamespaceOf(virtual)).toBe(name);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('mappingProblems()', () => {
  const words = (byName: Record<string, string>) =>
    mappingProblems(byName, context).map(
      ({ side, words, isWarning }) =>
        `${isWarning ? 'warns' : side}: ${'sentence' in words ? words.sentence : words.wanted}`,
    );

  it('refuses an empty map, and a key that expands to the same namespace', () => {
    expect(words({})).toEqual(['virtual: no namespace is mapped']);
    expect(words({ 'my-vc-a': 'x', [`\${name}-a`]: 'y' })).toEqual([
      'virtual: the mapping of "my-vc-a" already uses the virtual namespace "my-vc-a"',
    ]);
    expect(words({ a: 'h-my-vc', b: `h-\${name}` })).toEqual([
      'host: the mapping of "a" already uses the host namespace "h-my-vc"',
    ]);
    expect(words({ 'a-*': 'h-*', 'b-*': 'h-*' })).toEqual([
      'host: the mapping of "a-*" already uses the host namespace "h-*"',
    ]);
  });

  it('allows an empty prefix on the virtual side only', () => {
    expect(words({ '*': 'h-*' })).toEqual([]);
    expect(words({ 'h-*': '*' })).toEqual(['host: some text before the *']);
  });

  it('refuses the namespace of the virtual cluster itself, exact and by pattern', () => {
    const wanted = 'host: a namespace other than the one of the virtual cluster, hns';
    expect(words({ a: 'hns' })).toEqual([wanted]);
    expect(words({ 'a-*': 'hns*' })).toEqual([wanted]);
    expect(words({ 'a-*': 'hns-*' })).toEqual([]);
  });

  it('limits prefixes to 32 characters after expansion, names to 63', () => {
    expect(words({ [`${'a'.repeat(32)}*`]: 'h-*' })).toEqual([]);
    expect(words({ [`${'a'.repeat(33)}*`]: 'h-*' })).toEqual(['virtual: 32 characters before the * at most']);
    expect(words({ [`\${name}${'a'.repeat(28)}*`]: 'h-*' })).toEqual(['virtual: 32 characters before the * at most']);
    expect(words({ ['a'.repeat(63)]: 'h' })).toEqual([]);
    expect(words({ ['a'.repeat(64)]: 'h' })).toHaveLength(1);
  });

  it('warns of a host namespace that two mappings reach, unless both give the same virtual namespace', () => {
    expect(words({ '*': 'h-*', wide: 'h-narrow' })).toEqual([
      'warns: "*" sends the virtual namespace narrow to "h-narrow" too',
    ]);
    expect(words({ '*': 'h-*', narrow: 'h-narrow' })).toEqual([]);
    expect(words({ 'a-*': 'h-*', 'b-*': 'h-b-*' })).toEqual([
      'warns: "a-*" sends the virtual namespace a-b-* to "h-b-*" too',
    ]);
    expect(words({ 'a-*': 'h-*', 'a-b-*': 'h-b-*' })).toEqual([]);
  });
});
