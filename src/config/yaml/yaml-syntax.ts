// Reads the syntax of one YAML text, limits its size, and turns syntax errors into faults with positions and fixes.
import { Composer, CST, type Document, Lexer, Parser } from 'yaml';
import { type Fault, fault } from '../fault.ts';
import { itemsAPart, type Steps } from '../steps.ts';
import { isOfTag, unresolvedTags } from './anchors-and-tags.ts';
import type { SourceText } from './source-text.ts';

/** Enough for about three thousand patch entries. The parser builds the tree in one turn of about 20 ms. */
export const maxTokens = 50_000;
/** One mistake causes errors in all following lines, so only the first positions help. */
const maxSyntaxFaults = 5;

export type Syntax =
  /** `tags`: the faults of tags that nobody resolves. */
  { kind: 'document'; contents: unknown; tags: Fault[] } | { kind: 'faults'; faults: Fault[] };

export function* readSyntax(source: SourceText): Steps<Syntax> {
  const read = yield* readTokens(source);
  if (read.kind === 'too-many') return { kind: 'faults', faults: [read.fault] };
  const [document, second] = composed(read.tokens, source);
  yield;
  const tags = document === undefined ? [] : unresolvedTags(source, document);
  const mistakes: SyntaxError[] = (document?.errors ?? []).filter((error) => !isOfTag(error));
  const next = second?.range[0];
  if (next !== undefined && !isEmptyFrom(source.text, next))
    mistakes.push({ code: severalDocuments, pos: [next, next], message: '' });
  if (mistakes.length > 0) return { kind: 'faults', faults: [...syntaxFaults(source, mistakes), ...tags] };
  return { kind: 'document', contents: document?.contents ?? null, tags };
}

/** The first two documents of a text. */
function composed(tokens: readonly CST.Token[], source: SourceText): (Document.Parsed | undefined)[] {
  // Without a schema every scalar stays a text, and yaml-scalar.ts reads it as vCluster's parser does. The parser's own
  // check for duplicate keys takes quadratic time, so parse-yaml.ts does that check.
  const composer = new Composer({ schema: 'failsafe', version: '1.1', uniqueKeys: false, logLevel: 'error' });
  const documents = composer.compose(tokens, true, source.text.length);
  return [documents.next().value ?? undefined, documents.next().value ?? undefined];
}

const severalDocuments = 'MULTIPLE_DOCS';

