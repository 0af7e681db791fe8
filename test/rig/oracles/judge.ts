// Compares what is in both clusters with what the model expects, in the terms of model/types.ts.
import type {
  AbsentObject,
  Expectation,
  ExpectedObject,
  Json,
  OpenField,
  PlainObject,
  PlainSide,
} from '../model/words/types.ts';

export interface Difference {
  /** Without names and values, so that the same mistake has the same words. */
  kind: string;
  what: string;
}

type Present = Readonly<Record<PlainSide, readonly PlainObject[]>>;

export function judge({ objects, absent }: Expectation, now: Present): Difference[] {
  const found: Difference[] = [];
  const expected = new Map(objects.map((one) => [idOf(one.side, one.object), one]));
  const reasons = new Map(absent.map((one) => [absentId(one), one.because]));
  for (const side of ['virtual', 'host'] as const) {
    for (const object of now[side]) {
      const id = idOf(side, object);
      const one = expected.get(id);
      expected.delete(id);
      if (one !== undefined) found.push(...differences(one, object, id));
      else {
        const because = reasons.get(id) ?? 'the model names it nowhere';
        found.push({
          kind: `${side} ${object.kind} too many`,
          what: `${id} must not exist (${because}): ${shown(object)}`,
        });
      }
    }
  }
  for (const [id, { side, object, exists, because }] of expected)
    if (exists === 'must')
      found.push({ kind: `${side} ${object.kind} missing`, what: `${id} must exist (${because}): ${shown(object)}` });
  return found;
}

function idOf(
  side: PlainSide,
  { kind, metadata }: { kind: string; metadata: { namespace: string; name: string } },
): string {
  return `${side} ${kind} ${metadata.namespace}/${metadata.name}`;
}

function absentId({ side, kind, namespace, name }: AbsentObject): string {
  return idOf(side, { kind, metadata: { namespace, name } });
}

/** What nobody can compute, and what says nothing. */
const uncompared = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields', 'selfLink'];

function differences({ object, open, because }: ExpectedObject, present: PlainObject, id: string): Difference[] {
  const wanted = comparable(object);
  const got = comparable(present);
  const found: Difference[] = [];
  const say = (path: readonly string[], want: unknown, have: unknown): void => {
    const at = path.join('.');
    found.push({
      kind: `${id.split(' ').slice(0, 2).join(' ')} ${path.slice(0, 3).join('.')}`,
      what: `${id} at ${at} (${because}): wanted ${shown(want)}, found ${shown(have)}`,
    });
  };
  for (const field of open) {
    const value = take(got, field.path);
    take(wanted, field.path);
    if (!isAllowed(field, value)) say(field.path, field.values ?? 'a value', value);
  }
  compare(wanted, got, [], say);
  return found;
}

function isAllowed({ values, mayLack }: OpenField, value: unknown): boolean {
  if (value === undefined) return mayLack === true;
  return values === undefined || values.some((one) => same(one, value));
}

type Say = (path: readonly string[], wanted: unknown, found: unknown) => void;

function compare(wanted: unknown, found: unknown, path: readonly string[], say: Say): void {
  if (isMap(wanted) && isMap(found)) {
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(found)]))
      compare(wanted[key], found[key], [...path, key], say);
  } else if (!same(wanted, found)) say(path, wanted, found);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** A copy without what is not compared; an empty map or list is the same as none. */
function comparable(object: object): Record<string, unknown> {
  const { metadata, ...rest } = object as { metadata: Record<string, unknown> };
  const kept = { ...metadata };
  for (const field of uncompared) delete kept[field];
  return pruned({ ...rest, metadata: kept }) as Record<string, unknown>;
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((one) => pruned(one) ?? {});
  if (!isMap(value)) return value ?? undefined;
  const members = Object.entries(value).flatMap(([key, member]) => {
    const kept = pruned(member);
    return kept === undefined ? [] : [[key, kept] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** Removes the value at the path and returns it. */
function take(from: Record<string, unknown>, path: readonly string[]): Json | undefined {
  let at: unknown = from;
  for (const key of path.slice(0, -1)) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  if (typeof at !== 'object' || at === null) return undefined;
  const last = path.at(-1) ?? '';
  const value = (at as Record<string, unknown>)[last] as Json | undefined;
  delete (at as Record<string, unknown>)[last];
  return value;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 700);
}
