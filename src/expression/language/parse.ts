// Reads one ECMAScript expression to the very end of its text. Not two, not a statement, nothing behind it: code is made
// from the tree, and the tree must be all there is. A program gets the fault with the expression it should have been.
import { type Expression, type Options, Parser, type Program, parse, type TokenType, tokTypes } from 'acorn';
import { expressionLimits } from '../limits.ts';
import { type ExpressionFault, placeOf, shown } from './expression-fault.ts';

export type Parsed = { kind: 'ok'; tree: Expression } | { kind: 'fault'; fault: ExpressionFault };

/** Module: strict, and await, yield and let are reserved. A fixed year, so that a new acorn does not widen the gate. */
const options: Options = { ecmaVersion: 2022, sourceType: 'module' };

/** The part of acorn's parser that its types leave out. */
interface Reading {
  nextToken(): void;
  parseExpression(): Expression;
  unexpected(): never;
  type: TokenType;
}

class OneExpression extends Parser {
  static read(source: string): Expression {
    const reading = new OneExpression(options, source) as unknown as Reading;
    reading.nextToken();
    const tree = reading.parseExpression();
    // parseExpressionAt() would stop at whatever follows and call it a day.
    if (reading.type !== tokTypes.eof) reading.unexpected();
    return tree;
  }
}

export function parseExpression(source: string): Parsed {
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

function explain(source: string, thrown: unknown): Parsed {
  // acorn says the same in words of its own where it notices; to read it as a program would only run out of stack again.
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
  const found = at >= source.trimEnd().length ? 'the end' : `"${shown(source.slice(at, at + 12))}"`;
  const said = thrown.message.replace(/ \(\d+:\d+\)$/, '');
  const unexpected = found === 'the end' ? 'it ends too early' : `unexpected ${found}`;
  return fault(source, at, plainWords(said) ?? notAsWritten(said, { unexpected, found }), fixAt(source, at, said));
}

function notAsWritten(said: string, { unexpected, found }: { unexpected: string; found: string }): string {
  if (said !== 'Unexpected token') return `this is not JavaScript: ${said.toLowerCase()} at ${found}`;
  return unexpected === 'it ends too early' ? 'the expression ends too early' : `${unexpected} in the expression`;
}

/** What the parser says of texts that go on to the end. */
function plainWords(said: string): string | undefined {
  const of = /^Unterminated (string|template|regular expression|comment)/.exec(said)?.[1];
  if (of === undefined) return undefined;
  return `the ${of === 'template' ? 'text between backticks' : of} is not closed`;
}

/** From the wide forms of East Asian keyboards to the characters of ASCII. */
const fullWidth = 0xfee0;

/** Word processors put these in, and other languages do without the backticks. */
function fixAt(source: string, at: number, said: string): string {
  if (/[‘’“”„«»]/.test(source.charAt(at))) return 'write plain quotes: " or \'';
  if (/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]/.test(source.charAt(at)))
    return `take out the character that cannot be seen, U+${source.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')}`;
  if (/[\uff01-\uff5e]/.test(source.charAt(at)))
    return `write "${String.fromCharCode(source.charCodeAt(at) - fullWidth)}", the narrow one`;
  if (/^Unterminated (?:string|template)/.test(said))
    return 'close the quote; where YAML took " #" for a comment, put the whole in quotes';
  if (/\$\{/.test(source) && !source.includes('`')) return `write the text between backticks: \`${shown(source)}\``;
  const word = /^\w+/.exec(source.slice(at))?.[0] ?? '';
  const operator = operatorsInWords.get(word);
  if (operator !== undefined) return `write ${operator} for ${word}`;
  if (said === 'Unexpected token' && at >= source.trimEnd().length) {
    const missing = closingOf(source);
    return missing === '' ? 'write what is missing behind it' : `add ${missing}`;
  }
  return 'write one JavaScript expression';
}

/** As other languages of configurations have them. */
const operatorsInWords: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
]);

const closers = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

/** What would close the brackets that are open at the end; texts are left out, as far as they can be told. */
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

/** As strict as the expression will be read: what only a sloppy script may say would not become one by a rewrite. */
function programOf(source: string): Program | undefined {
  try {
    return parse(source, { ...options, allowReturnOutsideFunction: true });
  } catch {
    return undefined;
  }
}

/** vCluster evaluates a script and takes the value of its last statement; this is the expression that does the same. */
function rewriteOf(source: string, program: Program): string {
  const texts = program.body.map((statement) =>
    source.slice(statement.start, statement.end).replace(/;\s*$/, '').trim(),
  );
  if (program.body.every((statement) => statement.type === 'ExpressionStatement')) {
    return texts.length === 1 ? `write ${texts[0]}` : `write (${texts.join(', ')})`;
  }
  const last = program.body.at(-1);
  const result = texts.pop() ?? '';
  if (last?.type === 'ReturnStatement') return `write (() => { ${[...texts, result].join('; ')} })()`;
  if (last?.type === 'ExpressionStatement') return `write (() => { ${[...texts, `return ${result}`].join('; ')} })()`;
  return 'write a condition as `test ? one : other`, or wrap statements as `(() => { …; return result })()`';
}

function empty(source: string): Parsed {
  // In YAML, ">" makes one line of all, and the comment then reaches to the end.
  if (source.trim() !== '')
    return fault(source, 0, 'expression is empty but for a comment', 'write /* … */, or "|" where YAML has ">"');
  return fault(source, 0, 'expression is empty', 'write the new value, or take the entry out');
}

function fault(source: string, index: number, message: string, fix: string): Parsed {
  return { kind: 'fault', fault: { kind: 'syntax', ...placeOf(source, index), message, fix } };
}
