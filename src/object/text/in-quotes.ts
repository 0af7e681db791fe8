// Puts a text that somebody wrote into a sentence: in double quotes, or in backquotes when the text has double quotes itself,
// so that a reader sees where it begins and ends.

/** Keeps the sentence on one line. */
function onOneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}

export function inQuotes(text: string): string {
  if (!text.includes('"')) return `"${onOneLine(text)}"`;
  return text.includes('`') ? JSON.stringify(text) : `\`${onOneLine(text)}\``;
}
