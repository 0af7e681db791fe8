// Decodes the text of one configuration file, limits its size, and translates offsets to lines and columns.
import { type Fault, fault, type Position } from '../fault.ts';

/** The largest content of a ConfigMap or Secret; a longer file is not a configuration. */
export const maxFileBytes = 1024 * 1024;

/** One file as received: its text or bytes, or the reason for their absence. */
export type SourceFile =
  | {
      name: string;
      text: string | Uint8Array /** A pipe can be read only once and cannot be watched. */;
      isStream?: true;
    }
  | { name: string; problem: 'missing' | 'directory' }
  | { name: string; problem: 'no-file'; what: string }
  | { name: string; problem: 'unreadable'; reason: string }
  | { name: string; problem: 'too-large'; bytes: number };

export class SourceText {
  readonly name: string;
  readonly text: string;
  #lineStarts: number[] | undefined;

  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
  }

  positionAt(offset: number): Position {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { file: this.name, line: low + 1, column: offset - (starts[low] as number) + 1 };
  }

  // Built for the first fault, so that a configuration without faults does not pay for it.
  #starts(): number[] {
    if (this.#lineStarts === undefined) {
      const starts = [0];
      for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1)) starts.push(at + 1);
      this.#lineStarts = starts;
    }
    return this.#lineStarts;
  }
}

export type FileText = { kind: 'text'; source: SourceText } | { kind: 'fault'; fault: Fault };

export function decode(file: SourceFile): FileText {
  const refuse = (code: string, found: string, wanted: string, fix = ''): FileText => ({
    kind: 'fault',
    fault: fault({ code, at: { file: file.name }, found, wanted, fix }),
  });
  if ('problem' in file) {
    switch (file.problem) {
      case 'missing':
        return refuse('CONFIG_FILE_MISSING', 'no file of this name', 'a configuration file', 'correct --config');
      case 'directory':
        return refuse('CONFIG_FILE_DIRECTORY', 'a directory', 'a configuration file', 'name the file in it');
      case 'no-file':
        return refuse(
          'CONFIG_NO_FILE',
          file.what,
          'a configuration file',
          'write it to a file, or give - and pipe it in',
        );
      case 'unreadable':
        return refuse('CONFIG_FILE_UNREADABLE', file.reason, 'a file that can be read');
      case 'too-large':
        return refuse('CONFIG_FILE_TOO_LARGE', `${file.bytes} bytes`, `${maxFileBytes} bytes at most`, splitFix);
      default:
        return file satisfies never;
    }
  }
  const bytes = typeof file.text === 'string' ? Buffer.byteLength(file.text) : file.text.byteLength;
  if (bytes > maxFileBytes)
    return refuse('CONFIG_FILE_TOO_LARGE', `${bytes} bytes`, `${maxFileBytes} bytes at most`, splitFix);
  const { text, isWhole } = typeof file.text === 'string' ? fromStream(file.text) : utf8(file.text);
  // A byte order mark is not part of the text, and editors do not count it as a column.
  const source = new SourceText(file.name, text.startsWith('\ufeff') ? text.slice(1) : text);
  const broken = isWhole ? -1 : source.text.indexOf(replacement);
  const nul = source.text.indexOf('\0');
  const first = broken >= 0 && (nul < 0 || broken < nul) ? broken : nul;
  if (first < 0) return { kind: 'text', source };
  const found = first === broken ? 'bytes that are not UTF-8' : 'a NUL character';
  const parts = { code: 'CONFIG_FILE_NOT_TEXT', at: source.positionAt(first), found, wanted: 'a text in UTF-8' };
  return { kind: 'fault', fault: fault({ ...parts, fix: 'save it as UTF-8' }) };
}

/** The limit is for one file, and several files are merged. */
const splitFix = 'split the file: --config takes several files and merges them';

/** The decoder writes this character for bytes that it cannot decode. */
const replacement = '\ufffd';

interface Text {
  text: string;
  isWhole: boolean;
}

/** Standard input is decoded already, and a real configuration does not contain the replacement character. */
function fromStream(text: string): Text {
  return { text, isWhole: !text.includes(replacement) };
}

function utf8(bytes: Uint8Array): Text {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), isWhole: true };
  } catch {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), isWhole: false };
  }
}
