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
  found: string;
  wanted: string;
  /** Empty when there is nothing better to say than what was wanted. */
  fix: string;
}

export interface FaultParts {
  code: string;
  at?: Position | { file: string } | undefined;
  path?: string;
  found: string;
  wanted: string;
  fix?: string;
}

export function fault(parts: FaultParts): Fault {
  return make('fault', parts);
}

export function warning(parts: FaultParts): Fault {
  return make('warning', parts);
}

function make(severity: Severity, { code, at, path, found, wanted, fix }: FaultParts): Fault {
  const position = at !== undefined && 'line' in at ? at : undefined;
  return {
    severity,
    code,
    file: at?.file,
    line: position?.line,
    column: position?.column,
    path: path ?? '',
    found,
    wanted,
    fix: fix ?? '',
  };
}

/** `file:line:column: path: wanted …, found …; fix`, with the line and a caret under the place when the texts are given. */
export function formatFault(of: Fault, texts?: ReadonlyMap<string, string>): string {
  const place = [of.file ?? 'configuration', of.line, of.column].filter((part) => part !== undefined).join(':');
  const kind = of.severity === 'warning' ? 'warning: ' : '';
  const path = of.path === '' ? '' : `${of.path}: `;
  const fix = of.fix === '' ? '' : `; ${of.fix}`;
  const sentence = `${place}: ${kind}${path}wanted ${of.wanted}, found ${of.found}${fix}`;
  const caret = caretLines(of, texts);
  return caret === undefined ? sentence : `${sentence}\n${caret}`;
}

/** Wider lines are cut around the place: a base64 blob in a line must not fill the terminal. */
const caretWidth = 120;

function caretLines(of: Fault, texts: ReadonlyMap<string, string> | undefined): string | undefined {
  if (of.file === undefined || of.line === undefined || of.column === undefined) return undefined;
  const line = texts?.get(of.file)?.split('\n')[of.line - 1]?.replace(/\r$/, '');
  if (line === undefined) return undefined;
  const from = Math.max(0, of.column - 1 - caretWidth / 2);
  const shown = line.slice(from, from + caretWidth);
  // Tabs stay tabs in front of the caret, so that it stands under its place in any terminal.
  const pad = line.slice(from, of.column - 1).replace(/[^\t]/g, ' ');
  return `  ${shown}\n  ${pad}^`;
}

/** Order of reading: by file as first named, then by place. */
export function sortFaults(faults: readonly Fault[], files: readonly string[]): Fault[] {
  const rank = (of: Fault): number => (of.file === undefined ? -1 : files.indexOf(of.file));
  return faults.toSorted(
    (a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

/** Guest text in a message: quoted, on one line, never longer than a glance. */
const shownLength = 60;

export function quoted(text: string): string {
  const cut = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
  return JSON.stringify(cut);
}
