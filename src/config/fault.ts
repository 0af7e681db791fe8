// What is wrong with a configuration, as a value: where it stands, what was found, what was wanted and how to mend it; and
// the one sentence that people and editors read. Faults stop the daemon, warnings do not.

export type Severity = 'fault' | 'warning';

/** A place in a file; line and column count from 1, columns in UTF-16 units as editors do. */
export interface Position {
  file: string;
  line: number;
  column: number;
}

export interface Fault {
  severity: Severity;
  /** Stable, CONFIG_REASON; other rooms bring their own prefix. */
  code: string;
  /** Undefined when no file is at fault, such as a name that nobody gave. */
  file: string | undefined;
  line: number | undefined;
  column: number | undefined;
  /** As the user wrote it: `sync.toHost.endpoints.patches[0].path`; empty for a whole file. */
  path: string;
  /** What is wrong, as people read it. */
  sentence: string;
  /** The two nouns that the sentence is made of; both empty where it says something else. */
  found: string;
  wanted: string;
  /** Empty when there is nothing better to say than what was wanted. */
  fix: string;
  /** How many faults or warnings this entry stands for; 1 unless it only counts them. */
  count: number;
}

export interface FaultPlace {
  code: string;
  at?: Position | { file: string } | undefined;
  path?: string;
}

/** A sentence, or the two nouns of one: "wanted an IP address, found a list". */
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

/** `file:line:column: path: what is wrong; how to mend it`, with the line and a caret under the place when the texts are given. */
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

/** Wider lines are cut around the place: a base64 blob in a line must not fill the terminal. */
const caretWidth = 120;

function caretLines(of: Fault, texts: ReadonlyMap<string, string> | undefined): string | undefined {
  if (of.file === undefined || of.line === undefined || of.column === undefined) return undefined;
  const line = texts && linesOf(texts, of.file)[of.line - 1]?.replace(/\r$/, '');
  if (line === undefined) return undefined;
  const from = Math.max(0, of.column - 1 - caretWidth / 2);
  const shown = line.slice(from, from + caretWidth);
  // Tabs stay tabs in front of the caret, so that it stands under its place in any terminal.
  const pad = line.slice(from, of.column - 1).replace(/[^\t]/g, ' ');
  return `  ${shown}\n  ${pad}^`;
}

const linesOfTexts = new WeakMap<ReadonlyMap<string, string>, Map<string, string[]>>();

/** Cut into lines once a report: a hundred faults in a file of a megabyte would cut it a hundred times. */
function linesOf(texts: ReadonlyMap<string, string>, file: string): readonly string[] {
  const known = linesOfTexts.get(texts) ?? new Map<string, string[]>();
  linesOfTexts.set(texts, known);
  const lines = known.get(file) ?? texts.get(file)?.split('\n') ?? [];
  known.set(file, lines);
  return lines;
}

/** Order of reading: by file as first named, then by place; what only counts others comes last. */
export function sortFaults(faults: readonly Fault[], files: readonly string[]): Fault[] {
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

/** Beyond this many a report helps nobody; a generated file can have one in every line. */
export const listedFaults = 100;

/** In order of reading, all beyond the limit only counted: those of the list, those a list before counted, and `more`. */
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

/** How many there are, listed or only counted. */
export function countOf(faults: readonly Fault[]): number {
  return faults.reduce((sum, { count }) => sum + count, 0);
}

/** Guest text in a message: quoted, on one line, never longer than a glance. */
const shownLength = 60;

export function quoted(text: string): string {
  const cut = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
  return JSON.stringify(cut);
}
