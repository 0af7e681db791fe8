// What a single evaluation can end in besides a value, in words that name no secret: the value itself and long texts of
// foreign origin never appear in a message.
import { realmLimits } from '../limits.ts';

export type EvaluationErrorKind = 'syntax' | 'rejected' | 'threw' | 'timeout' | 'memory' | 'size' | 'type' | 'crash';

export interface EvaluationError {
  kind: EvaluationErrorKind;
  message: string;
  /** In the text of the expression, where that is known. */
  position?: { line: number; column: number };
  /** Where time may mend it: after which the same is worth another try. */
  retryAfterMs?: number;
}

/** Shorter values are words of any language, and taking them out would garble the message. */
const shortestSecret = 4;
const shortestNestedSecret = 8;

/** A key that the expression does not name itself was made of a value: enough of it to recognise the place. */
const shownOfKey = 2;

export function plainMessage(message: string, value: unknown, source = ''): string {
  let plain = message;
  for (const text of textsOf(value)) plain = plain.replaceAll(text, '…');
  // V8 quotes the text on which an operation failed.
  plain = plain
    .replace(/search for '[\s\S]*$/, 'search in a text')
    .replace(/\b(on|of) string '[\s\S]*$/, '$1 a text')
    .replace(/\((reading|setting) '([\s\S]*)'\)$/, (_, verb, key) => `(${verb} '${shownOf(key, source)}')`)
    .replace(/ property '([\s\S]*)' (of|on) /, (_, key, of) => ` property '${shownOf(key, source)}' ${of} `)
    .replace(/^(Invalid code point|Invalid count value):? [\s\S]*$/, '$1')
    .replace(/^(number|boolean) \S+ (is not iterable)/, '$1 $2')
    .replace(' (cannot read property Symbol(Symbol.iterator))', '')
    // The guards of the rewritten code are no concern of whoever wrote the expression.
    .replace(/\$\$(?:w?key\(\.\.\.\)|e\b)/g, '…')
    .replace(/^Iterator value [\s\S]* is not an entry object$/, 'Iterator value is not an entry object');
  plain = plain.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  if (plain === '') return 'threw without a readable message';
  return plain.length <= realmLimits.message ? plain : `${plain.slice(0, realmLimits.message - 1)}…`;
}

function shownOf(key: string, source: string): string {
  if (source.includes(key)) return key;
  return key.length < shortestNestedSecret ? '…' : `${key.slice(0, shownOfKey)}…`;
}

/** The texts in a value, the longest first, so that none is left in pieces. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= shortestSecret ? [value] : [];
  const texts = new Set<string>();
  gather(value, texts, 0);
  return [...texts].sort((a, b) => b.length - a.length);
}

/** A message holds 200 characters; more texts than this are no secrets but data. */
const mostTexts = 200;
/** Annotations, addresses and ports all stand higher. */
const deepestText = 5;

function gather(value: unknown, texts: Set<string>, depth: number): void {
  if (typeof value === 'string' && value.length >= shortestNestedSecret) texts.add(value);
  if (typeof value !== 'object' || value === null || depth > deepestText) return;
  for (const part of Object.values(value)) {
    if (texts.size >= mostTexts) return;
    gather(part, texts, depth + 1);
  }
}
