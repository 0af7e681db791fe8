// Makes foreign text safe for a terminal. A tenant's names, labels and messages may hold control characters that move the
// cursor or recolour the screen, and invisible characters that reverse a line. This file turns such characters into visible
// escapes. Every text that the program prints, logs or sends passes through here.

/**
 * Control characters (C0, DEL, C1), format characters (direction marks, zero-width characters), separators that terminals
 * treat as line ends, halves of surrogate pairs, and characters that show nothing (fillers, variation selectors), which make
 * two texts look alike and can carry a hidden text. The two selectors that ordinary emoji contain are left.
 */
const unsafe = /(?!\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}]/u;
const unsafeAll = new RegExp(unsafe, 'gu');
/** The same, but for line ends and tabs. */
export const unsafeInLines = /(?!\n|\t|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}]/u;
const unsafeInLinesAll = new RegExp(unsafeInLines, 'gu');

/**
 * For whole output: line ends and tabs stay. The escapes are those of JSON. JSON text keeps its meaning, because there the
 * escaped characters occur only in strings.
 */
export function safeText(text: string): string {
  return unsafeInLines.test(text) ? text.replace(unsafeInLinesAll, escaped) : text;
}

/** For one value within a line: a line end inside the value could forge the next line, so line ends become escapes too. */
export function safeValue(text: string): string {
  return unsafe.test(text)
    ? text.replace(unsafeAll, (character) => shortEscapes[character] ?? escaped(character))
    : text;
}

/** A word of a command to copy, as a shell reads it: nobody may run a part of a name. A plain word stays as it is. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const shortEscapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** JSON writes a character beyond U+FFFF as two escaped halves. */
function escaped(character: string): string {
  return character
    .split('')
    .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
