// What happened lately in one engine, for a person who asks: the delays and writes of the last hour, and the last writes of objects.
// The oldest are forgotten beyond a bound, so that a hundred thousand objects need no more memory than a few.
import type { Key } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { HostItem } from '../../plan/kind.ts';
import type { PlannedRequest } from '../../plan/step.ts';
import { MeasuredHour } from './measured-hour.ts';

const writesKept = 256;
/** A longer body is not kept. */
const longestBody = 4_096;
const mostMembers = 200;

export interface LastWrite {
  /** Side and verb, such as `host patch`. */
  request: string;
  atMs: number;
  /** Body of the request, JSON; undefined for a removal, and when it is long. */
  body?: string;
  /** The values that the request replaces, JSON; undefined when there were none, and when they are long. */
  before?: string;
  isLong?: true;
}

export class Recent {
  readonly hour = new MeasuredHour();
  readonly #writes = new Map<string, LastWrite>();

  /** `was` is the object before the write. */
  noteWrite(
    object: { kind: string; key: Key },
    request: PlannedRequest,
    { was, atMs }: { was: object | undefined; atMs: number },
  ): void {
    this.hour.noteWrite(atMs);
    const name = `${object.kind} ${object.key}`;
    this.#writes.delete(name);
    this.#writes.set(name, { request: `${request.side} ${request.verb}`, atMs, ...textsOf(request, was) });
    if (this.#writes.size > writesKept) this.#writes.delete(this.#writes.keys().next().value as string);
  }

  lastWrite({ kind, key }: { kind: string; key: Key }): LastWrite | undefined {
    return this.#writes.get(`${kind} ${key}`);
  }
}

/** An object as people are shown it: what is kept of its metadata, and the fields of its kind. */
export function shownObject(
  {
    namespace,
    name,
    labels = {},
    annotations = {},
    ownerReferences,
  }: Pick<HostItem, 'namespace' | 'name' | 'labels' | 'annotations' | 'ownerReferences'>,
  payload: object,
): object {
  const metadata = { namespace, name, labels, annotations, ...(ownerReferences && { ownerReferences }) };
  return { metadata, ...payload };
}

/** The new values without the old ones would read as if there had been none, so both are kept or neither. */
function textsOf(request: PlannedRequest, was: object | undefined): Pick<LastWrite, 'body' | 'before' | 'isLong'> {
  const body = 'mergePatch' in request ? request.mergePatch : 'object' in request ? request.object : undefined;
  const before = body === undefined || was === undefined ? was : touched(was, body);
  const [bodyText, beforeText] = [textOf(body), textOf(before)];
  if (bodyText === undefined || beforeText === undefined) return { isLong: true };
  return { ...(bodyText !== '' && { body: bodyText }), ...(beforeText !== '' && { before: beforeText }) };
}

/** Empty for no value, undefined for a large one, which is not even written out: a pass must not pay for a text that nobody keeps. */
function textOf(value: object | undefined): string | undefined {
  if (value === undefined) return '';
  const text = membersIn(value, mostMembers) <= mostMembers ? JSON.stringify(value) : undefined;
  return text !== undefined && text.length <= longestBody ? text : undefined;
}

/** The members that a merge patch names. */
function touched<T>(was: T, mergePatch: unknown): T {
  if (!isRecord(was) || !isRecord(mergePatch)) return was;
  const names = Object.keys(mergePatch).filter((name) => was[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, touched(was[name], mergePatch[name])])) as T;
}

/** Stops counting beyond `most`. */
function membersIn(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let members = 0;
  for (const one of Object.values(value)) {
    members += membersIn(one, most - members);
    if (members > most) break;
  }
  return members;
}
