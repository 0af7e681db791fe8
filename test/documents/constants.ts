// Finds named constants in the sources and evaluates them, so that a page can print their values. A constant is found by its name,
// or by the name of its file and its own (`chain-file:maxFileBytes`) where several have the name; so a file may move.
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';
import { runInNewContext } from 'node:vm';

interface Found {
  file: string;
  name: string;
  text: string;
}

export class Constants {
  readonly #all: Found[] = [];

  constructor(folder: string) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(join(folder, file), 'utf8');
      for (const match of text.matchAll(/^(?:export )?const (\w+)(?:: [^=\n]+)? =/gm)) {
        const start = match.index + match[0].length;
        this.#all.push({ file, name: match[1] as string, text: text.slice(start, endOfStatement(text, start)) });
      }
    }
  }

  /** `path` is a constant, and a member of it behind each dot. */
  valueOf(path: string): number {
    const [named = '', ...members] = path.split('.');
    let value: unknown = this.#evaluate(this.#find(named));
    for (const member of members) value = (value as Record<string, unknown> | undefined)?.[member];
    if (typeof value !== 'number') throw new Error(`"${path}" is no number: ${JSON.stringify(value)}`);
    return value;
  }

  #find(named: string): Found {
    const [name = '', file] = named.split(':').reverse();
    const found = this.#all.filter(
      (one) => one.name === name && (file === undefined || basename(one.file, '.ts') === file),
    );
    if (found.length === 1) return found[0] as Found;
    const where = found.map((one) => one.file).join(', ');
    throw new Error(
      found.length === 0
        ? `src/ has no constant "${named}": test/documents/limits.yaml names it`
        : `src/ has the constant "${named}" in ${where}: write FILE:${name} in test/documents/limits.yaml`,
    );
  }

  #evaluate({ file, text }: Found): unknown {
    const known: Record<string, unknown> = {
      // The largest value: what a machine without a limit of memory gets.
      memoryShare: (_share: number, most: number) => most,
      connectionsIn: (_share: number, most: number) => most,
    };
    const plain = stripTypeScriptTypes(`const it =${text};`)
      .replace(/^const it =/, '')
      .replace(/;\s*$/, '');
    for (const [, word = ''] of plain.replace(/\/\*.*?\*\/|\/\/.*/gs, '').matchAll(/(?<![.\w])([a-z]\w*)\b(?!\s*:)/g)) {
      const others = this.#all.filter((one) => one.name === word);
      const other = others.find((one) => one.file === file) ?? others[0];
      if (other !== undefined && !(word in known)) known[word] = this.#evaluate(other);
    }
    return runInNewContext(`(${plain})`, known);
  }
}

/** The semicolon outside of brackets, comments and texts. */
function endOfStatement(text: string, start: number): number {
  let depth = 0;
  const tokens = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|[([{]|[)\]}]|;/g;
  tokens.lastIndex = start;
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const [token] = match;
    if (token === ';' && depth === 0) return match.index;
    if (token.length > 1) continue;
    if ('([{'.includes(token)) depth++;
    if (')]}'.includes(token)) depth--;
  }
  return text.length;
}
