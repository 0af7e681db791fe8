// One YAML text to one tree, or to its faults: duplicate keys and runaway aliases are faults, merge keys work, and nothing
// that a text says can make it throw.
import { type Alias, isAlias, isMap, isNode, isScalar, isSeq, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { type Fault, fault, quoted } from '../fault.ts';
import type { Steps } from '../steps.ts';
import type { SourceText } from './source-text.ts';
import type { MapEntry, MapNode, ScalarStyle, Span, TreeNode } from './tree.ts';
import { plainScalar } from './yaml-scalar.ts';
import { readSyntax } from './yaml-syntax.ts';

/** Configurations are ten deep; the reader recurses. */
const maxDepth = 100;
/** What aliases may blow a text up to: twice what the token limit allows without them. */
const maxNodes = 100_000;

const duplicateKey = 'CONFIG_DUPLICATE_KEY';

export type Parsed =
  | { kind: 'tree'; root: MapNode }
  /** With a root, what else is wrong in the text can still be told; it is not to be used for anything else. */
  | { kind: 'faults'; faults: Fault[]; root?: MapNode };

export function* parseYaml(source: SourceText): Steps<Parsed> {
  try {
    const syntax = yield* readSyntax(source);
    if (syntax.kind === 'faults') return syntax;
    return new Builder(source).document(syntax.contents);
  } catch (cause) {
    // The parser recurses on nesting; whatever else it throws would be a bug in it that must not take the daemon down.
    const isDeep = cause instanceof RangeError;
    const sentence = isDeep ? 'the nesting is too deep' : `the file cannot be read as YAML: ${quoted(String(cause))}`;
    return { kind: 'faults', faults: [fault({ code: 'CONFIG_YAML', at: { file: source.name }, sentence })] };
  }
}

interface Built {
  node: TreeNode;
  /** Nodes below and with this one, aliases counted as often as they are used. */
  size: number;
}

class Builder {
  readonly #source: SourceText;
  /** In the order of the text, so that an alias finds the anchor that stands before it. */
  readonly #anchors = new Map<string, object>();
  readonly #built = new Map<object, Built>();
  readonly #faults: Fault[] = [];
  #mergedEntries = 0;

  constructor(source: SourceText) {
    this.#source = source;
  }

  document(contents: unknown): Parsed {
    const { node, size } = this.#build(contents, 0, 0);
    const start = node.span.start;
    if (Math.max(size, this.#mergedEntries) > maxNodes) {
      this.#say('CONFIG_YAML_TOO_LARGE', start, `there are more than ${maxNodes} values, aliases counted in full`);
    } else if (node.kind === 'scalar' && node.value === null) {
      const fix = 'write {} if every setting shall have its default';
      this.#say('CONFIG_FILE_EMPTY', undefined, 'the file is empty', fix);
    } else if (node.kind !== 'map') {
      const found = node.kind === 'list' ? 'a list' : quoted(node.text);
      this.#say('CONFIG_WRONG_TYPE', start, `wanted a map of settings at the top of the file, found ${found}`);
    }
    const faults = this.#faults;
    if (faults.length === 0 && node.kind === 'map') return { kind: 'tree', root: node };
    // Whatever else is left out of the tree would be missed in it.
    const isWhole = faults.every(({ code }) => code === duplicateKey);
    return isWhole && node.kind === 'map' ? { kind: 'faults', faults, root: node } : { kind: 'faults', faults };
  }

  #say(code: string, offset: number | undefined, sentence: string, fix = ''): void {
    const at = offset === undefined ? { file: this.#source.name } : this.#source.positionAt(offset);
    this.#faults.push(fault({ code, at, sentence, fix }));
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
      const built = { node: this.#scalar(node, at), size: 1 };
      if (node.anchor !== undefined) this.#built.set(node, built);
      return built;
    }
    if (!isMap(node) && !isSeq(node)) return this.#null(at);
    const span = this.#span(node, at);
    if (depth > maxDepth) {
      this.#say('CONFIG_YAML_TOO_LARGE', span.start, `there are more than ${maxDepth} levels of nesting`);
      return this.#null(at);
    }
    const built = isMap(node) ? this.#map(node, span, depth) : this.#list(node.items, span, depth);
    this.#built.set(node, built);
    return built;
  }

  #alias(alias: Alias): Built {
    const { start } = this.#span(alias, 0);
    const target = this.#anchors.get(alias.source);
    const built = target === undefined ? undefined : this.#built.get(target);
    if (built !== undefined) return built;
    const name = shownName(alias.source);
    const isInside = target !== undefined;
    const sentence = isInside
      ? `the alias *${name} stands within its own value`
      : `no anchor &${name} stands before the alias`;
    this.#say('CONFIG_YAML', start, sentence);
    return this.#null(start);
  }

  #scalar(scalar: Scalar, at: number): TreeNode {
    const style = styles[scalar.type ?? 'PLAIN'] ?? 'plain';
    const text = typeof scalar.value === 'string' ? scalar.value : '';
    const isText = style !== 'plain' || scalar.tag === 'tag:yaml.org,2002:str';
    return { kind: 'scalar', span: this.#span(scalar, at), style, text, value: isText ? text : plainScalar(text) };
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
      // An alias that leads nowhere has been told, and merges nothing.
      const isTold = isAlias(pair.value) && this.#faults.length > before;
      if (isMergeKey(pair)) merged.push(...(isTold ? [] : this.#merged(value.node)));
      else this.#entry(own, pair, key, value.node);
    }
    const entries = new Map(own);
    // What stands in the map itself wins over what is merged in, and the earlier of two merged maps over the later.
    for (const { entries: more } of merged) {
      for (const [name, entry] of more) if (!entries.has(name)) entries.set(name, entry);
    }
    return { node: { kind: 'map', span, entries }, size };
  }

  #entry(own: Map<string, MapEntry>, pair: Pair, key: Span, node: TreeNode): void {
    const isWord = isScalar(pair.key) || isAlias(pair.key);
    const built = this.#build(isWord ? pair.key : null, 0, key.start).node;
    if (built.kind !== 'scalar' || built.value === null) {
      const isTemplate = this.#source.text.startsWith('{{', key.start - 1);
      const [what, fix] = isTemplate ? ['a template', 'render it first'] : ['no text', ''];
      this.#say('CONFIG_YAML', key.start, `keys are plain words, and this one is ${what}`, fix);
      return;
    }
    const name = String(built.value);
    if (built.style === 'plain' && /^\s/.test(name)) {
      const sentence = 'the line begins with a space of another kind, as web pages have them';
      this.#say('CONFIG_YAML', key.start, sentence, 'indent with plain spaces');
      return;
    }
    const before = own.get(name);
    if (before === undefined) {
      own.set(name, { key, written: built.text, node });
      return;
    }
    const line = this.#source.positionAt(before.key.start).line;
    const sentence = `${quoted(built.text)} stands in this map a second time (first in line ${line})`;
    this.#say(duplicateKey, key.start, sentence, 'remove one');
  }

  #merged(node: TreeNode): MapNode[] {
    const items = node.kind === 'list' ? node.items : [node];
    const maps = items.filter((item) => item.kind === 'map');
    if (maps.length < items.length) {
      const sentence = 'the merge key << takes a map or a list of maps';
      this.#say('CONFIG_YAML', node.span.start, sentence);
    }
    // Maps that merge maps that merge maps cost the square of their number.
    this.#mergedEntries += maps.reduce((sum, map) => sum + map.entries.size, 0);
    return this.#mergedEntries > maxNodes ? [] : maps;
  }
}

/** Anchors can be as long as the file. */
function shownName(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
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
