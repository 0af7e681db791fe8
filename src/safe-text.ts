// Text from elsewhere, made safe for a terminal. Names, labels and messages of a tenant may hold control characters that move
// the cursor or recolour the screen, and invisible ones that turn a line around; here they become visible escapes. Everything
// that the program prints, logs or tells passes through here.

/**
 * Control characters (C0, DEL, C1), format characters (direction marks, zero-width characters), separators that terminals take
 * for line ends, and halves of surrogate pairs.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const unsafeAll = new RegExp(unsafe, 'gu');
const unsafeInLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const unsafeInLinesAll = new RegExp(unsafeInLines, 'gu');

/**
 * Whole output: line ends and tabs stay. The escapes are those of JSON, and in JSON text these characters stand in strings
 * only, so JSON text still means the same afterwards.
 */
export function safeText(text: string): string {
  return unsafeInLines.test(text) ? text.replace(unsafeInLinesAll, escaped) : text;
}

/** One value within a line, where a line end of the value's own could forge the next line. */
export function safeValue(text: string): string {
  return unsafe.test(text)
    ? text.replace(unsafeAll, (character) => shortEscapes[character] ?? escaped(character))
    : text;
}

const shortEscapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Beyond the first plane as two halves, as JSON writes them. */
function escaped(character: string): string {
  return character
    .split('')
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
