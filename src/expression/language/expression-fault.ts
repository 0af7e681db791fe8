// Faults and warnings about an expression before it runs, and their positions.
import type { AnyNode } from 'acorn';

export interface ExpressionFault {
  /** syntax: the text is not one JavaScript expression. rejected: the expression uses something that is not allowed. */
  kind: 'syntax' | 'rejected';
  /** Counts from 1 in the text of the expression. */
  line: number;
  column: number;
  message: string;
  fix: string;
}

/** A fault at a node, before its line and column are computed. */
export interface NodeFault {
  at: AnyNode;
  message: string;
  fix: string;
}

export interface ExpressionWarning {
  line: number;
  column: number;
  /** A stable name that a reader can look up. */
  rule: string;
  message: string;
  fix: string;
}

export function placeOf(source: string, index: number): { line: number; column: number } {
  const before = source.slice(0, index).split(/\r\n|[\n\r\u2028\u2029]/);
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

const shownLength = 80;

/** Shortens a text of the configuration to one line for a message. */
export function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= shownLength ? line : `${line.slice(0, shownLength - 1)}…`;
}
