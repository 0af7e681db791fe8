// JSON values and the three things every patch needs of them: a private copy, equality and safe own members. Values come
// from JSON.parse or from literals, so an object may have an own member called __proto__; it is data like any other.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [member: string]: Json };

/** An object with keys, not a list; what its members are nobody looked at. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same where the whole came from JSON. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

/** The member, never anything inherited. */
export function memberOf(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * A map that inherits nothing, so that any text can be a key of it. What `Object.create(null)` makes is a hash table to the
 * engine, and several times slower to fill and to read.
 */
export function emptyMap<V>(): Record<string, V> {
  return new (Bare as unknown as new () => Record<string, V>)();
}

function Bare(): void {}
Bare.prototype = Object.create(null);

/** Plain assignment to __proto__ would change the prototype instead of making a member. */
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
  // In the form that the original has, which the engine knows: several times quicker than member by member.
  const copy: JsonObject = { ...value };
  for (const name in copy) {
    const member = copy[name];
    // JSON has no undefined; a value that was built in code may.
    if (member === undefined) delete copy[name];
    else if (typeof member === 'object' && member !== null) setMember(copy, name, copyJson(member));
  }
  return copy;
}

/**
 * Order of members does not count, order of items does. A member that is undefined, as a value that was built in code may
 * have, is not there.
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
