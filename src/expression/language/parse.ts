// Parses exactly one JavaScript expression up to the end of its text. The code is printed from the tree, so the tree must
// contain the whole text. For a program with statements, the fault shows the equivalent expression.
import { type Expression, type Options, Parser, type Program, parse, type TokenType, tokTypes } from 'acorn';
import { inQuotes } from '../../object/text/in-quotes.ts';
import { expressionLimits } from '../limits.ts';
import { type ExpressionFault, placeOf, shown } from './expression-fault.ts';

export type ParsedExpression = { kind: 'ok'; tree: Expression } | { kind: 'fault'; fault: ExpressionFault };

/** A module is strict and reserves await, yield and let. With a fixed year, a new acorn allows no new syntax. */
const options: Options = { ecmaVersion: 2025, sourceType: 'module', allowHashBang: false };

/** The members of acorn's parser that its types omit. */
interface ParserMembers {
  nextToken(): void;
  parseExpression(): Expression;
  unexpected(): never;
  type: TokenType;
}

class OneExpression extends Parser {
  static read(source: string): Expression {
    const reading = new OneExpression(options, source) as unknown as ParserMembers;
    reading.nextToken();
    const tree = reading.parseExpression();
    // parseExpressionAt() would accept any text after the expression.
    if (reading.type !== tokTypes.eof) reading.unexpected();
    return tree;
  }
}

export function parseExpression(source: string): ParsedExpression {
  if (source.trim() === '') return empty(source);
  if (source.length > expressionLimits.maxChars) {
    const message = `expression has ${source.length} characters, wanted at most ${expressionLimits.maxChars}`;
    return fault(source, expressionLimits.maxChars, message, 'split it into several patches');
  }
  try {
    return { kind: 'ok', tree: OneExpression.read(source) };
  } catch (thrown) {
    return explain(source, thrown);
  }
}

function explain(source: string, thrown: unknown): ParsedExpression {
  // acorn may also report the full stack as a SyntaxError. A second parse as a program would fill the stack again.
  if (thrown instanceof RangeError || (thrown instanceof SyntaxError && /stack space/.test(thrown.message)))
    return fault(source, 0, 'expression is nested too deeply', 'split it into several patches');
  const program = programOf(source);
  if (program !== undefined) {
    const [first, second] = program.body;
    if (first === undefined) return empty(source);
    const isTerminated = second === undefined && first?.type === 'ExpressionStatement';
    const message = isTerminated
      ? 'a semicolon ends a statement'
      : second === undefined
        ? 'this is a statement'
        : 'these are several statements';
    const at = isTerminated ? first.end - 1 : (second ?? first).start;
    return fault(source, at, `${message}, and a patch takes one expression`, rewriteOf(source, program));
  }
  if (!(thrown instanceof SyntaxError)) throw thrown;
  const at = 'pos' in thrown && typeof thrown.pos === 'number' ? thrown.pos : 0;
  const found = at >= source.trimEnd().length ? 'the end' : inQuotes(shown(source.slice(at, at + 12)));
  const said = thrown.message.replace(/ \(\d+:\d+\)$/, '');
  const unexpected = found === 'the end' ? 'it ends too early' : `unexpected ${found}`;
  return fault(source, at, plainWords(said) ?? notAsWritten(said, { unexpected, found }), fixAt(source, at, said));
}

function notAsWritten(said: string, { unexpected, found }: { unexpected: string; found: string }): string {
  if (said !== 'Unexpected token') return `this is not JavaScript: ${said.toLowerCase()} at ${found}`;
  return unexpected === 'it ends too early' ? 'the expression ends too early' : `${unexpected} in the expression`;
}

/** Plain words for the parser's messages about unclosed texts and comments. */
function plainWords(said: string): string | undefined {
  const of = /^Unterminated (string|template|regular expression|comment)/.exec(said)?.[1];
  if (of === undefined) return undefined;
  return `the ${of === 'template' ? 'text between backticks' : of} is not closed`;
}

/** The distance from the full-width characters of East Asian keyboards to ASCII. */
const fullWidth = 0xfee0;

