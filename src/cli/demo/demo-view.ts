// The demo's rows as text: a frame for a terminal of any size, or a line per change for everything else. Pure; the screen
// below only moves the cursor.

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
  /** Why an object is not on the host, where the daemon knows. */
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
  // The footer is worth less than the table: on a low terminal it goes first.
  const wantsFooter = lines >= footer.length + 8;
  const room = Math.max(1, lines - 3 - (wantsFooter ? footer.length + 1 : 0));
  const shown = rows.length > room ? rows.slice(0, room - 1) : rows;
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
    // All copies stand in one namespace, which the title names.
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

/** The alternate screen: whatever the terminal's size was or becomes, a frame overwrites the last one in place. */
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

  /** In one write, each line cleared to its end and nothing cleared before: that is what flickers. */
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
