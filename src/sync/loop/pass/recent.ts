// What happened lately in one engine, for a person who asks: the delays and writes of the last hour, and the last writes of objects.
// The oldest are forgotten beyond a bound, so that a hundred thousand objects need no more memory than a few.
import type { Key } from '../../../object/meta/object.ts';
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
}

export class Recent {
  readonly hour = new MeasuredHour();
  readonly #writes = new Map<string, LastWrite>();

  noteWrite(object: { kind: string; key: Key }, request: PlannedRequest, atMs: number): void {
    this.hour.noteWrite(atMs);
    const name = `${object.kind} ${object.key}`;
    const body = bodyOf(request);
    this.#writes.delete(name);
    this.#writes.set(name, {
      request: `${request.side} ${request.verb}`,
      atMs,
      ...(body !== undefined && body.length <= longestBody && { body }),
    });
    if (this.#writes.size > writesKept) this.#writes.delete(this.#writes.keys().next().value as string);
  }

  lastWrite({ kind, key }: { kind: string; key: Key }): LastWrite | undefined {
    return this.#writes.get(`${kind} ${key}`);
  }
}

/** A large body is not even written out: a pass must not pay for a text that nobody keeps. */
function bodyOf(request: PlannedRequest): string | undefined {
  const body = 'mergePatch' in request ? request.mergePatch : 'object' in request ? request.object : undefined;
  return body !== undefined && membersIn(body, mostMembers) <= mostMembers ? JSON.stringify(body) : undefined;
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
