// Parses and matches label selectors. In: the query text of a list. Out: requirements that must all hold, or a message.
// Grammar and messages are those of Kubernetes, because kubectl shows the messages unchanged.
import { type FieldError, fieldErrorText, invalidValue } from '../meta/field-error.ts';
import { labelKeyProblems, labelValueProblems } from '../meta/qualified-name.ts';

export type LabelRequirement =
  | { operator: 'in' | 'notIn'; key: string; values: readonly string[] }
  | { operator: 'exists' | 'doesNotExist'; key: string }
  | { operator: 'greaterThan' | 'lessThan'; key: string; bound: bigint };

export interface LabelSelector {
  /** Sorted by key; an empty list matches every object. */
  readonly requirements: readonly LabelRequirement[];
}

export type LabelSelectorResult = { ok: true; selector: LabelSelector } | { ok: false; message: string };

export function parseLabelSelector(text: string): LabelSelectorResult {
  try {
    const reader = new TokenReader(selectorTokens(text));
    return { ok: true, selector: sorted(readRequirements(reader)) };
  } catch (error) {
    if (error instanceof SelectorFault) return { ok: false, message: error.message };
    throw error;
  }
}

export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.requirements.every((required) => holds(required, labels));
}

/** Replaces the keys in a valid selector text; all other characters stay. */
export function withLabelKeys(text: string, keyOf: (key: string) => string): string {
  let isKeyNext = true;
  let isInList = false;
  return text.replace(tokenPattern, (token: string, symbol?: string, word?: string) => {
    if (symbol === '(' || symbol === ')') isInList = symbol === '(';
    if (symbol === ',' && !isInList) isKeyNext = true;
    if (word === undefined || !isKeyNext) return token;
    isKeyNext = false;
    return keyOf(word);
  });
}

type Sign = '=' | '==' | '!=' | 'in' | 'notin' | '>' | '<' | 'exists' | '!';

class SelectorFault extends Error {}

function holds(required: LabelRequirement, labels: Readonly<Record<string, string>> | undefined): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, required.key) ? labels[required.key] : undefined;
  switch (required.operator) {
    case 'in':
      return value !== undefined && required.values.includes(value);
    case 'notIn':
      return value === undefined || !required.values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'doesNotExist':
      return value === undefined;
    case 'greaterThan':
    case 'lessThan': {
      const number = value === undefined ? undefined : int64(value);
      if (number === undefined) return false;
      return required.operator === 'greaterThan' ? number > required.bound : number < required.bound;
    }
    default:
      return required satisfies never;
  }
}

function sorted(requirements: LabelRequirement[]): LabelSelector {
  return { requirements: requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)) };
}

/** Reads the tokens in order, then `end` without limit. `in` and `notin` are operators only after a key. */
class TokenReader {
  #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  peek(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' };
  }

  next(): Token {
    const token = this.peek();
    this.#at++;
    return token;
  }
}

function readRequirements(reader: TokenReader): LabelRequirement[] {
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const first = reader.peek();
    if (first.kind === 'end') return requirements;
    if (first.kind !== 'word' && first.text !== '!') {
      throw new SelectorFault(`found '${first.text}', expected: !, identifier, or 'end of string'`);
    }
    requirements.push(readRequirement(reader));
    const separator = reader.next();
    if (separator.kind === 'end') return requirements;
    if (separator.text !== ',') {
      throw new SelectorFault(`found '${separator.text}', expected: ',' or 'end of string'`);
    }
    const following = reader.peek();
    if (following.kind !== 'word' && following.text !== '!') {
      throw new SelectorFault(`found '${following.text}', expected: identifier after ','`);
    }
  }
}

function readRequirement(reader: TokenReader): LabelRequirement {
  try {
    const isNegated = reader.peek().text === '!' && reader.next().kind === 'symbol';
    const key = reader.next();
    if (key.kind !== 'word') throw new SelectorFault(`found '${key.text}', expected: identifier`);
    const problems = labelKeyProblems(key.text);
    // Kubernetes prints <nil> in place of a field path; kept because people search for this line.
    if (problems.length > 0) {
      throw new SelectorFault(fieldErrorText(invalidValue('<nil>', key.text, problems.join('; '))));
    }
    const isAlone = reader.peek().kind === 'end' || reader.peek().text === ',';
    if (isNegated || isAlone) return requirement(key.text, isNegated ? '!' : 'exists', []);
    const sign = readOperator(reader);
    const values = sign === 'in' || sign === 'notin' ? readValueList(reader) : [readExactValue(reader)];
    return requirement(key.text, sign, values);
  } catch (error) {
    if (error instanceof SelectorFault) throw new SelectorFault(`unable to parse requirement: ${error.message}`);
    throw error;
  }
}

