// One YAML text to one tree, or to its faults. Bounded before anything is built, duplicate keys and runaway aliases are
// faults, merge keys work, and nothing that a text says can make it throw.
import {
  type Alias,
  CST,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { type Fault, fault, quoted } from './fault.ts';
import type { SourceText } from './source-text.ts';
import type { MapEntry, MapNode, ScalarStyle, Span, TreeNode } from './tree.ts';
import { plainScalar } from './yaml-scalar.ts';

/** About six thousand patch entries, read in a quarter of a second; the daemon is not to stall on a reload. */
export const maxTokens = 100_000;
/** Configurations are ten deep; the reader recurses. */
const maxDepth = 100;
/** What aliases may blow a text up to: twice what the token limit allows without them. */
const maxNodes = 200_000;
/** One slip makes the parser stumble over everything behind it; the first places are the ones that help. */
const maxSyntaxFaults = 5;

export type Parsed = { kind: 'tree'; root: MapNode } | { kind: 'faults'; faults: Fault[] };

export function parseYaml(source: SourceText): Parsed {
  const tooMany = tokenFault(source);
  if (tooMany !== undefined) return { kind: 'faults', faults: [tooMany] };
  try {
    // Without a schema every scalar stays a text: yaml-scalar.ts reads them as vCluster's parser does. The parser's own
    // check for duplicate keys takes quadratic time, so it is ours too.
    const document = parseDocument(source.text, {
      schema: 'failsafe',
      version: '1.1',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
    });
    if (document.errors.length > 0) return { kind: 'faults', faults: syntaxFaults(source, document.errors) };
    return new Builder(source).document(document.contents);
  } catch (cause) {
    // The parser recurses on nesting; whatever else it throws would be a bug in it that must not take the daemon down.
    const found = cause instanceof RangeError ? 'nesting that is too deep' : quoted(String(cause));
    return {
      kind: 'faults',
      faults: [fault({ code: 'CONFIG_YAML', at: { file: source.name }, found, wanted: 'YAML' })],
    };
  }
}

/** The lexer marks documents, flow ends and scalars with characters that are not in the text. */
const lexerMarks = new Set<string>([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

function tokenFault(source: SourceText): Fault | undefined {
  let count = 0;
  let offset = 0;
  for (const token of new Lexer().lex(source.text)) {
    if (!lexerMarks.has(token)) offset += token.length;
    if (++count > maxTokens) {
      const at = source.positionAt(Math.min(offset, source.text.length));
      const wanted = `${maxTokens} YAML tokens at most`;
      return fault({ code: 'CONFIG_YAML_TOO_LARGE', at, found: 'more', wanted, fix: 'split the file' });
    }
  }
  return undefined;
}

const syntaxFixes: Record<string, string> = {
  TAB_AS_INDENT: 'indent with spaces',
  BLOCK_AS_IMPLICIT_KEY: 'put a value that holds ": " in quotes, or mend the indentation',
  BAD_SCALAR_START: 'put the value in quotes',
  MULTILINE_IMPLICIT_KEY: 'mend the indentation',
  UNEXPECTED_TOKEN: 'put the whole value in quotes, or mend the indentation',
};

interface SyntaxError {
  code: string;
  pos: [number, number];
  message: string;
}

function syntaxFaults(source: SourceText, errors: readonly SyntaxError[]): Fault[] {
  const byLine = new Map<number | undefined, Fault>();
  for (const error of errors) {
    const of = syntaxFault(source, error);
    if (!byLine.has(of.line)) byLine.set(of.line, of);
    if (byLine.size >= maxSyntaxFaults) break;
  }
  return [...byLine.values()];
}

function syntaxFault(source: SourceText, error: SyntaxError): Fault {
  if (error.code === 'MULTIPLE_DOCS') {
    const at = source.positionAt(error.pos[0]);
    const fix = 'put the second one into a file of its own and give --config twice';
    return fault({ code: 'CONFIG_SEVERAL_DOCUMENTS', at, found: 'a second one', wanted: 'one YAML document', fix });
  }
  const isOpenQuote = error.code === 'MISSING_CHAR' && error.message.includes('quote');
  if (isOpenQuote) {
    const at = source.positionAt(openQuote(source.text, error.pos[0]));
    return fault({ code: 'CONFIG_YAML', at, found: 'a quote that is never closed', wanted: 'YAML' });
  }
  const at = source.positionAt(error.pos[0]);
  const found = `a mistake (${error.message.charAt(0).toLowerCase()}${error.message.slice(1)})`;
  return fault({ code: 'CONFIG_YAML', at, found, wanted: 'YAML', fix: syntaxFixes[error.code] ?? '' });
}

/** The parser names the end of the text; the beginning is where the mistake is. */
function openQuote(text: string, end: number): number {
  let offset = 0;
  let found = end;
  for (const token of new Lexer().lex(text)) {
    if (offset > end) break;
    if (/^["']/.test(token)) found = offset;
    if (!lexerMarks.has(token)) offset += token.length;
  }
  return found;
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
      this.#refuse('CONFIG_YAML_TOO_LARGE', start, 'more', `${maxNodes} values at most, aliases counted in full`);
    } else if (node.kind === 'scalar' && node.value === null) {
      const fix = 'write {} if every setting shall have its default';
      this.#refuse('CONFIG_FILE_EMPTY', undefined, 'an empty file', 'settings', fix);
    } else if (node.kind !== 'map') {
      const found = node.kind === 'list' ? 'a list' : quoted(node.text);
      this.#refuse('CONFIG_WRONG_TYPE', start, found, 'a map of settings at the top of the file');
    }
    if (this.#faults.length > 0 || node.kind !== 'map') return { kind: 'faults', faults: this.#faults };
    return { kind: 'tree', root: node };
  }

  #refuse(code: string, offset: number | undefined, found: string, wanted: string, fix = ''): void {
    const at = offset === undefined ? { file: this.#source.name } : this.#source.positionAt(offset);
    this.#faults.push(fault({ code, at, found, wanted, fix }));
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
      this.#refuse('CONFIG_YAML_TOO_LARGE', span.start, 'more', `${maxDepth} levels of nesting at most`);
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
    const found = target === undefined ? 'no anchor of that name' : 'an alias within its own value';
    this.#refuse('CONFIG_YAML', start, found, `an anchor &${alias.source} before the alias`);
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
      const value = this.#build(pair.value, depth + 1, key.end);
      size += value.size;
      if (isMergeKey(pair)) merged.push(...this.#merged(value.node));
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
      this.#refuse('CONFIG_YAML', key.start, 'a key that is no text', 'keys that are plain words');
      return;
    }
    const name = String(built.value);
    const before = own.get(name);
    if (before === undefined) {
      own.set(name, { key, written: built.text, node });
      return;
    }
    const line = this.#source.positionAt(before.key.start).line;
    const found = `${quoted(built.text)} a second time`;
    this.#refuse(
      'CONFIG_DUPLICATE_KEY',
      key.start,
      found,
      `each key once in a map (first in line ${line})`,
      'remove one',
    );
  }

  #merged(node: TreeNode): MapNode[] {
    const items = node.kind === 'list' ? node.items : [node];
    const maps = items.filter((item) => item.kind === 'map');
    if (maps.length < items.length) {
      this.#refuse(
        'CONFIG_YAML',
        node.span.start,
        'something else',
        'a map, or a list of maps, behind the merge key <<',
      );
    }
    // Maps that merge maps that merge maps cost the square of their number.
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
