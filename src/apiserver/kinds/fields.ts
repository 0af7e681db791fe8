// Careful reading of objects whose shape nobody promises.
import { isRecord } from '../../object/text/json.ts';

/** The value at a path of member names; undefined as soon as there is nothing to go into. */
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

/** The member as a map that may be written to, made when it is missing. */
export function mapAt(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const found = value[name];
  if (isRecord(found)) return found;
  const made: Record<string, unknown> = {};
  value[name] = made;
  return made;
}

export function setDefault(value: Record<string, unknown>, name: string, fallback: unknown): void {
  const found = value[name];
  if (found === undefined || found === null || found === '') value[name] = fallback;
}
