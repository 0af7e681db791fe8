// What can be wrong with an expression before it ever runs, and how such a fault says where.
import type { AnyNode } from 'acorn';

export interface ExpressionFault {
  /** syntax: not one JavaScript expression. rejected: one, but it uses what the sandbox does not offer. */
  kind: 'syntax' | 'rejected';
  /** 1-based, in the text of the expression. */
  line: number;
  column: number;
  message: string;
  fix: string;
}

/** The same before its place is known in lines and columns. */
export interface NodeFault {
  at: AnyNode;
  message: string;
  fix: string;
}

export interface ExpressionWarning {
  line: number;
  column: number;
  /** Stable name, so that a reader can look it up. */
  rule: string;
  message: string;
  fix: string;
}

export function placeOf(source: string, index: number): { line: number; column: number } {
  const before = source.slice(0, index).split(/\r\n|[\n\r\u2028\u2029]/);
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

const shownLength = 80;

/** Text of the configuration inside a message: on one line and short. */
export function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= shownLength ? line : `${line.slice(0, shownLength - 1)}…`;
}
