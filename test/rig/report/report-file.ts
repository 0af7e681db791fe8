// The report of a long run: a head line with the commit, a line for each seed, an end line. A run that was stopped goes on behind its last
// whole line.
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { whyNoFile } from '../../../bench/blackbox/output-place.ts';
import type { SeedLine } from './tally.ts';

export interface ReportHead {
  commit: string;
  from: number;
  seeds: number;
}

export class ReportFault extends Error {}

/** The lines behind the head of a report of the same commit. A new one is begun, a last line that was cut off goes. */
function goOn<Head extends { commit: string }, Line>(
  path: string,
  head: Head,
): { old: Head; lines: Line[]; note?: string } {
  const why = whyNoFile(path);
  if (why !== undefined) throw new ReportFault(`report "${path}"${why}`);
  if (!existsSync(path)) {
    writeFileSync(path, `${JSON.stringify(head)}\n`);
    return { old: head, lines: [] };
  }
  const text = readFileSync(path, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const [first, ...lines] = whole.split('\n').filter((line) => line !== '');
  const old = parsed<Head>(first);
  if (old?.commit === undefined)
    throw new ReportFault(`report "${path}": its head is cut off or none; name another file`);
  if (old.commit !== head.commit)
    throw new ReportFault(
      `report "${path}": it is of commit ${old.commit}, and this is ${head.commit}; name another file`,
    );
  const read = lines.map((line) => {
    const one = parsed<Line>(line);
    if (one === undefined)
      throw new ReportFault(`report "${path}": a line in its middle is no JSON; name another file`);
    return one;
  });
  if (whole.length === text.length) return { old, lines: read };
  truncateSync(path, Buffer.byteLength(whole));
  return { old, lines: read, note: `report "${path}": its last line was cut off, and what it told is played again` };
}

export class ReportFile {
  readonly #path: string;
  readonly done = new Map<number, SeedLine>();
  /** What was said about the file when it was opened. */
  note: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  open(head: ReportHead): void {
    const { old, lines, note } = goOn<ReportHead, SeedLine>(this.#path, head);
    if (old.from !== head.from || old.seeds !== head.seeds)
      throw new ReportFault(
        `report "${this.#path}": it is of the seeds ${old.from} to ${old.from + old.seeds - 1}; ask for the same, or name another file`,
      );
    for (const line of lines) if (typeof line.seed === 'number') this.done.set(line.seed, line);
    this.note = note;
  }

  add(line: SeedLine): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}

/** How far the search for one planted mistake has come. */
export interface MistakeLine {
  mistake: string;
  /** Stories and seeds that were asked. */
  tried: number;
  isOver: boolean;
  found?: string;
  /** What another oracle says of a mistake that the model has not noticed. */
  beside?: string;
}

export class MistakeReport {
  readonly #path: string;
  /** The last line of each mistake. */
  readonly done = new Map<string, MistakeLine>();

  constructor(path: string, commit: string) {
    this.#path = path;
    for (const line of goOn<{ commit: string }, MistakeLine>(path, { commit }).lines) this.done.set(line.mistake, line);
  }

  add(line: MistakeLine): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}

function parsed<T>(line: string | undefined): T | undefined {
  try {
    return JSON.parse(line ?? '') as T;
  } catch {
    return undefined;
  }
}
