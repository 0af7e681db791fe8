// Finds duplicate fields in a JSON text. JSON.parse silently keeps the last duplicate, so the writer would lose the first one.
// Must run only on text that JSON.parse has accepted: the scanner does not check syntax.

export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  const scanner = { text, at: 0 };
  scanValue(scanner, '', found);
  return [...new Set(found)];
}

interface Scanner {
  text: string;
  at: number;
}

function scanValue(scanner: Scanner, path: string, found: string[]): void {
  skipSpace(scanner);
  const first = scanner.text[scanner.at];
  if (first === '{') scanObject(scanner, path, found);
  else if (first === '[') scanArray(scanner, path, found);
  else if (first === '"') scanString(scanner);
  else
    while (scanner.at < scanner.text.length && !',]} \t\r\n'.includes(scanner.text[scanner.at] as string)) scanner.at++;
}

function scanObject(scanner: Scanner, path: string, found: string[]): void {
  const seen = new Set<string>();
  scanner.at++;
  for (;;) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] === '}') break;
    const name = scanString(scanner);
    const memberPath = path === '' ? name : `${path}.${name}`;
    if (seen.has(name)) found.push(memberPath);
    seen.add(name);
    skipSpace(scanner);
    scanner.at++; // the colon
    scanValue(scanner, memberPath, found);
    skipSpace(scanner);
    if (scanner.text[scanner.at] === ',') scanner.at++;
  }
  scanner.at++;
}

function scanArray(scanner: Scanner, path: string, found: string[]): void {
  scanner.at++;
  for (let index = 0; ; index++) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] === ']') break;
    scanValue(scanner, `${path}[${index}]`, found);
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
