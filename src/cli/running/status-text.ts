// Prints the daemon's status for people: facts become lines, lists become tables. The text knows only the verdict and
// the messages by name, so that an older command line shows every field of a newer daemon.

import {
  columnsOf,
  type StatusJson as Facts,
  isBlock,
  isFacts,
  say,
  stateOrder,
  titleOf,
  wordsOf,
} from '../../sync/report/words.ts';
import { wrap } from '../line/help.ts';
import { textTable } from '../line/text-table.ts';

/** A narrower terminal gets tables of this width. */
const narrowest = 40;

/** Rows of one list about one object: more than a person reads, and fewer than push the rest out of sight. */
const mostRows = 20;

interface Measure {
  width: number;
  /** Of each list. */
  rows: number;
}

/** Without a width nothing is cut or wrapped, because a program may search the text for a name. */
export function statusText(status: unknown, columns = Number.POSITIVE_INFINITY): string {
  return textOf(status, { width: columns, rows: Number.POSITIVE_INFINITY });
}

/** Of one object. A tenant's object may have thousands of annotations, and each has a row. */
export function objectText(status: unknown, columns = Number.POSITIVE_INFINITY): string {
  return textOf(status, { width: columns, rows: mostRows });
}

function textOf(status: unknown, { width, rows }: Measure): string {
  const lines = isFacts(status) ? section(status, { width: Math.max(width, narrowest), rows }) : [say(status)];
  return `${lines.join('\n')}\n`;
}

/** A table with a row for each object. */
export function objectsText({ objects }: Facts, columns = Number.POSITIVE_INFINITY): string {
  const rows = (objects as readonly Facts[]).toSorted((a, b) => rankOf(a) - rankOf(b) || compare(a, b));
  const width = Math.max(columns, narrowest);
  const body = rows.length === 0 ? ['no such object'] : table(rows.map(inOrder), width);
  return `${body.join('\n')}\n`;
}

function rankOf({ state }: Facts): number {
  const rank = stateOrder.indexOf(String(state).split('/')[0] as string);
  return rank < 0 ? stateOrder.length : rank;
}

function compare(a: Facts, b: Facts): number {
  const textOf = ({ state, object }: Facts) => `${state} ${object}`;
  return textOf(a) < textOf(b) ? -1 : 1;
}

/** Fixes the order of the columns, because the first rows may lack some members. */
function inOrder({ object, state, sinceSeconds, message, ...more }: Facts): Facts {
  return { object, state, sinceSeconds, ...more, message };
}

function section(facts: Facts, { width, rows }: Measure): string[] {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  const plain = entries.filter(([, value]) => !isBlock(value));
  const blocks = entries.filter(([, value]) => isBlock(value));
  const widest = Math.max(0, ...plain.map(([name]) => wordsOf(name).length));
  const lines = plain.flatMap(([name, value]) => {
    const head = `${wordsOf(name)}:`.padEnd(widest + 2);
    const [first = '', ...more] = wrap(say(value), Math.max(20, width - head.length));
    return [`${head}${first}`, ...more.map((line) => ' '.repeat(head.length) + line)];
  });
  for (const [name, value] of blocks) {
    if (lines.length > 0) lines.push('');
    lines.push(titleOf(name), ...block(value, { width: width - 2, rows }).map((line) => `  ${line}`));
  }
  return lines;
}

function block(value: unknown, { width, rows }: Measure): string[] {
  if (isFacts(value)) return section(value, { width, rows });
  const all = value as readonly unknown[];
  // One row more takes no more room than the line that says so.
  const items = all.length > rows + 1 ? newsFirst(all).slice(0, rows) : all;
  const left = all.length - items.length;
  const more = left > 0 ? [`and ${withCommas(left)} more; -o json has all`] : [];
  if (all.every(isFacts)) return [...table(items as readonly Facts[], width), ...more];
  const lines = items.flatMap((item) => {
    const [first = '', ...rest] = wrap(say(item), width - 2);
    return [`- ${first}`, ...rest.map((line) => `  ${line}`)];
  });
  return [...lines, ...more];
}

/** Keys that both sides have alike tell least. */
function newsFirst(items: readonly unknown[]): readonly unknown[] {
  return items.toSorted((one, other) => Number(isSame(one)) - Number(isSame(other)));
}

function isSame(item: unknown): boolean {
  return isFacts(item) && item['verdict'] === 'same';
}

function withCommas(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function table(rows: readonly Facts[], width: number): string[] {
  const names = columnsOf(rows);
  const columns = names.map((name) => {
    const isNumber = rows.every((row) => row[name] === undefined || typeof row[name] === 'number');
    return {
      title: wordsOf(name).toUpperCase(),
      align: isNumber ? ('right' as const) : ('left' as const),
      shrinksTo: 12,
    };
  });
  return textTable(
    columns,
    rows.map((row) => names.map((name) => say(row[name], '-'))),
    width,
  );
}
