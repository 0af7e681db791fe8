// Maps virtual namespaces to host namespaces and back, by the pairs of sync.toHost.namespaces.mappings.byName. The most
// specific pair decides: an exact pair first, then the longest prefix. Both directions always agree. Pure.
import { type FaultWords, quoted } from '../fault.ts';

export type MappingSide = 'virtual' | 'host';

/** A rule that a pair breaks; load.ts adds the position. */
export interface MappingProblem {
  /** The key of byName; undefined when the whole map is at fault. */
  pair: string | undefined;
  side: MappingSide;
  words: FaultWords;
  /** True for an overlap in which the more specific pair decides; such an overlap does not stop the start. */
  isWarning: boolean;
}

interface MappingEnd {
  isPattern: boolean;
  /** The namespace, or the text of a pattern before the `*`; placeholders are expanded. */
  text: string;
}

interface MappingPair {
  key: string;
  virtual: MappingEnd;
  host: MappingEnd;
}

export interface CompiledMappings {
  mappingsOnly: boolean;
  /** Undefined when no pair applies, and when the host namespace of the pair is unusable. */
  hostNamespaceOf(virtualNamespace: string): string | undefined;
  virtualNamespaceOf(hostNamespace: string): string | undefined;
  /** The reason when a pair applies but its host namespace is unusable. */
  unusable(virtualNamespace: string): { hostNamespace: string; reason: string } | undefined;
  /** The host namespaces to watch: exact names, and prefixes of names. */
  windows: { namespaces: readonly string[]; prefixes: readonly string[] };
  /** The pairs with `${name}` expanded and with the `*` of patterns; the most specific pair is first. */
  pairs: readonly (readonly [virtual: string, host: string])[];
}

export interface MappingContext {
  virtualClusterName: string;
  hostNamespace: string;
}

/** A namespace is a DNS label. */
const maxNamespaceLength = 63;
/** vCluster's limit for the text before `*`, which leaves about half of the name for the matched text. */
const maxPrefixLength = 32;
const placeholder = `\${name}`;

export function compileMappings(
  byName: Readonly<Record<string, string>>,
  options: MappingContext & { mappingsOnly: boolean },
): CompiledMappings {
  const pairs = Object.entries(byName).map(([key, host]): MappingPair => {
    return { key, virtual: endOf(key, options), host: endOf(host, options) };
  });
  const hostOf = translator(pairs, 'virtual', 'host');
  const virtualOf = translator(pairs, 'host', 'virtual');
  const unusable = (virtualNamespace: string): { hostNamespace: string; reason: string } | undefined => {
    const hostNamespace = hostOf(virtualNamespace);
    if (hostNamespace === undefined) return undefined;
    if (hostNamespace.length > maxNamespaceLength)
      return { hostNamespace, reason: `it is longer than ${maxNamespaceLength} characters` };
    const owner = virtualOf(hostNamespace);
    if (owner === virtualNamespace) return undefined;
    return { hostNamespace, reason: `a more specific mapping gives it to the virtual namespace "${owner}"` };
  };
  return {
    mappingsOnly: options.mappingsOnly,
    unusable,
    hostNamespaceOf: (virtual) => (unusable(virtual) === undefined ? hostOf(virtual) : undefined),
    virtualNamespaceOf(host) {
      const virtual = virtualOf(host);
      return virtual !== undefined && hostOf(virtual) === host ? virtual : undefined;
    },
    windows: {
      namespaces: pairs.filter((pair) => !pair.host.isPattern).map((pair) => pair.host.text),
      prefixes: pairs.filter((pair) => pair.host.isPattern).map((pair) => pair.host.text),
    },
    pairs: [...pairs]
      .sort(
        (a, b) =>
          Number(a.virtual.isPattern) - Number(b.virtual.isPattern) || b.virtual.text.length - a.virtual.text.length,
      )
      .map(({ virtual, host }) => [written(virtual), written(host)] as const),
  };
}

function written({ text, isPattern }: MappingEnd): string {
  return isPattern && !text.endsWith('*') ? `${text}*` : text;
}

function expand(text: string, { virtualClusterName }: MappingContext): string {
  return text.replaceAll(placeholder, virtualClusterName);
}

function endOf(written: string, context: MappingContext): MappingEnd {
  const star = written.indexOf('*');
  return { isPattern: star >= 0, text: expand(star >= 0 ? written.slice(0, star) : written, context) };
}

function translator(
  pairs: readonly MappingPair[],
  from: MappingSide,
  to: MappingSide,
): (name: string) => string | undefined {
  const exact = new Map(pairs.filter((pair) => !pair[from].isPattern).map((pair) => [pair[from].text, pair]));
  const patterns = patternsBy(pairs, from);
  return (name) => {
    const pair = exact.get(name) ?? longestPrefix(name, patterns);
    if (pair === undefined) return undefined;
    return pair[from].isPattern ? pair[to].text + name.slice(pair[from].text.length) : pair[to].text;
  };
}

function patternsBy(pairs: readonly MappingPair[], side: MappingSide): Map<string, MappingPair> {
  return new Map(pairs.filter((pair) => pair[side].isPattern).map((pair) => [pair[side].text, pair]));
}

