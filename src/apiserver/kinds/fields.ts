// Reads fields of objects that may have any shape: a missing or wrongly typed member yields a default instead of an exception.
import { isRecord } from '../../object/text/json.ts';

/** The value at a path of member names, or undefined where the path breaks off. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}

export function text(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function items(value: unknown, ...path: readonly string[]): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The member as a map for writing; creates the map when the member is missing. */
export function mapAt(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const found = value[name];
  if (isRecord(found)) return found;
  const created: Record<string, unknown> = {};
  value[name] = created;
  return created;
}

export function setDefault(value: Record<string, unknown>, name: string, fallback: unknown): void {
  const found = value[name];
  if (found === undefined || found === null || found === '') value[name] = fallback;
}
