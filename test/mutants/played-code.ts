// What a fault was played on: the code that it stands in, and the test that noticed it, as a parser sees them. Neighbours, comments, blanks and types are
// left out: an edit there says nothing of the fault, and would only ask for hours of playing again.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { type Node, parse, type Token } from 'acorn';
import type { Mutant } from './mutant.ts';

type Any = Node & Record<string, unknown>;

/** What a fault is played on, as a short text that is the same as long as the fault and its test are. */
export function playedOn(root: string, mutant: Pick<Mutant, 'file' | 'plant'>, by: string | undefined): string {
  const hash = createHash('sha256').update(codeAround(textIn(root, mutant.file), mutant.plant));
  const suite = suiteIn(by);
  if (suite !== undefined) hash.update(testIn(textIn(root, suite), by as string));
  return hash.digest('hex').slice(0, 16);
}

/** The suite of a line such as "test/a.test.ts: it holds". */
export function suiteIn(by: string | undefined): string | undefined {
  return /^(test\/[^:]+\.test\.ts): /.exec(by ?? '')?.[1];
}

/** The member of a class, or else the statement of the file, in which a fault is planted. */
export function codeAround(text: string, plant: Mutant['plant']): string {
  let bad: string;
  try {
    bad = plant(text);
  } catch {
    return 'its place is gone';
  }
  let start = 0;
  while (start < text.length && text[start] === bad[start]) start++;
  let same = 0;
  while (same < Math.min(text.length, bad.length) - start && text.at(-1 - same) === bad.at(-1 - same)) same++;
  const end = text.length - same;
  const read = parsed(text);
  if (read === undefined) return text;
  const statement = holding(read.tree['body'] as Any[], start, end);
  const body = classBodyOf(statement);
  return tokensOf(read, (body && holding(body, start, end)) ?? statement ?? read.tree);
}

/** The test of that name; the whole suite when it stands somewhere else, such as in a contract. */
export function testIn(text: string, by: string): string {
  const read = parsed(text);
  if (read === undefined) return text;
  const found: { title: string; node: Any }[] = [];
  visit(read.tree, (node) => {
    const title = titleOf(node);
    if (title !== undefined && endsWithTitle(by, title)) found.push({ title, node });
  });
  const [longest] = found.toSorted((one, other) => other.title.length - one.title.length);
  return tokensOf(read, longest?.node ?? read.tree);
}

function textIn(root: string, file: string): string {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

interface Read {
  code: string;
  tree: Any;
  tokens: readonly Token[];
}

function parsed(text: string): Read | undefined {
  const tokens: Token[] = [];
  try {
    const code = stripTypeScriptTypes(text, { mode: 'strip' });
    const tree = parse(code, { ecmaVersion: 'latest', sourceType: 'module', onToken: tokens });
    return { code, tree: tree as unknown as Any, tokens };
  } catch {
    return undefined;
  }
}

function tokensOf({ code, tokens }: Read, { start, end }: Node): string {
  const inside = tokens.filter((token) => token.start >= start && token.end <= end);
  return inside.map((token) => code.slice(token.start, token.end)).join('\n');
}

function holding(nodes: readonly Any[], start: number, end: number): Any | undefined {
  return nodes.find((node) => node.start <= start && end <= node.end);
}

function classBodyOf(statement: Any | undefined): Any[] | undefined {
  const declared = (statement?.['declaration'] ?? statement) as Any | undefined;
  return declared?.type === 'ClassDeclaration' ? ((declared['body'] as Any)['body'] as Any[]) : undefined;
}

/** Of `it('title', …)` and its relatives. */
function titleOf(node: Any): string | undefined {
  if (node.type !== 'CallExpression') return undefined;
  let callee = node['callee'] as Any;
  while (callee.type !== 'Identifier') {
    const inner = (callee['object'] ?? callee['callee'] ?? callee['tag']) as Any | undefined;
    if (inner === undefined) return undefined;
    callee = inner;
  }
  const [first] = node['arguments'] as Any[];
  if (!/^(it|test)$/.test(callee['name'] as string) || first?.type !== 'Literal') return undefined;
  return typeof first['value'] === 'string' ? first['value'] : undefined;
}

/** A title for a table has places for the values of its rows. */
function endsWithTitle(by: string, title: string): boolean {
  const parts = title.split(/%[a-zA-Z#]|\$[\w.]+/).map((part) => part.replace(/[^\w\s]/g, '\\$&'));
  return new RegExp(`[: ]${parts.join('.*')}$`, 's').test(by);
}

function visit(node: Any, look: (node: Any) => void): void {
  look(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (child !== null && typeof child === 'object' && typeof (child as Any).type === 'string')
        visit(child as Any, look);
}