function longestPrefix(name: string, patterns: ReadonlyMap<string, MappingPair>): MappingPair | undefined {
  if (patterns.size === 0) return undefined;
  for (let length = Math.min(name.length, maxPrefixLength); length >= 0; length--) {
    const pair = patterns.get(name.slice(0, length));
    if (pair !== undefined) return pair;
  }
  return undefined;
}

/** Every broken rule of every pair: the rules of vCluster, and that two pairs must not use the same namespace. */
export function mappingProblems(byName: Readonly<Record<string, string>>, context: MappingContext): MappingProblem[] {
  const entries = Object.entries(byName);
  if (entries.length === 0) {
    const fix = 'map at least one namespace, or set sync.toHost.namespaces.enabled to false';
    const words = { sentence: 'no namespace is mapped', fix };
    return [{ pair: undefined, side: 'virtual', words, isWarning: false }];
  }
  const problems: MappingProblem[] = [];
  const sound: MappingPair[] = [];
  for (const [key, host] of entries) {
    const broken = pairProblems(key, host, context);
    problems.push(...broken);
    if (broken.length === 0) sound.push({ key, virtual: endOf(key, context), host: endOf(host, context) });
  }
  return [...problems, ...overlaps(sound)];
}

function pairProblems(key: string, host: string, context: MappingContext): MappingProblem[] {
  const at = (side: MappingSide, wanted: string, fix = ''): MappingProblem => {
    const found = quoted(side === 'virtual' ? key : host);
    return { pair: key, side, words: { found, wanted, fix }, isWarning: false };
  };
  const problems = [
    ...sideProblems(key, 'virtual', context).map((problem) => at('virtual', problem)),
    ...sideProblems(host, 'host', context).map((problem) => at('host', problem)),
  ];
  if (key.includes('*') !== host.includes('*')) problems.push(at('host', '* on both sides or on neither'));
  if (problems.length > 0) return problems;
  const end = endOf(host, context);
  const meetsOwn = end.isPattern ? context.hostNamespace.startsWith(end.text) : context.hostNamespace === end.text;
  if (meetsOwn && context.hostNamespace !== '') {
    const wanted = `a namespace other than the one of the virtual cluster, ${context.hostNamespace}`;
    problems.push(at('host', wanted, end.isPattern ? 'begin the host pattern with another text' : ''));
  }
  return problems;
}

function sideProblems(written: string, side: MappingSide, context: MappingContext): string[] {
  const stars = written.split('*').length - 1;
  if (stars > 1 || (stars === 1 && !written.endsWith('*'))) return ['one * at most, at the end'];
  if (written === '*' && side === 'host') return ['some text before the *'];
  const text = stars === 1 ? written.slice(0, -1) : written;
  if (text === '') return stars === 1 ? [] : ['the name of a namespace'];
  if (text.split(placeholder).length > 2) return [`${placeholder} once at most`];
  const expanded = expand(text, context);
  if (expanded.includes('${')) return [`no placeholder except ${placeholder}`];
  if (stars === 1) {
    if (expanded.length > maxPrefixLength) return [`${maxPrefixLength} characters before the * at most`];
    return /^[a-z0-9][a-z0-9-]*$/.test(expanded) ? [] : ['the beginning of a namespace name: a-z, 0-9 and -'];
  }
  const isName = expanded.length <= maxNamespaceLength && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(expanded);
  return isName ? [] : ['the name of a namespace: 1 to 63 of a-z, 0-9 and -, a letter or digit at both ends'];
}

function overlaps(pairs: readonly MappingPair[]): MappingProblem[] {
  const problems: MappingProblem[] = [];
  for (const side of ['virtual', 'host'] as const) {
    const taken = new Map<string, MappingPair>();
    for (const pair of pairs) {
      const before = taken.get(show(pair[side]));
      taken.set(show(pair[side]), before ?? pair);
      if (before === undefined) continue;
      const sentence = `the mapping of ${quoted(before.key)} already uses the ${side} namespace ${show(pair[side])}`;
      problems.push({ pair: pair.key, side, words: { sentence, fix: 'remove one of the two' }, isWarning: false });
    }
  }
  const patterns = patternsBy(pairs, 'host');
  for (const pair of pairs) problems.push(...shadows(pair, patterns));
  return problems;
}

/** Finds wider patterns that send another virtual namespace to the host namespace of this pair. */
function shadows(narrow: MappingPair, patterns: ReadonlyMap<string, MappingPair>): MappingProblem[] {
  const problems: MappingProblem[] = [];
  const { text, isPattern } = narrow.host;
  for (let length = 0; length <= text.length; length++) {
    const wide = patterns.get(text.slice(0, length));
    if (wide === undefined || wide === narrow || (isPattern && length === text.length)) continue;
    const reached = wide.virtual.text + text.slice(length);
    if (reached === narrow.virtual.text) continue;
    const also = isPattern ? `${reached}*` : reached;
    const sentence = `${quoted(wide.key)} sends the virtual namespace ${also} to ${show(narrow.host)} too`;
    const words = { sentence, fix: `${also} would not be synced under that mapping` };
    problems.push({ pair: narrow.key, side: 'host', words, isWarning: true });
  }
  return problems;
}

function show(end: MappingEnd): string {
  return quoted(end.isPattern ? `${end.text}*` : end.text);
}
