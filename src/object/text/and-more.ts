// Shortens a list that a person reads, and says how many of it are left out.

/** Stands behind those that are named; empty when all of them are. */
export function andMore(left: number): string {
  return left > 0 ? ` and ${left} more` : '';
}

/** The first of many texts, for a sentence. */
export function firstFew(texts: readonly string[], most: number): string {
  return texts.slice(0, most).join(', ') + andMore(texts.length - most);
}

/** The first of many lines, and a last one with the number of the others. */
export function firstLines(lines: readonly string[], most: number): string[] {
  return lines.length > most ? [...lines.slice(0, most), andMore(lines.length - most).trimStart()] : [...lines];
}
