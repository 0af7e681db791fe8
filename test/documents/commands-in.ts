// Reads the commands that a page shows in its blocks of shell, as a reader would type them.

export interface ShownCommand {
  /** The whole command with the text that it reads from the page, for a shell. */
  text: string;
  /** Its words up to a pipe, a redirection or a comment. */
  words: readonly string[];
}

/** Block by block. A block without a language is one of shell when its first line calls a program. */
export function commandsIn(page: string): ShownCommand[][] {
  const blocks: ShownCommand[][] = [];
  const lines = page.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const [, indent = '', language] = /^( *)```(\w*)$/.exec(lines[at] as string) ?? [];
    if (language === undefined) continue;
    const start = at + 1;
    while (++at < lines.length && !/^ *```$/.test(lines[at] as string));
    const body = lines.slice(start, at).map((line) => line.slice(indent.length));
    const isShell =
      language === 'sh' || (language === '' && /^(?:npx|npm|hostward|helm|kubectl)\b/.test(body[0] ?? ''));
    if (isShell) blocks.push(commandsOf(body.join('\n')));
  }
  return blocks;
}

function commandsOf(block: string): ShownCommand[] {
  const lines = block.split('\n');
  const found: ShownCommand[] = [];
  for (let at = 0; at < lines.length; at++) {
    let text = lines[at] as string;
    if (text.trim() === '' || text.startsWith('#')) continue;
    while (text.endsWith('\\')) text = `${text}\n${lines[++at]}`;
    const end = /<<'?(\w+)'?/.exec(text)?.[1];
    const words = wordsOf(text.replaceAll('\\\n', ' '));
    if (end !== undefined)
      do text += `\n${lines[++at]}`;
      while (lines[at] !== end);
    found.push({ text, words });
  }
  return found;
}

function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [token] of line.trim().matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    if (/^(?:\||[0-9]?>|<|&|#)/.test(token)) break;
    words.push(token.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
  }
  return words;
}
