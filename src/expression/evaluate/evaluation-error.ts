// The errors of a single evaluation, in words that reveal no secret: neither the value itself nor a long text of foreign origin
// appears in a message.
import { realmLimits, sandboxLimits } from '../limits.ts';
import type { RanOut } from '../sandbox/sandbox.ts';

export type EvaluationErrorKind = 'syntax' | 'rejected' | 'threw' | 'timeout' | 'memory' | 'size' | 'type' | 'crash';

export interface EvaluationError {
  kind: EvaluationErrorKind;
  message: string;
  /** Position in the source of the expression, if known. */
  position?: { line: number; column: number };
  /** Set when a later try may succeed: the wait before that try. */
  retryAfterMs?: number;
  /** It says nothing of the expression nor of the value: the evaluator ended in between, as a new configuration has a new one. */
  isPassing?: true;
}

/** The error of an expression whose request ran out. */
export function errorOf(outcome: RanOut): EvaluationError {
  switch (outcome.kind) {
    case 'timeout':
      return { kind: 'timeout', message: 'expression did not finish in time' };
    case 'memory':
      return { kind: 'memory', message: `expression needed more than ${sandboxLimits.isolateMemoryMb} MB` };
    case 'crash':
      return { kind: 'crash', message: plainMessage(outcome.message, undefined) };
    default:
      return outcome satisfies never;
  }
}

/** A restart of the sandbox or a full queue is mostly over after a second. */
const notRunMs = 1_000;

export function notRun(message: string, isPassing: boolean): EvaluationError {
  return { kind: 'crash', message, retryAfterMs: notRunMs, ...(isPassing && { isPassing }) };
}

/** A shorter value is likely to be an ordinary word, and removing it would garble the message. */
const minSecretChars = 4;
const minNestedSecretChars = 8;

/** Characters shown of a key that is not in the source: it comes from a value, and its beginning is enough to recognise it. */
const shownKeyChars = 2;

/** Methods of newer engines that the realm does not keep. */
const iteratorMethod =
  /\b(?:values|keys|entries|matchAll)\(\.\.\.\)\.(?:map|filter|take|drop|flatMap|reduce|toArray|forEach|some|every|find) is not a function$/;
const setMethod =
  /\.(?:union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom) is not a function$/;

export function plainMessage(message: string, value: unknown, source = ''): string {
  let plain = message;
  for (const text of textsOf(value)) plain = plain.replaceAll(text, '…');
  // V8 quotes the text on which an operation failed, and this text may be a secret.
  plain = plain
    .replace(/search for '[\s\S]*$/, 'search in a text')
    .replace(/\b(on|of) string '[\s\S]*$/, '$1 a text')
    .replace(/\((reading|setting) '([\s\S]*)'\)$/, (_, verb, key) => `(${verb} '${shownKey(key, source)}')`)
    .replace(/ property '([\s\S]*)' (of|on) /, (_, key, of) => ` property '${shownKey(key, source)}' ${of} `)
    .replace(/^(Invalid code point|Invalid count value):? [\s\S]*$/, '$1')
    .replace(/^(number|boolean) \S+ (is not iterable)/, '$1 $2')
    .replace(' (cannot read property Symbol(Symbol.iterator))', '')
    // The author of the expression does not know the guards of the rewritten code.
    .replace(/\$\$(?:w?key\(\.\.\.\)|e\b)/g, '…')
    .replace(/^Iterator value [\s\S]* is not an entry object$/, 'Iterator value is not an entry object')
    .replace(iteratorMethod, '$&; an iterator has no methods, so spread it first: [...items]')
    .replace(setMethod, '$&; spread the sets: [...items]');
  plain = plain.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  if (plain === '') return 'threw without a readable message';
  return plain.length <= realmLimits.message ? plain : `${plain.slice(0, realmLimits.message - 1)}…`;
}

function shownKey(key: string, source: string): string {
  if (source.includes(key)) return key;
  return key.length < minNestedSecretChars ? '…' : `${key.slice(0, shownKeyChars)}…`;
}

/** The texts in a value, the longest first, because replacing a short text first would break up a longer one around it. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= minSecretChars ? [value] : [];
  const texts = new Set<string>();
  gather(value, texts, 0);
  return [...texts].sort((a, b) => b.length - a.length);
}

/** A bound on the work for one message: a value with more texts than this is bulk data rather than a secret. */
const maxTexts = 200;
/** Annotations, addresses and ports are all above this depth. */
const maxTextDepth = 5;

function gather(value: unknown, texts: Set<string>, depth: number): void {
  if (typeof value === 'string' && value.length >= minNestedSecretChars) texts.add(value);
  if (typeof value !== 'object' || value === null || depth > maxTextDepth) return;
  for (const part of Object.values(value)) {
    if (texts.size >= maxTexts) return;
    gather(part, texts, depth + 1);
  }
}
