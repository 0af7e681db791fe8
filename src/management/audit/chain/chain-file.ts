// A chain of lines on the disk: `audit.log` in a folder, and next to it the files that were full, `audit-000000001234.log` for the
// one that ends with line 1234. In: entries. Out: lines that are on the disk when `append` resolves; entries that come together
// share one write. A line that cannot be written whole is taken back, so that the chain stays whole.
import { type FileHandle, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../log.ts';
import {
  beginning,
  type ChainHead,
  type ChainState,
  chainLine,
  type Digest,
  looksTorn,
  maxLineLength,
  readLine,
} from './chain.ts';

/** The part of a file handle that a chain needs, so that a test can put a broken disk in its place. */
export type ChainHandle = Pick<FileHandle, 'appendFile' | 'datasync' | 'truncate' | 'close' | 'stat' | 'read'>;
export type OpenChain = (path: string) => Promise<ChainHandle>;

export interface ChainFileOptions {
  folder: string;
  /** Without the ending. */
  name: string;
  digest: Digest;
  /** A file that has reached this size is moved aside before the next line. */
  maxBytes?: number;
  /** Called after a full file was moved aside. */
  movedAside?: () => void;
  open?: OpenChain;
}

/** An editor opens it, a verification reads it whole, and with a few hundred bytes a line it holds 200,000 lines. */
export const maxFileBytes = 64 * 1024 * 1024;
/** More waiting lines mean that the disk hangs; each belongs to a request that waits. */
const maxWaiting = 16_384;
/** The last line lies in the last piece of this size. */
const tailBytes = 2 * maxLineLength * 4;
/** With leading zeros, names sort like numbers. */
const digits = 12;

interface Waiting {
  entry: object;
  written: () => void;
  failed: (fault: unknown) => void;
}

export class ChainFile {
  readonly #options: ChainFileOptions;
  #file: ChainHandle | undefined;
  /** From the start to the stop. The file itself is closed in between too, while it is moved aside. */
  #isOpen = false;
  #length = 0;
  /** Whether bytes may follow the length that could not be taken back yet. */
  #isTorn = false;
  /** After the last line that is in the file. */
  #state: ChainState = beginning;
  #last: Record<string, unknown> | undefined;
  #cutOff = 0;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: ChainFileOptions) {
    this.#options = options;
  }

  /** The entry of the last line, as the files had it at the start. */
  get last(): Readonly<Record<string, unknown>> | undefined {
    return this.#last;
  }

  /** Number and digest of the last line that is on the disk; line 0 for a chain that has not begun. */
  get head(): ChainHead {
    return { line: this.#state.next - 1, digest: this.#state.previous };
  }

  /** Bytes of a last line that was not whole at the start, and is gone. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** Goes on where the files end; a last line that a crash cut off was never acknowledged, and is taken away. */
  async start(): Promise<void> {
    const file = await this.#open();
    try {
      await this.#goOn(file);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
    this.#isOpen = true;
  }

  /** The lines that wait are written. Later lines are refused: they would open a file that another process may have by then. */
  async stop(): Promise<void> {
    this.#isOpen = false;
    await this.#writing;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  /** Resolves when the line is on the disk. */
  append(entry: object): Promise<void> {
    return new Promise((written, failed) => {
      if (!this.#isOpen) return failed(new Error(`write to ${this.#path}: want the file open, it is closed`));
      if (this.#waiting.length >= maxWaiting)
        return failed(new Error(`write to ${this.#path}: ${maxWaiting} lines wait for the disk already`));
      this.#waiting.push({ entry, written, failed });
      this.#writing ??= this.#writeAll();
    });
  }

  get #path(): string {
    return join(this.#options.folder, `${this.#options.name}.log`);
  }

  async #open(): Promise<ChainHandle> {
    const make = this.#options.open ?? ((path) => open(path, 'a+', 0o600));
    try {
      return await make(this.#path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error;
      throw new Error(`open ${this.#path}: wanted a file, found a folder; move it away`, { cause: error });
    }
  }

  async #goOn(file: ChainHandle): Promise<void> {
    const { folder, name, digest } = this.#options;
    const { end, last } = await tailOf(file);
    this.#length = end.keep;
    if (!looksTorn(end.torn))
      throw new Error(
        `continue ${this.#path}: another program wrote its end, which stays as it is; look into the file and move it away`,
      );
    if (end.keep < end.size) await file.truncate(end.keep);
    this.#cutOff = end.size - end.keep;
    let line = last;
    let path = this.#path;
    if (line === undefined) {
      // The file was moved aside just before a crash, so that the one before has the end of the chain.
      const before = (await chainFiles(folder, name)).filter((one) => one !== `${name}.log`).at(-1);
      if (before === undefined) return;
      path = join(folder, before);
      line = await lastLineOf(path);
    }
    const read = line === undefined ? undefined : readLine(line, digest);
    if (read === undefined)
      throw new Error(`continue ${path}: its last line was changed; look into the file and move it away`);
    this.#state = { next: read.seq + 1, previous: read.digest };
    this.#last = read.entry;
  }

  async #writeAll(): Promise<void> {
    // A turn later, so that all lines of one turn share the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        await this.#moveAsideWhenFull();
        for (const { written } of await this.#write(batch)) written();
      } catch (fault) {
        for (const { failed } of batch) failed(fault);
      }
    }
    // In the same turn as the last look at the queue, so that no line can come in between and wait for ever.
    this.#writing = undefined;
  }

  async #write(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    if (this.#file === undefined) throw new Error(`write to ${this.#path}: want the file open, it is closed`);
    if (this.#isTorn) await this.#takeBack(this.#file);
    const { text, state, kept } = this.#lines(batch);
    const bytes = Buffer.from(text);
    try {
      await this.#file.appendFile(bytes);
      await this.#file.datasync();
    } catch (error) {
      // Half a line would break the chain for ever.
      this.#isTorn = true;
      await this.#takeBack(this.#file).catch(() => undefined);
      throw error;
    }
    this.#length += bytes.length;
    this.#state = state;
    return kept;
  }

  /** An entry that is too long fails alone. */
  #lines(batch: readonly Waiting[]): { text: string; state: ChainState; kept: Waiting[] } {
    let state = this.#state;
    let text = '';
    const kept: Waiting[] = [];
    for (const one of batch) {
      try {
        const made = chainLine(state, one.entry, this.#options.digest);
        state = made.state;
        text += `${made.line}\n`;
        kept.push(one);
      } catch (fault) {
        one.failed(fault);
      }
    }
    return { text, state, kept };
  }

  async #takeBack(file: ChainHandle): Promise<void> {
    await file.truncate(this.#length);
    this.#isTorn = false;
  }

  async #moveAsideWhenFull(): Promise<void> {
    const { folder, name, maxBytes = maxFileBytes } = this.#options;
    if (this.#file !== undefined && this.#length < maxBytes) return;
    await this.#file?.close();
    this.#file = undefined;
    const ends = String(this.#state.next - 1).padStart(digits, '0');
    // After a fault between the two steps the file may have been moved already, and is only to be opened.
    if (this.#length > 0) await rename(this.#path, join(folder, `${name}-${ends}.log`));
    this.#length = 0;
    this.#file = await this.#open();
    await syncFolder(folder);
    this.#options.movedAside?.();
  }
}

/** Names of the files of a chain, oldest first; the one that is written now is last. */
export async function chainFiles(folder: string, name: string): Promise<string[]> {
  const aside = new RegExp(`^${name}-\\d{${digits}}\\.log$`);
  const names = await readdir(folder).catch(() => [] as string[]);
  const full = names.filter((one) => aside.test(one)).sort();
  return names.includes(`${name}.log`) ? [...full, `${name}.log`] : full;
}

export async function lastLineOf(path: string): Promise<string | undefined> {
  const file = await open(path, 'r');
  try {
    return (await tailOf(file)).last;
  } finally {
    await file.close();
  }
}

interface Tail {
  /** `torn`: the bytes behind the last whole line. */
  end: { size: number; keep: number; torn: string };
  last: string | undefined;
}

async function tailOf(file: ChainHandle): Promise<Tail> {
  const { size } = await file.stat();
  const from = Math.max(0, size - tailBytes);
  const tail = Buffer.alloc(size - from);
  await file.read(tail, 0, tail.length, from);
  const end = tail.lastIndexOf(0x0a) + 1;
  const torn = tail.subarray(end).toString('utf8');
  if (end === 0) return { end: { size, keep: from, torn }, last: undefined };
  const last = tail.subarray(tail.lastIndexOf(0x0a, end - 2) + 1, end - 1).toString('utf8');
  return { end: { size, keep: from + end, torn }, last };
}

/** Without it a power loss may take a new name away, and with it lines that were acknowledged. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whoever compares the file with a copy finds it shorter. */
export function tellCutOff(
  { cutOff }: ChainFile,
  log: Log,
  { component, what }: { component: string; what: string },
): void {
  if (cutOff === 0) return;
  log.warn(
    { component, bytes: cutOff },
    `the last line of the ${what} was not whole and is removed; a line that a crash cuts off was never acknowledged`,
  );
}
