// What is wrong with a YAML text, as a sentence with a remedy. In: the parser's error. Out: a place and a sentence that quotes
// nothing of the text, because a secret may be next to the fault. The parser's own texts are notes for its authors.
import { isRecord } from './json.ts';

export interface YamlFault {
  /** From 1; undefined where the parser names no place. */
  place: { line: number; column: number } | undefined;
  sentence: string;
}

const notClosed = (what: string, mark: string) => `${what} is not closed; put ${mark} at its end`;
const oneIndentation = 'indent the entries of one map or list alike, with spaces';

/** The first pattern that matches the parser's words counts. */
const sentences: readonly [words: RegExp, sentence: string][] = [
  [/tab characters/, 'a tab is used as indentation; indent with spaces'],
  [
    /deficient indentation/,
    'a quote, "[" or "{" above is not closed, or its next line is not indented deeper than its key; close it, or indent the line',
  ],
  [/bad indentation/, `the indentation does not fit the lines above; ${oneIndentation}`],
  [/end of the stream within a flow|missed comma/, 'a "[" or "{" is not closed, or a comma is missing in it'],
  [
    /expected the node content, but found ','/,
    'a value is missing before ","; write the value, or take one comma away',
  ],
  [/single quoted scalar/, notClosed('a text in single quotes', "'")],
  [/double quoted scalar/, notClosed('a text in double quotes', '"')],
  [
    /escape sequence|hexadecimal/,
    'a backslash in double quotes begins no known escape; use single quotes, or write two',
  ],
  [
    /valid JSON character/,
    'a text in quotes holds a control character; write the character as an escape such as "\\u0007"',
  ],
  [/non-printable/, 'the text holds a control character; write the character as an escape in double quotes'],
  [/expected ':'|multiline key/, `a key without ":" is here; put ": " after the key, or ${oneIndentation}`],
  [/whitespace character is expected/, 'a space is missing after ":"; put one'],
  [
    /block scalar|chomping|indentation width|line break is expected/,
    'after "|" or ">" only "+", "-" and one digit may follow',
  ],
  [/nesting exceeded/, 'the document nests too deep; write the object with fewer levels, or send JSON'],
  [/aliases exceeded/, 'the document has more than 100 aliases; write their values out'],
  [/unidentified alias/, 'a value begins with "*", which names an anchor that does not exist; put the value in quotes'],
  [/recursive alias/, 'an alias names a value that contains the alias; write the value out'],
  [/alias/, 'a value begins with "*" and names nothing; put the value in quotes'],
  [/anchor/, 'a value begins with "&" and names nothing; put the value in quotes'],
  [/merge/, 'the merge key "<<" wants a map or a list of maps'],
  [/duplicated mapping key/, 'a key is set twice in one map; keep one of the two'],
  [
    /directive|%YAML|unacceptable YAML/,
    'a line that begins with "%" is no directive that is understood; put the value in quotes',
  ],
  [/separator is expected/, `more text follows where the value has ended; ${oneIndentation}`],
  [/single document/, 'there are two documents; send one object at a time'],
  [/input is empty/, 'the text is empty; send one object'],
  [/tag/, 'a value begins with "!", a tag that is not understood; put the value in quotes'],
];

export function yamlFault(error: unknown): YamlFault {
  const { reason, mark } = isRecord(error) ? error : {};
  const words = typeof reason === 'string' ? reason : '';
  const place = isRecord(mark) ? { line: Number(mark['line']) + 1, column: Number(mark['column']) + 1 } : undefined;
  const [, sentence] = sentences.find(([pattern]) => pattern.test(words)) ?? [];
  return { place, sentence: sentence ?? 'the text is not valid YAML; look for a missing quote or a wrong indentation' };
}
