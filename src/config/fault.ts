// A fault of a configuration as a value: its position, the found and the wanted text, and the fix; and the one sentence
// that people and editors read. A fault stops the daemon, a warning does not.
import { inQuotes } from '../object/text/in-quotes.ts';
import { textWithoutUsers } from '../object/text/url-user.ts';

export type Severity = 'fault' | 'warning';

/** A position in a file. Line and column count from 1; columns count UTF-16 units, as in editors. */
export interface Position {
  file: string;
  line: number;
  column: number;
}

export interface Fault {
  severity: Severity;
  /** A stable code of the form CONFIG_REASON; other rooms use their own prefix. */
  code: string;
  /** Undefined when no file is at fault, for example for a missing name. */
  file: string | undefined;
  line: number | undefined;
  column: number | undefined;
  /** The path as the user wrote it: `sync.toHost.endpoints.patches[0].path`; empty for a whole file. */
  path: string;
  /** The fault in words. */
  sentence: string;
  /** The two nouns of a sentence "wanted …, found …"; both empty for any other sentence. */
  found: string;
  wanted: string;
  /** The instruction for the user; empty when the wanted text already says it. */
  fix: string;
  /** The number of faults that this entry represents: 1, or more for the entry that counts the unlisted faults. */
  count: number;
}

export interface FaultPlace {
  code: string;
  at?: Position | { file: string } | undefined;
  path?: string;
}

/** A sentence, or the two nouns for "wanted an IP address, found a list". */
export type FaultWords = ({ found: string; wanted: string } | { sentence: string }) & { fix?: string };

export type FaultParts = FaultPlace & FaultWords;

export function fault(parts: FaultParts): Fault {
  return make('fault', parts);
}

export function warning(parts: FaultParts): Fault {
  return make('warning', parts);
}

function make(severity: Severity, parts: FaultParts): Fault {
  const { code, at, path = '', fix = '' } = parts;
  const position = at !== undefined && 'line' in at ? at : undefined;
  const { found, wanted } = 'sentence' in parts ? { found: '', wanted: '' } : parts;
  return {
    severity,
    code,
    file: at?.file,
    line: position?.line,
    column: position?.column,
    path,
    sentence: 'sentence' in parts ? parts.sentence : `wanted ${wanted}, found ${found}`,
    found,
    wanted,
    fix,
    count: 1,
  };
}

/** `file:line:column: path: sentence; fix`, and with the texts also the line and a caret under its position. */
export function formatFault(of: Fault, texts?: ReadonlyMap<string, string>): string {
  if (of.code === moreCode) return of.sentence;
  const place = [of.file ?? 'configuration', of.line, of.column].filter((part) => part !== undefined).join(':');
  const kind = of.severity === 'warning' ? 'warning: ' : '';
  const path = of.path === '' ? '' : `${of.path}: `;
  const fix = of.fix === '' ? '' : `; ${of.fix}`;
  const sentence = `${place}: ${kind}${path}${of.sentence}${fix}`;
  const caret = caretLines(of, texts);
  return caret === undefined ? sentence : `${sentence}\n${caret}`;
}

/** A wider line is cut around the position, so that a base64 value does not fill the terminal. */
const caretWidth = 120;

function caretLines(of: Fault, texts: ReadonlyMap<string, string> | undefined): string | undefined {
  if (of.file === undefined || of.line === undefined || of.column === undefined) return undefined;
  const line = texts && linesOf(texts, of.file)[of.line - 1]?.replace(/\r$/, '');
  // Under an empty line a caret points at nothing.
  if (line === undefined || line.trim() === '') return undefined;
  const from = Math.max(0, of.column - 1 - caretWidth / 2);
  const shown = withoutSecrets(line, of).slice(from, from + caretWidth);
  // Tabs are kept before the caret, so that the caret is under its position in every terminal.
  const pad = line.slice(from, of.column - 1).replace(/[^\t]/g, ' ');
  return `  ${shown}\n  ${pad}^`;
}

/** What is missing in a line stays in its column, so that the caret is right. */
function withoutSecrets(line: string, { found, column }: Fault): string {
  // The line may also have the address with its user, perhaps with blanks and quotes in it.
  const end = found.includes('…@') ? line.lastIndexOf('@') : -1;
  const first = (column ?? 1) - 1;
  const start = /["']/.test(line.charAt(first)) ? first + 1 : first;
  const hidden = end > start ? `${line.slice(0, start)}${'*'.repeat(end - start)}${line.slice(end)}` : line;
  return textWithoutUsers(hidden, 'stars');
}

const linesOfTexts = new WeakMap<ReadonlyMap<string, string>, Map<string, string[]>>();

/** The lines are cached for a report, because a hundred faults would split a large file a hundred times. */
function linesOf(texts: ReadonlyMap<string, string>, file: string): readonly string[] {
  const known = linesOfTexts.get(texts) ?? new Map<string, string[]>();
  linesOfTexts.set(texts, known);
  const lines = known.get(file) ?? texts.get(file)?.split('\n') ?? [];
  known.set(file, lines);
  return lines;
}

/** Sorts by file in the order of the command line, then by position; the entry that counts unlisted faults is last. */
function sortFaults(faults: readonly Fault[], files: readonly string[]): Fault[] {
  const ranks = new Map(files.map((file, at) => [file, at]));
  const rank = ({ code, file }: Fault): number => {
    if (code === moreCode) return files.length;
    return file === undefined ? -1 : (ranks.get(file) ?? -1);
  };
  return faults.toSorted(
    (a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

const moreCode = 'CONFIG_MORE';

/** A generated file can have a fault in every line, and a longer report does not help. */
export const listedFaults = 100;

/** Sorts and limits the faults. A last entry has the number of those that are left out here, were left out before, or are in `more`. */
export function listFaults(faults: readonly Fault[], files: readonly string[], more = 0): Fault[] {
  const sorted = sortFaults(
    faults.filter(({ code }) => code !== moreCode),
    files,
  );
  const listed = sorted.slice(0, listedFaults);
  const counted = countOf(faults) - listed.length + more;
  if (counted === 0) return listed;
  const { severity } = faults[0] as Fault;
  const sentence = `and ${counted.toLocaleString('en-US')} more ${severity}${counted === 1 ? '' : 's'}`;
  return [...listed, { ...make(severity, { code: moreCode, sentence }), count: counted }];
}

/** The number of faults, listed or only counted. */
export function countOf(faults: readonly Fault[]): number {
  return faults.reduce((sum, { count }) => sum + count, 0);
}

/** A longer text of a user is cut in a message. */
const shownLength = 60;

export function quoted(text: string): string {
  const shown = textWithoutUsers(text);
  return inQuotes(shown.length > shownLength ? `${shown.slice(0, shownLength)}…` : shown);
}
