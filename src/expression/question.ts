// What an answer is remembered by: all of a request that it can depend on, part by part, each a plain value. Requests with the
// same parts say the same to the sandbox, and to compare parts takes half the time that it takes to write a text. Pure.
import { isRecord } from '../object/json.ts';
import { hashSome, mixed } from '../object/text-hash.ts';
import { isShown } from './context-use.ts';
import type { ValueGroup } from './request.ts';

export interface Question {
  parts: readonly unknown[];
  /** Where it is kept; questions that share a place are told apart by their parts. */
  key: number;
  /** Of the request, where it had to be written for this. */
  text: string | undefined;
}

export function questionOf(parts: readonly unknown[], text?: string): Question {
  return { parts, key: hashOf(parts), text };
}

/**
 * To look at each character of each part would take longer than what it is for. What then shares a place are lists that are
 * alike, and there are no more of them than is remembered in all.
 */
export function hashOf(parts: readonly unknown[]): number {
  const whole = Math.max(leastOfText, Math.floor(looksAtText / parts.length));
  // Odd, as every second part may be the same in all: a value and its path, and again.
  const stride = Math.ceil(parts.length / looksAtParts) | 1;
  let hash = parts.length;
  for (let at = parts.length - 1; at >= 0; at -= stride) {
    const part = parts[at];
    if (typeof part === 'string') hash = hashSome(part, hash, whole);
    else if (typeof part === 'number') hash = isInt32(part) ? mixed(hash ^ part) : hashSome(`${part}`, hash, whole);
  }
  return hash;
}

function isInt32(number: number): boolean {
  return (number | 0) === number;
}

const looksAtParts = 128;
/** Characters, of all texts together, but so many of each. */
const looksAtText = 384;
const leastOfText = 8;

export function areSame(parts: readonly unknown[], others: readonly unknown[]): boolean {
  if (parts.length !== others.length) return false;
  for (let at = 0; at < parts.length; at++) {
    if (parts[at] !== others[at]) return false;
  }
  return true;
}

export interface Role {
  index: number;
  usesPath: boolean;
}

// No value is a symbol, so these stand for nothing else.
const notThere = Symbol('not there');
const noObject = Symbol('no object');

/** Which expression they are for, and what it is told of them. False where one of them is no plain value. */
export function addValues(
  parts: unknown[],
  { index, usesPath }: Role,
  { values, missing, paths }: ValueGroup,
): boolean {
  parts.push(index, values.length);
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (typeof value === 'object' && value !== null) return false;
    if (missing?.has(at)) parts.push(notThere);
    parts.push(value);
    if (usesPath) parts.push(paths?.[at] ?? '');
  }
  return true;
}

/** What stands at the ends of the chains of keys. False where that is more than plain values. */
export function addSeen(parts: unknown[], object: unknown, chains: readonly (readonly string[])[]): boolean {
  if (object === undefined || object === null) {
    parts.push(noObject);
    return true;
  }
  return chains.every((chain) => addEnd(parts, object, chain));
}

function addEnd(parts: unknown[], object: unknown, chain: readonly string[]): boolean {
  let node = object;
  for (let depth = 0; depth < chain.length; depth++) {
    const key = chain[depth] as string;
    if (!isRecord(node)) return false;
    if (!isShown(node, key)) {
      // Where it ends is told as well: what would be further down is an error to ask for.
      parts.push(notThere, depth);
      return true;
    }
    node = node[key];
  }
  if (typeof node === 'object' && node !== null) return false;
  parts.push(node);
  return true;
}
