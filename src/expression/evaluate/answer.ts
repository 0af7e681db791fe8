// Parses the answers of the sandbox. The sandbox ran foreign code, so an answer of any unexpected shape is refused as a whole.
// The caller checks the meaning of the results.
import { isRecord } from '../../object/text/json.ts';
import { realmLimits } from '../limits.ts';
import type { ValueGroup } from './request.ts';

/** The answer to one group: mostly the list of its results, when all values changed and no value failed. */
export type GroupAnswer = readonly unknown[] | PartialAnswer;

export interface PartialAnswer {
  /** Indexes of the changed values, in the order of `results`. */
  changed: readonly number[];
  results: readonly unknown[];
  faults: readonly AnswerFault[];
}

export function isList(answer: GroupAnswer): answer is readonly unknown[] {
  return Array.isArray(answer);
}

/** The results of all values of a group; a value without an entry in the answer is unchanged. */
export function resultsOf(values: readonly unknown[], answer: GroupAnswer): readonly unknown[] {
  if (isList(answer)) return answer;
  const all = [...values];
  for (const [next, at] of answer.changed.entries()) all[at] = answer.results[next];
  return all;
}

export interface AnswerFault {
  at: number;
  kind: 'threw' | 'size' | 'type';
  message: string;
  /** Offset into the generated code when the realm traces faults; -1 otherwise. */
  offset: number;
}

export function readAnswers(text: string, groups: readonly Pick<ValueGroup, 'values'>[]): GroupAnswer[] | undefined {
  // The realm writes no longer answer, and parsing a full frame would block the event loop for seconds.
  if (text.length > realmLimits.answer) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed) || parsed.length !== groups.length) return undefined;
  const answers: GroupAnswer[] = [];
  for (let at = 0; at < groups.length; at++) {
    const answer = readAnswer(parsed[at], (groups[at] as ValueGroup).values.length);
    if (answer === undefined) return undefined;
    answers.push(answer);
  }
  return answers;
}

function readAnswer(part: unknown, size: number): GroupAnswer | undefined {
  if (Array.isArray(part)) {
    return part.length === size && !areTooDeep(part) ? part : undefined;
  }
  if (!isRecord(part) || Object.keys(part).length !== 3) return undefined;
  const { changed, results, faults } = part;
  if (isMessage(faults)) return areEmpty(changed, results) ? tooLarge(size, faults) : undefined;
  if (!Array.isArray(results) || !Array.isArray(faults) || areTooDeep(results)) return undefined;
  if (!areIndexes(changed, size) || changed.length !== results.length) return undefined;
  // A value has a result or a fault, never both; the metrics count the values without a fault as successes.
  if (changed.length + faults.length > size) return undefined;
  const read = readFaults(faults, size);
  return read && { changed, results, faults: read };
}

function readFaults(faults: readonly unknown[], size: number): AnswerFault[] | undefined {
  const read: AnswerFault[] = [];
  for (const fault of faults) {
    if (!Array.isArray(fault) || !isIndex(fault[0], size) || !isMessage(fault[2])) return undefined;
    const kind: unknown = fault[1];
    if (kind !== 'threw' && kind !== 'size' && kind !== 'type') return undefined;
    const offset: unknown = fault[3];
    if (typeof offset !== 'number' || !Number.isInteger(offset)) return undefined;
    read.push({ at: fault[0], kind, message: fault[2], offset });
  }
  return read;
}

/** The realm writes no longer message, and removing secrets from megabytes would block the event loop. */
function isMessage(message: unknown): message is string {
  return typeof message === 'string' && message.length <= realmLimits.message;
}

/** The realm makes no deeper result, and a recursive walk over a deeper one would run out of stack. */
function areTooDeep(results: readonly unknown[]): boolean {
  for (const result of results) {
    if (typeof result === 'object' && result !== null && isTooDeep(result)) return true;
  }
  return false;
}

function isTooDeep(result: object): boolean {
  let level: object[] = [result];
  for (let depth = 0; depth <= realmLimits.resultDepth; depth++) {
    if (level.length === 0) return false;
    level = level.flatMap((part) => objectsIn(Object.values(part)));
  }
  return level.length > 0;
}

function objectsIn(parts: readonly unknown[]): object[] {
  return parts.filter((part): part is object => typeof part === 'object' && part !== null);
}

function areEmpty(...lists: unknown[]): boolean {
  return lists.every((list) => Array.isArray(list) && list.length === 0);
}

/** One message of the realm for all values of a group. */
function tooLarge(size: number, message: string): PartialAnswer {
  return {
    changed: [],
    results: [],
    faults: Array.from({ length: size }, (_, at) => ({ at, kind: 'size', message, offset: -1 })),
  };
}

function areIndexes(list: unknown, size: number): list is number[] {
  if (!Array.isArray(list)) return false;
  for (const at of list) if (!isIndex(at, size)) return false;
  return true;
}

function isIndex(at: unknown, size: number): at is number {
  return typeof at === 'number' && Number.isInteger(at) && at >= 0 && at < size;
}
