/** A path as a shell reads it in a printed command; a plain path stays as it is. */
export function shellWord(path: string): string {
  return /^[\w./:@%+,=-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
