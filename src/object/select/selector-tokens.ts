// Splits the text of a label selector into words and symbols. Never fails: an unexpected text becomes a token, and the
// parser quotes the token in its message.

export interface Token {
  kind: 'word' | 'symbol' | 'end';
  text: string;
}

/** `==` before `=`: the longest symbol wins. */
export const tokenPattern = /[ \t\r\n]+|(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+)/gy;

export function selectorTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(tokenPattern)) {
    if (match[1] !== undefined) tokens.push({ kind: 'symbol', text: match[1] });
    else if (match[2] !== undefined) tokens.push({ kind: 'word', text: match[2] });
  }
  return tokens;
}
