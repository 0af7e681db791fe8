// Parses one YAML text. In: the text of a file. Out: one tree with positions, or the faults. Duplicate keys and exploding
// aliases are faults, merge keys work. Must never throw because of a text, and must know no setting.
import { type Alias, isAlias, isMap, isNode, isScalar, isSeq, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { type Fault, fault, quoted } from '../fault.ts';
import type { Steps } from '../steps.ts';
import { innerAlias, isOfScalar, isUnresolved, misfit, textTag, unknownAlias } from './anchors-and-tags.ts';
import type { SourceText } from './source-text.ts';
import type { MapEntry, MapNode, ScalarStyle, Span, TreeNode } from './tree.ts';
import { plainScalar } from './yaml-scalar.ts';
import { flatterFix, nestedTooDeeply, readSyntax } from './yaml-syntax.ts';

/** Configurations are ten deep; the reader recurses. */
const maxDepth = 100;
/** Limit for the nodes after the expansion of aliases: twice the number that the token limit allows without aliases. */
const maxNodes = 100_000;

export const duplicateKey = 'CONFIG_DUPLICATE_KEY';
const tooLarge = 'CONFIG_YAML_TOO_LARGE';

export type ParsedYaml =
  | { kind: 'tree'; root: MapNode }
  /** The root allows a search for further faults in the text; it must not be used as settings. `isWhole`: nothing is missing in it. */
  | { kind: 'faults'; faults: Fault[]; root?: MapNode; isWhole: boolean };

export function* parseYaml(source: SourceText): Steps<ParsedYaml> {
  try {
    const syntax = yield* readSyntax(source);
    if (syntax.kind === 'faults') return { ...syntax, isWhole: false };
    return new Builder(source, syntax.tags).document(syntax.contents);
  } catch (cause) {
    // Deep nesting overflows the recursive parser. Any other error is a bug of the parser and must not stop the daemon.
    const isDeep = cause instanceof RangeError;
    const sentence = isDeep ? nestedTooDeeply : `the file cannot be read as YAML: ${quoted(String(cause))}`;
    return {
      kind: 'faults',
      faults: [fault({ code: 'CONFIG_YAML', at: source.positionAt(0), sentence, ...(isDeep && { fix: flatterFix }) })],
      isWhole: false,
    };
  }
}

interface Built {
  node: TreeNode;
  /** The number of nodes in this tree; an alias counts at each use. */
  size: number;
}

class Builder {
  readonly #source: SourceText;
  /** Filled in the order of the text, so that an alias finds the anchor before it. */
  readonly #anchors = new Map<string, object>();
  readonly #built = new Map<object, Built>();
  readonly #faults: Fault[];
  #mergedEntries = 0;
  #hasTemplate = false;

  constructor(source: SourceText, tags: readonly Fault[]) {
    this.#source = source;
    this.#faults = [...tags];
  }

  document(contents: unknown): ParsedYaml {
    const { node, size } = this.#build(contents, 0, 0);
    const start = node.span.start;
    if (Math.max(size, this.#mergedEntries) > maxNodes) {
      this.#say(
        tooLarge,
        start,
        `the file has more than ${maxNodes} values, counting each use of an alias`,
        'write fewer aliases of lists and maps that hold aliases',
      );
    } else if (node.kind === 'scalar' && node.value === null && this.#faults.length === 0) {
      const fix = 'write {} to give every setting its default';
      this.#say('CONFIG_FILE_EMPTY', 0, 'the file is empty', fix);
    } else if (node.kind !== 'map' && this.#faults.length === 0) {
      const found = node.kind === 'list' ? 'a list' : quoted(node.text);
      const fix =
        node.kind === 'list'
          ? 'begin the file with hostward: or sync:, without "- "'
          : 'begin the file with hostward: or sync:';
      this.#say('CONFIG_WRONG_TYPE', start, `wanted a map of settings at the top of the file, found ${found}`, fix);
    }
    const faults = this.#faults;
    if (faults.length === 0 && node.kind === 'map') return { kind: 'tree', root: node };
    const isWhole = faults.every(({ code }) => code === duplicateKey);
    // What has too many parts is not looked through for more, and every value of a template would be a fault.
    const isFit = !this.#hasTemplate && faults.every(({ code }) => code !== tooLarge);
    return { kind: 'faults', faults, isWhole, ...(node.kind === 'map' && isFit && { root: node }) };
  }

  #say(code: string, offset: number, sentence: string, fix = ''): void {
    this.#faults.push(fault({ code, at: this.#source.positionAt(offset), sentence, fix }));
  }

  #span(node: unknown, fallback: number): Span {
    const range = (node as { range?: [number, number, number] | null } | null)?.range;
    return { source: this.#source, start: range?.[0] ?? fallback, end: range?.[1] ?? fallback };
  }

  #null(at: number): Built {
    const span = { source: this.#source, start: at, end: at };
    return { node: { kind: 'scalar', span, style: 'plain', value: null, text: '' }, size: 1 };
  }

  #build(node: unknown, depth: number, at: number): Built {
    if (isAlias(node)) return this.#alias(node);
    if (isNode(node) && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) {
      const built = { node: this.#fitting(node.tag, this.#scalar(node, at)), size: 1 };
      if (node.anchor !== undefined) this.#built.set(node, built);
      return built;
    }
    if (!isMap(node) && !isSeq(node)) return this.#null(at);
    const span = this.#span(node, at);
    if (depth > maxDepth) {
      this.#say(tooLarge, span.start, `the file has more than ${maxDepth} levels of nesting`);
      return this.#null(at);
    }
    const built = isMap(node) ? this.#map(node, span, depth) : this.#list(node.items, span, depth);
    this.#fitting(node.tag, built.node);
    this.#built.set(node, built);
    return built;
  }

  #alias(alias: Alias): Built {
    const { start } = this.#span(alias, 0);
    const target = this.#anchors.get(alias.source);
    const built = target === undefined ? undefined : this.#built.get(target);
    if (built !== undefined) return built;
    const isInside = target !== undefined;
    const { sentence, fix } = isInside
      ? innerAlias(alias.source)
      : unknownAlias(alias.source, this.#anchors.keys(), this.#source.text);
    this.#say('CONFIG_YAML', start, sentence, fix);
    return this.#null(start);
  }

  #scalar(scalar: Scalar, at: number): TreeNode {
    const style = styles[scalar.type ?? 'PLAIN'] ?? 'plain';
    const text = typeof scalar.value === 'string' ? scalar.value : '';
    const { tag } = scalar;
    const isText = tag === textTag || (style !== 'plain' && !isOfScalar(tag));
    const value = isText ? text : plainScalar(text);
    return { kind: 'scalar', span: this.#span(scalar, at), style, text, value: isUnresolved(tag) ? null : value };
  }

  /** A value that is not what its tag says counts as absent. */
  #fitting(tag: string | undefined, node: TreeNode): TreeNode {
    const of = misfit(tag, node);
    if (of === undefined) return node;
    this.#faults.push(of);
    return node.kind === 'scalar' ? { ...node, value: null } : node;
  }

  #list(items: readonly unknown[], span: Span, depth: number): Built {
    const built = items.map((item) => this.#build(item, depth + 1, span.start));
    const size = built.reduce((sum, item) => sum + item.size, 1);
    return { node: { kind: 'list', span, items: built.map((item) => item.node) }, size };
  }

  #map(map: YAMLMap, span: Span, depth: number): Built {
    const own = new Map<string, MapEntry>();
    const merged: MapNode[] = [];
    let size = 1;
    for (const pair of map.items) {
      const key = this.#span(pair.key, span.start);
      const before = this.#faults.length;
      const value = this.#build(pair.value, depth + 1, key.end);
      size += value.size;
      // A faulty alias was reported already and has no map to merge.
      const isTold = isAlias(pair.value) && this.#faults.length > before;
      if (isMergeKey(pair)) merged.push(...(isTold ? [] : this.#merged(value.node)));
      else this.#entry(own, pair, key, value.node);
    }
    const entries = new Map(own);
    // Own keys win over merged keys, and the earlier of two merged maps wins over the later.
    for (const { entries: more } of merged) {
      for (const [name, entry] of more) if (!entries.has(name)) entries.set(name, entry);
    }
    return { node: { kind: 'map', span, entries }, size };
  }

  #entry(own: Map<string, MapEntry>, pair: Pair, key: Span, node: TreeNode): void {
    const isWord = isScalar(pair.key) || isAlias(pair.key);
    const before = this.#faults.length;
    const built = this.#build(isWord ? pair.key : null, 0, key.start).node;
    if (built.kind !== 'scalar' || built.value === null) {
      const isTold = this.#faults.length > before || (isScalar(pair.key) && isUnresolved(pair.key.tag));
      if (isTold) return;
      const isTemplate = this.#source.text.startsWith('{{', key.start - 1);
      this.#hasTemplate ||= isTemplate;
      const [found, fix] = isTemplate ? ['a template', 'render the template first'] : ['not a text', ''];
      this.#say('CONFIG_YAML', key.start, `a key must be a plain text, but this key is ${found}`, fix);
      return;
    }
    const name = String(built.value);
    if (built.style === 'plain' && /^\s/.test(name)) {
      const sentence = 'the line begins with a special space character, as copied from a web page';
      this.#say('CONFIG_YAML', key.start, sentence, 'indent with plain spaces');
      return;
    }
    const first = own.get(name);
    if (first === undefined) {
      own.set(name, { key, written: built.text, node });
      return;
    }
    const line = this.#source.positionAt(first.key.start).line;
    const sentence = `this map has the key ${quoted(built.text)} twice (first in line ${line})`;
    this.#say(duplicateKey, key.start, sentence, 'remove one of the two');
  }

  #merged(node: TreeNode): MapNode[] {
    const items = node.kind === 'list' ? node.items : [node];
    const maps = items.filter((item) => item.kind === 'map');
    if (maps.length < items.length) {
      const sentence = 'the merge key << takes a map or a list of maps';
      this.#say('CONFIG_YAML', node.span.start, sentence, 'write the alias of a map: <<: *name');
    }
    // A chain of maps that merge each other costs quadratic time, so merged entries count towards a limit.
    this.#mergedEntries += maps.reduce((sum, map) => sum + map.entries.size, 0);
    return this.#mergedEntries > maxNodes ? [] : maps;
  }
}

const styles: Record<string, ScalarStyle> = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'single',
  QUOTE_DOUBLE: 'double',
  BLOCK_LITERAL: 'literal',
  BLOCK_FOLDED: 'folded',
};

function isMergeKey(pair: Pair): boolean {
  return isScalar(pair.key) && pair.key.value === '<<' && pair.key.type === 'PLAIN';
}