function readOperator(reader: TokenReader): Sign {
  const token = reader.next();
  switch (token.text) {
    case '=':
    case '==':
    case '!=':
    case '>':
    case '<':
    case 'in':
    case 'notin':
      return token.text;
    default:
      throw new SelectorFault(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function readExactValue(reader: TokenReader): string {
  const token = reader.peek();
  if (token.kind === 'end' || token.text === ',') return '';
  reader.next();
  if (token.kind !== 'word') throw new SelectorFault(`found '${token.text}', expected: identifier`);
  return token.text;
}

/** Reads `(a,b)`; a missing value between commas is the empty string. */
function readValueList(reader: TokenReader): string[] {
  const open = reader.next();
  if (open.text !== '(') throw new SelectorFault(`found '${open.text}' expected: '('`);
  const values: string[] = [];
  for (;;) {
    const token = reader.next();
    const isMissing = token.text === ',' || token.text === ')';
    if (token.kind !== 'word' && !isMissing) {
      throw new SelectorFault(`found '${token.text}', expected: ',', ')' or identifier`);
    }
    values.push(isMissing ? '' : token.text);
    const after = isMissing ? token : reader.next();
    if (after.text === ')') return values;
    if (after.text !== ',') throw new SelectorFault(`found '${after.text}', expected: ',' or ')'`);
  }
}

function requirement(key: string, sign: Sign, values: string[]): LabelRequirement {
  const errors = [...keyErrors(key), ...operandErrors(sign, values), ...valueErrors(key, values)].map(fieldErrorText);
  if (errors.length === 1) throw new SelectorFault(errors[0]);
  if (errors.length > 1) throw new SelectorFault(`[${errors.join(', ')}]`);
  switch (sign) {
    case '=':
    case '==':
    case 'in':
      return { operator: 'in', key, values: [...new Set(values)].sort() };
    case '!=':
    case 'notin':
      return { operator: 'notIn', key, values: [...new Set(values)].sort() };
    case 'exists':
      return { operator: 'exists', key };
    case '!':
      return { operator: 'doesNotExist', key };
    case '>':
    case '<':
      return { operator: sign === '>' ? 'greaterThan' : 'lessThan', key, bound: int64(values[0] ?? '') ?? 0n };
    default:
      return sign satisfies never;
  }
}

function keyErrors(key: string): FieldError[] {
  const problems = labelKeyProblems(key);
  return problems.length === 0 ? [] : [invalidValue('key', key, problems.join('; '))];
}

/** Checks the number and the form of the values; the grammar already gives `=` exactly one value. */
function operandErrors(sign: Sign, values: string[]): FieldError[] {
  if ((sign === 'in' || sign === 'notin') && values.length === 0) {
    return [invalidValue('values', null, "for 'in', 'notin' operators, values set can't be empty")];
  }
  if ((sign === 'exists' || sign === '!') && values.length > 0) {
    return [invalidValue('values', values, 'values set must be empty for exists and does not exist')];
  }
  if ((sign === '>' || sign === '<') && int64(values[0] ?? '') === undefined) {
    return [invalidValue('values[0]', values[0], "for 'Gt', 'Lt' operators, the value must be an integer")];
  }
  return [];
}

function valueErrors(key: string, values: string[]): FieldError[] {
  return values.flatMap((value, index) => {
    const problems = labelValueProblems(value);
    return problems.length === 0 ? [] : [invalidValue(`values[${index}][${key}]`, value, problems.join('; '))];
  });
}

function int64(text: string): bigint | undefined {
  // 64 bits hold at most nineteen digits.
  return /^[+-]?[0-9]{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
}

/**
 * Splits the text of a label selector into words and symbols. Never fails: an unexpected text becomes a token, and the parser
 * quotes the token in its message.
 */
interface Token {
  kind: 'word' | 'symbol' | 'end';
  text: string;
}

/** `==` before `=`: the longest symbol wins. */
const tokenPattern = /[ \t\r\n]+|(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+)/gy;

function selectorTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(tokenPattern)) {
    if (match[1] !== undefined) tokens.push({ kind: 'symbol', text: match[1] });
    else if (match[2] !== undefined) tokens.push({ kind: 'word', text: match[2] });
  }
  return tokens;
}