/** A separator at the end of a file does not begin a second document. */
function isEmptyFrom(text: string, start: number): boolean {
  return text
    .slice(start)
    .split('\n')
    .every((line) => /^(?:---|\.\.\.)?\s*(?:#.*)?$/.test(line));
}

/** The lexer marks documents, flow ends and scalars with characters that are not in the text. */
const lexerMarks = new Set<string>([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

type ReadTokens = { kind: 'tokens'; tokens: CST.Token[] } | { kind: 'too-many'; fault: Fault };

function* readTokens(source: SourceText): Steps<ReadTokens> {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let count = 0;
  let offset = 0;
  for (const lexeme of new Lexer().lex(source.text)) {
    if (++count > maxTokens) {
      const at = source.positionAt(Math.min(offset, source.text.length));
      const sentence = `the file has more than ${maxTokens} YAML tokens`;
      return { kind: 'too-many', fault: fault({ code: 'CONFIG_YAML_TOO_LARGE', at, sentence, fix: 'split the file' }) };
    }
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (!lexerMarks.has(lexeme)) offset += lexeme.length;
    if (count % itemsAPart === 0) yield;
  }
  for (const token of parser.end()) tokens.push(token);
  return { kind: 'tokens', tokens };
}

const syntaxFixes: Record<string, string> = {
  TAB_AS_INDENT: 'indent with spaces',
  BLOCK_AS_IMPLICIT_KEY: 'put a value that holds ": " in quotes, or correct the indentation',
  BLOCK_IN_FLOW: 'put the value in quotes, or write the entry without "{" and "}"',
  BAD_ALIAS: 'put the value in quotes',
  BAD_SCALAR_START: 'put the value in quotes',
  MULTILINE_IMPLICIT_KEY: 'put ":" after the key, or correct the indentation',
  BAD_DQ_ESCAPE: 'put the text between single quotes, where a backslash is a backslash, or write two',
  ALIAS_PROPS: 'write the alias alone: it stands for the whole value, with its tag',
  MULTIPLE_ANCHORS: 'remove one of the two',
  MULTIPLE_TAGS: 'remove one of the two',
  UNEXPECTED_TOKEN: 'put the whole value in quotes, or correct the indentation',
};

/** Fixes for error codes with several causes, chosen by the words of the message; the first match counts. */
const fixesByWords: readonly [words: RegExp, fix: string][] = [
  [/end with a \]/, 'close the "[" with "]", or correct the indentation'],
  [/end with a \}/, 'close the "{" with "}", or correct the indentation'],
  [/start at the same column/, 'indent the key as the others of its map'],
  [/without - indicator/, 'indent the key as the others of its entry'],
  [/anchor cannot be an empty/i, 'write a name behind "&", or put the value in quotes if the "&" belongs to it'],
  [/alias cannot be an empty/i, 'put the value in quotes if the "*" belongs to it'],
  [/tags and anchors must be separated/i, 'put a space behind the tag or anchor, or the value in quotes'],
  [/block sequence may not be/, 'begin every entry with "- ", all at the same indentation'],
];

/** Fixes for two mistakes that are valid YAML with another meaning in some places, and syntax errors in others. */
export const gluedDashFix = 'put a space after "-"';
export const strangeSpaceFix = 'put a plain space after the colon; the present one is a special space character';

function fixOf(source: SourceText, { code, message, pos: [start] }: SyntaxError): string {
  const lineStart = source.text.lastIndexOf('\n', start - 1) + 1;
  const fromLine = source.text.slice(lineStart);
  if (/^(?:<{7}|={7}|>{7})/.test(fromLine)) return 'resolve the merge conflict';
  if (/^[^:#\n]*:[^\S \t\r\n]/.test(fromLine)) return strangeSpaceFix;
  if (/^[ ]*-\w+:/.test(fromLine)) return gluedDashFix;
  if (/^[- ]*[*&][^\s:]+:/.test(fromLine))
    return 'put a space before the colon, or the key in quotes if it begins with "*" or "&"';
  if (/:[ ]+[|>][+-]?[ ]*\r?\n\s*$/.test(source.text.slice(0, lineStart))) return 'indent the text deeper than its key';
  return fixesByWords.find(([words]) => words.test(message))?.[1] ?? syntaxFixes[code] ?? '';
}

export const nestedTooDeeply = 'the nesting is too deep';
export const flatterFix = 'look for brackets or braces that are opened and never closed';

/** The parser's error code for nesting that overflows its stack. */
const tooDeep = 'RESOURCE_EXHAUSTION';

interface SyntaxError {
  code: string;
  pos: [number, number];
  message: string;
}

function syntaxFaults(source: SourceText, errors: readonly SyntaxError[]): Fault[] {
  const byLine = new Map<number | undefined, Fault>();
  for (const error of errors) {
    // The other lines of a template are not YAML either, so one fault is enough.
    const ofTemplate = templateFault(source, error);
    if (ofTemplate !== undefined) return [...byLine.values(), ofTemplate];
    const of = syntaxFault(source, error);
    // An error after a value that ended too early has the same cause.
    if (byLine.size > 0 && error.message.includes('in YAML stream')) continue;
    if (!byLine.has(of.line)) byLine.set(of.line, of);
    // After an open quote the parser reads everything as text, and deep nesting is reported again at each level.
    if (byLine.size >= maxSyntaxFaults || isOpenQuote(error) || error.code === tooDeep) break;
  }
  return [...byLine.values()];
}

/** A line or a value in {{ and }} is a template, which another program must render to YAML first. */
const templateLine = /^[^#"'{]*(?=\{\{)/;

function templateFault(source: SourceText, { pos: [start] }: SyntaxError): Fault | undefined {
  const lineStart = source.text.lastIndexOf('\n', start - 1) + 1;
  const before = templateLine.exec(source.text.slice(lineStart).split('\n', 1)[0] ?? '');
  if (before === null) return undefined;
  const at = source.positionAt(lineStart + before[0].length);
  return fault({ code: 'CONFIG_YAML', at, sentence: 'this is a template, not YAML', fix: 'render the template first' });
}

function syntaxFault(source: SourceText, error: SyntaxError): Fault {
  if (error.code === severalDocuments) {
    const at = source.positionAt(error.pos[0]);
    const fix = /^kind: /m.test(source.text)
      ? 'these are Kubernetes objects; copy the configuration out of its ConfigMap into a separate file'
      : 'put the second document into a separate file and give --config twice';
    return fault({ code: 'CONFIG_SEVERAL_DOCUMENTS', at, sentence: 'a second YAML document begins here', fix });
  }
  if (isOpenQuote(error)) {
    const at = source.positionAt(openQuote(source.text, error.pos[0]));
    return fault({ code: 'CONFIG_YAML', at, sentence: 'the quote is never closed' });
  }
  const at = source.positionAt(error.pos[0]);
  if (error.code === tooDeep)
    return fault({ code: 'CONFIG_YAML_TOO_LARGE', at, sentence: nestedTooDeeply, fix: flatterFix });
  const sentence = `this is not YAML: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
  return fault({ code: 'CONFIG_YAML', at, sentence, fix: fixOf(source, error) });
}

function isOpenQuote({ code, message }: SyntaxError): boolean {
  return code === 'MISSING_CHAR' && message.includes('quote');
}

/** The parser reports the end of the text, but the mistake is at the opening quote. */
function openQuote(text: string, end: number): number {
  let offset = 0;
  let found = end;
  for (const token of new Lexer().lex(text)) {
    if (offset > end) break;
    if (/^["']/.test(token)) found = offset;
    if (!lexerMarks.has(token)) offset += token.length;
  }
  return found;
}
