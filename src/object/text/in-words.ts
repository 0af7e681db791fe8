// Words for how many: of a list that a person reads the first ones and how many are left out, and a number with its noun.

/** Follows a list of names that was cut; empty when the list is complete. */
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

/** '1 thing' or '3 things'. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
