// Finds duplicate fields in a JSON text. JSON.parse silently keeps the last duplicate, so the writer would lose the first one.
// Must run only on text that JSON.parse has accepted: the scanner does not check syntax.

/** More than any answer lists. The path of each could be as long as the body, and all of them would fill the memory. */
const maxFound = 1_000;
const maxPathLength = 1_000;

export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const scanner = { text, at: 0 };
  scanValue(scanner, '', found);
  return [...found];
}

interface Scanner {
  text: string;
  at: number;
}

function scanValue(scanner: Scanner, path: string, found: Set<string>): void {
  skipSpace(scanner);
  const first = scanner.text[scanner.at];
  if (first === '{') scanObject(scanner, path, found);
  else if (first === '[') scanArray(scanner, path, found);
  else if (first === '"') scanString(scanner);
  else
    while (scanner.at < scanner.text.length && !',]} \t\r\n'.includes(scanner.text[scanner.at] as string)) scanner.at++;
}

function scanObject(scanner: Scanner, path: string, found: Set<string>): void {
  const seen = new Set<string>();
  scanner.at++;
  for (;;) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] === '}') break;
    const name = scanString(scanner);
    const memberPath = below(path, name);
    if (seen.has(name) && found.size < maxFound) found.add(memberPath);
    seen.add(name);
    skipSpace(scanner);
    scanner.at++; // the colon
    scanValue(scanner, memberPath, found);
    skipSpace(scanner);
    if (scanner.text[scanner.at] === ',') scanner.at++;
  }
  scanner.at++;
}

/** A path that was cut is not made longer. */
function below(path: string, name: string): string {
  if (path.length > maxPathLength) return path;
  const longer = path === '' ? name : `${path}.${name}`;
  return longer.length > maxPathLength ? `${longer.slice(0, maxPathLength)}…` : longer;
}

function scanArray(scanner: Scanner, path: string, found: Set<string>): void {
  scanner.at++;
  for (let index = 0; ; index++) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] === ']') break;
    scanValue(scanner, path.length > maxPathLength ? path : `${path}[${index}]`, found);
    skipSpace(scanner);
    if (scanner.text[scanner.at] === ',') scanner.at++;
  }
  scanner.at++;
}

function scanString(scanner: Scanner): string {
  const start = scanner.at;
  scanner.at++;
  while (scanner.text[scanner.at] !== '"') scanner.at += scanner.text[scanner.at] === '\\' ? 2 : 1;
  scanner.at++;
  return JSON.parse(scanner.text.slice(start, scanner.at)) as string;
}

function skipSpace(scanner: Scanner): void {
  while (' \t\r\n'.includes(scanner.text[scanner.at] ?? '.')) scanner.at++;
}
