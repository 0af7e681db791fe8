// Faults by rule: every comparison, early return, limit and precondition of a file, turned into what somebody might have written by mistake. Types are
// blanked out first, so that a parser of JavaScript sees the file with each character where it is.
import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';
import type { Mutant, MutatedRoom } from './mutant.ts';

interface Change {
  rule: string;
  start: number;
  end: number;
  text: string;
}

type Any = Node & Record<string, unknown>;

const otherOperators: Readonly<Record<string, string>> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===', '&&': '||', '||': '&&', '??': '&&' },
};

/** The faults that the rules make of a file. */
export function faultsOf(file: string, text: string, room: MutatedRoom): Mutant[] {
  const code = stripTypeScriptTypes(text, { mode: 'strip' });
  const tree = parse(code, { ecmaVersion: 'latest', sourceType: 'module' }) as unknown as Any;
  const changes: Change[] = [];
  walk(tree, undefined, (node, parent) => changes.push(...changesAt(node, parent, code)));
  const names = new Map<string, number>();
  return changes
    .toSorted((one, other) => one.start - other.start)
    .map(({ rule, start, end, text: replacement }) => {
      const told = `${file}: ${rule} in ${excerpt(text, start)}`;
      const nth = (names.get(told) ?? 0) + 1;
      names.set(told, nth);
      return {
        name: nth === 1 ? told : `${told} (${nth})`,
        room,
        file,
        plant: (present) => present.slice(0, start) + replacement + present.slice(end),
      };
    });
}

function changesAt(node: Any, parent: Any | undefined, code: string): Change[] {
  const { start, end } = node;
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const operator = node['operator'] as string;
      const other = otherOperators[operator];
      if (other === undefined) return [];
      const from = (node['left'] as Any).end;
      const at = code.indexOf(operator, from);
      // Comments may be between; an operator that is not where it is looked for is left alone.
      if (at < 0 || at > (node['right'] as Any).start) return [];
      // Without their parentheses the two could not stand beside each other.
      const mixes =
        operator === '??' ||
        [node['left'], node['right'], parent].some((one) => (one as Any | undefined)?.['operator'] === '??');
      if (mixes && node.type === 'LogicalExpression') return [];
      return [{ rule: `"${operator}" becomes "${other}"`, start: at, end: at + operator.length, text: other }];
    }
    case 'IfStatement': {
      const then = node['consequent'] as Any;
      const only = then.type === 'BlockStatement' ? ((then['body'] as Any[]).at(-1) as Any | undefined) : then;
      if (node['alternate'] !== null) return [];
      if (only?.type === 'ThrowStatement') return [{ rule: 'no throw', start, end, text: ';' }];
      if (only?.type === 'ReturnStatement') return [{ rule: 'no early return', start, end, text: ';' }];
      if (only?.type === 'ContinueStatement') return [{ rule: 'no continue', start, end, text: ';' }];
      return [];
    }
    case 'ConditionalExpression': {
      const [test, first, second] = [node['test'], node['consequent'], node['alternate']] as [Any, Any, Any];
      const part = (one: Any) => code.slice(one.start, one.end);
      // The texts of both sides may have lost their types; a type is nothing at run time.
      return [
        { rule: 'the other of two', start: test.start, end, text: `${part(test)} ? ${part(second)} : ${part(first)}` },
      ];
    }
    case 'UnaryExpression':
      if (node['operator'] !== '!') return [];
      return [{ rule: 'no "!"', start, end: start + 1, text: '' }];
    case 'VariableDeclarator': {
      // A limit of the house: a number with a name at the top of a file.
      const init = node['init'] as Any | null;
      const isTop = parent?.['isTop'] === true;
      if (!isTop || init === null || !isNumber(init) || !isLimit((node['id'] as Any)['name'])) return [];
      return [
        {
          rule: 'a thousand times the limit',
          start: init.start,
          end: init.end,
          text: `1000 * (${code.slice(init.start, init.end)})`,
        },
      ];
    }
    case 'Property': {
      const name = (node['key'] as Any)['name'];
      if (!['preconditions', 'resourceVersion', 'uid', 'expect'].includes(name as string)) return [];
      if (parent?.type !== 'ObjectExpression') return [];
      return [{ rule: `no ${name}`, start, end, text: `${name}: undefined` }];
    }
    default:
      return [];
  }
}

/** True for the names that limits have in this project. Other numbers are mostly fixed by formats and protocols. */
function isLimit(name: unknown): boolean {
  return typeof name === 'string' && /max|most|limit|longest|largest|attempts|Ms$|Bytes$|Seconds$/i.test(name);
}

function isNumber(node: Any): boolean {
  if (node.type === 'Literal') return typeof node['value'] === 'number';
  return node.type === 'BinaryExpression' && isNumber(node['left'] as Any) && isNumber(node['right'] as Any);
}

function walk(node: Any, parent: Any | undefined, visit: (node: Any, parent: Any | undefined) => void): void {
  visit(node, parent);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child === null || typeof child !== 'object' || typeof (child as Any).type !== 'string') continue;
      const next = child as Any;
      if (next.type === 'VariableDeclaration' && (node.type === 'Program' || node.type === 'ExportNamedDeclaration'))
        next['isTop'] = node.type === 'Program' || parent?.type === 'Program';
      walk(next, node, visit);
    }
  }
}

const longestExcerpt = 90;

/** The line where it is, without what moves when lines are added elsewhere. */
function excerpt(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at) + 1;
  const to = text.indexOf('\n', at);
  const line = text.slice(from, to < 0 ? undefined : to).trim();
  const short = line.length <= longestExcerpt ? line : `${line.slice(0, longestExcerpt)}…`;
  return `${JSON.stringify(short)} at ${at - from}`;
}
