// The report of a long run: a head line with the commit, a line for each seed, an end line. A run that was stopped goes on behind its last
// whole line.
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import type { SeedLine } from './tally.ts';

export interface ReportHead {
  commit: string;
  from: number;
  seeds: number;
}

export class ReportFault extends Error {}

export class ReportFile {
  readonly #path: string;
  readonly done = new Map<number, SeedLine>();
  /** What was said about the file when it was opened. */
  note: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  open(head: ReportHead): void {
    if (!existsSync(this.#path)) {
      writeFileSync(this.#path, `${JSON.stringify(head)}\n`);
      return;
    }
    const text = readFileSync(this.#path, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const [first, ...lines] = whole.split('\n').filter((line) => line !== '');
    const old = parsed<ReportHead>(first);
    if (old?.commit === undefined)
      throw new ReportFault(`report "${this.#path}": its head is cut off or none; name another file`);
    if (old.commit !== head.commit)
      throw new ReportFault(
        `report "${this.#path}": it is of commit ${old.commit}, and this is ${head.commit}; name another file`,
      );
    if (old.from !== head.from || old.seeds !== head.seeds)
      throw new ReportFault(
        `report "${this.#path}": it is of the seeds ${old.from} to ${old.from + old.seeds - 1}; ask for the same, or name another file`,
      );
    for (const line of lines) {
      const one = parsed<SeedLine>(line);
      if (one === undefined)
        throw new ReportFault(`report "${this.#path}": a line in its middle is no JSON; name another file`);
      if (typeof one.seed === 'number') this.done.set(one.seed, one);
    }
    if (whole.length < text.length) {
      truncateSync(this.#path, Buffer.byteLength(whole));
      this.note = `report "${this.#path}": its last line was cut off, and its seed is played again`;
    }
  }

  add(line: SeedLine): void {
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