/** The fix for characters of word processors and for habits from other languages. */
function fixAt(source: string, at: number, said: string): string {
  if (/[‘’“”„«»]/.test(source.charAt(at))) return 'write plain quotes: " or \'';
  if (/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]/.test(source.charAt(at)))
    return `remove the invisible character U+${source.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')}`;
  if (/[\uff01-\uff5e]/.test(source.charAt(at)))
    return `write "${String.fromCharCode(source.charCodeAt(at) - fullWidth)}", the ASCII character`;
  if (/^Unterminated (?:string|template)/.test(said))
    return 'close the quote; if YAML took " #" for a comment, put the whole expression in quotes';
  if (/\$\{/.test(source) && !source.includes('`')) return `write the text between backticks: \`${shown(source)}\``;
  const word = /^\w+/.exec(source.slice(at))?.[0] ?? '';
  const operator = operatorsInWords.get(word);
  if (operator !== undefined) return `write ${operator} instead of ${word}`;
  if (said === 'Unexpected token' && at >= source.trimEnd().length) {
    const missing = closingOf(source);
    return missing === '' ? 'complete the expression' : `add ${missing}`;
  }
  return 'write one JavaScript expression';
}

/** Operators of other configuration languages. */
const operatorsInWords: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
]);

const closers = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

/** The closing brackets that are missing at the end. Brackets inside texts do not count. */
function closingOf(source: string): string {
  const open: string[] = [];
  let quote = '';
  for (let at = 0; at < source.length; at++) {
    const one = source.charAt(at);
    const closer = closers.get(one);
    if (quote !== '') {
      if (one === '\\') at++;
      else if (one === quote) quote = '';
    } else if (/["'`]/.test(one)) quote = one;
    else if (closer !== undefined) open.push(closer);
    else if (one === open.at(-1)) open.pop();
  }
  return shown(open.reverse().join(''));
}

/** Parses in strict mode like the expression, because a sloppy script has no equivalent expression. */
function programOf(source: string): Program | undefined {
  try {
    return parse(source, { ...options, allowReturnOutsideFunction: true });
  } catch {
    return undefined;
  }
}

/** vCluster runs a script and takes the value of its last statement; this fix shows the equivalent expression. */
function rewriteOf(source: string, program: Program): string {
  const texts = program.body.map((statement) =>
    source.slice(statement.start, statement.end).replace(/;\s*$/, '').trim(),
  );
  // A name that nobody has declared can be given a value only where it is declared.
  const declared = new Set<string>();
  for (const [at, statement] of program.body.entries()) {
    const name = assignedName(statement);
    if (name === undefined || declared.has(name)) continue;
    declared.add(name);
    texts[at] = `let ${texts[at]}`;
  }
  if (declared.size === 0 && program.body.every((statement) => statement.type === 'ExpressionStatement')) {
    return texts.length === 1 ? `write ${texts[0]}` : `write (${texts.join(', ')})`;
  }
  const last = program.body.at(-1);
  const result = texts.pop() ?? '';
  if (last?.type === 'ReturnStatement') return `write (() => { ${[...texts, result].join('; ')} })()`;
  if (last?.type === 'ExpressionStatement') return `write (() => { ${[...texts, `return ${result}`].join('; ')} })()`;
  return 'write a condition as `test ? one : other`, or wrap statements as `(() => { …; return result })()`';
}

/** Of a plain assignment to a name that is not one of ours. */
function assignedName(statement: Program['body'][number]): string | undefined {
  if (statement.type !== 'ExpressionStatement') return undefined;
  const { expression } = statement;
  if (expression.type !== 'AssignmentExpression' || expression.operator !== '=') return undefined;
  return expression.left.type === 'Identifier' && expression.left.name !== 'value' ? expression.left.name : undefined;
}

function empty(source: string): ParsedExpression {
  // In YAML, ">" joins all lines, so a comment extends to the end.
  if (source.trim() !== '')
    return fault(source, 0, 'the expression holds only a comment', 'write /* … */, or "|" instead of ">" in YAML');
  return fault(source, 0, 'expression is empty', 'write the new value, or remove the entry');
}

function fault(source: string, index: number, message: string, fix: string): ParsedExpression {
  return { kind: 'fault', fault: { kind: 'syntax', ...placeOf(source, index), message, fix } };
}
