// JSON values and the operations that every patch needs: copy, equality and safe access to members. In: values from JSON.parse
// or from literals, where __proto__ can be an ordinary member. Out: the same, never a changed prototype. Must know no kind.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [member: string]: Json };

/** Whether the value is an object and not a list. The members are not checked. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As isRecord(), for a value that came from JSON. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

/** Undefined for a text that is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Those items of a list that are objects; none when the value is no list. */
export function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Those items of a list that are texts; none when the value is no list. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The members of every object in the order of their names, so that equal values have equal texts. */
export function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inKeyOrder(member)]));
}

/** An own member, never an inherited one. */
export function memberOf(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * A map without inherited members, so that every text can be a key. The engine treats the result of `Object.create(null)` as a
 * hash table, which is several times slower to fill and to read.
 */
export function emptyMap<V>(): Record<string, V> {
  return new (Bare as unknown as new () => Record<string, V>)();
}

function Bare(): void {}
Bare.prototype = Object.create(null);

/** A plain assignment to __proto__ would change the prototype instead of creating a member. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}

export function copyJson<T extends Json>(value: T): T;
export function copyJson(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  if (!isJsonObject(value)) return value;
  // The spread keeps the hidden class of the original, which is several times faster than a copy member by member.
  const copy: JsonObject = { ...value };
  for (const name in copy) {
    const member = copy[name];
    // JSON has no undefined, but a value built in code may have it.
    if (member === undefined) delete copy[name];
    else if (typeof member === 'object' && member !== null) setMember(copy, name, copyJson(member));
  }
  return copy;
}

/**
 * The order of members does not matter, the order of items does. An undefined member, which a value built in code may have,
 * counts as absent.
 */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  for (const name of Object.keys(a)) if (!equalJson(a[name], memberOf(b, name))) return false;
  return Object.keys(b).every((name) => Object.hasOwn(a, name) || b[name] === undefined);
}

/** For messages: the sort of a value, never the value itself, which may be a secret. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'none';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
