// Turns the demo's rows into text: a frame for a terminal of any size, or one line for each change. Pure functions; only the
// Screen class writes.

import { safeValue } from '../../safe-text.ts';
import type { Sink } from '../line/context.ts';
import { textTable } from '../line/text-table.ts';
import type { BoardRow } from './demo-board.ts';

export interface FrameInput {
  rows: readonly BoardRow[];
  columns: number;
  lines: number;
  title: string;
  footer: readonly string[];
  /** Why an object is not on the host, if the daemon knows the reason. */
  reasonOf(key: string): string | undefined;
}

const tableColumns = [
  { title: 'VIRTUAL OBJECT', shrinksTo: 14 },
  { title: 'HOST OBJECT', shrinksTo: 14 },
  { title: 'LAST CHANGE', shrinksTo: 8 },
  { title: 'LAG MS', align: 'right' as const },
  { title: 'STATE', shrinksTo: 10 },
];

export function frameOf({ rows, columns, lines, title, footer, reasonOf }: FrameInput): string[] {
  // On a low terminal the footer is left out, because the table matters more.
  const wantsFooter = lines >= footer.length + 8;
  const rowLimit = Math.max(1, lines - 3 - (wantsFooter ? footer.length + 1 : 0));
  const shown = rows.length > rowLimit ? rows.slice(0, rowLimit - 1) : rows;
  const table = textTable(
    tableColumns,
    shown.map((row) => cellsOf(row, reasonOf)),
    columns,
  );
  const rest = rows.length > shown.length ? [`… and ${rows.length - shown.length} more`] : [];
  const frame = [title, '', ...table, ...rest, ...(wantsFooter ? ['', ...footer] : [])];
  return frame.slice(0, lines).map((line) => line.slice(0, columns));
}

function cellsOf(row: BoardRow, reasonOf: (key: string) => string | undefined): string[] {
  const reason = row.state === 'in sync' ? undefined : reasonOf(row.key);
  return [
    row.key,
    // The title names the namespace of all copies.
    row.hostPlace.slice(row.hostPlace.indexOf('/') + 1),
    `${row.lastChange.side}, ${agoText(row.lastChange.agoMs)}`,
    lagText(row.lagMs),
    reason ?? row.state,
  ];
}

/** One line for a pipe or a log. */
export function plainLine(row: BoardRow): string {
  const lag = row.lagMs === undefined ? '' : ` after ${lagText(row.lagMs)} ms`;
  return `${row.key} -> ${row.hostPlace}: changed on the ${row.lastChange.side} side, in sync${lag}`;
}

export function lagText(lagMs: number | undefined): string {
  return lagMs === undefined ? '-' : lagMs.toFixed(lagMs < 10 ? 1 : 0);
}

function agoText(agoMs: number): string {
  const seconds = Math.floor(agoMs / 1000);
  if (seconds < 1) return 'now';
  if (seconds < 120) return `${seconds} s ago`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3600)} h ago`;
}

const controlStart = '\u001b[';

/** Draws on the alternate screen, where each frame overwrites the frame before it at any terminal size. */
export class Screen {
  #sink: Sink;
  #isOpen = false;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  open(): void {
    this.#isOpen = true;
    this.#sink.control(`${controlStart}?1049h${controlStart}?25l`);
  }

  /** Draws in one write and clears only the rest of each line, because clearing the screen first would flicker. */
  draw(frame: readonly string[]): void {
    if (!this.#isOpen) return;
    const body = frame.map((line) => `${safeValue(line)}${controlStart}K`).join('\r\n');
    this.#sink.control(`${controlStart}?2026h${controlStart}H${body}${controlStart}J${controlStart}?2026l`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#sink.control(`${controlStart}?25h${controlStart}?1049l`);
  }
}
