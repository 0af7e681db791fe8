// How large a body and a stored object of an API may be. A tenant chooses: an embedded cluster has the limits of Kubernetes, an
// API of small objects has small ones. An object that is larger already, because it was stored under other limits, is served and
// deleted, and each write must make it smaller.
import type { FieldError } from '../../object/meta/field-error.ts';
import type { ObjectMeta } from '../../object/meta/object.ts';
import { invalid, requestEntityTooLarge } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import { plainFailure, StatusFault } from '../request/status-fault.ts';
import { faultSubject, type Kind } from './kind.ts';

type CountedField = 'labels' | 'annotations' | 'finalizers' | 'ownerReferences' | 'managedFields';

export interface ObjectLimits {
  bodyBytes: number;
  storedBytes: number;
  /** The most entries of each list and map in the metadata; absent = any number that fits into the bytes. */
  counts: Partial<Readonly<Record<CountedField, number>>>;
  /** Annotations that the server adds itself: a client that has the most that it may have must still be able to write. */
  ownAnnotations?: ReadonlySet<string>;
}

/** A body may be twice the size of an etcd request, and an object as large as one: clients of Kubernetes are built for that. */
export const kubernetesLimits: ObjectLimits = {
  bodyBytes: 3 * 1024 * 1024,
  storedBytes: 1.5 * 1024 * 1024,
  counts: {},
};

/** `before` is the stored text that the write replaces; `spareBytes` is what the kind lets this write have beyond the limit. */
export function checkSize(text: string, before: string | undefined, limits: ObjectLimits, spareBytes = 0): void {
  const storedBytes = limits.storedBytes + spareBytes;
  // UTF-8 needs at most three bytes for one UTF-16 unit, so most texts need no byte count.
  if (text.length * 3 <= storedBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= storedBytes) return;
  const bytesBefore = before === undefined ? 0 : Buffer.byteLength(before);
  if (bytes < bytesBefore) return;
  const found = `limit is ${storedBytes} bytes for an object, and this one would have ${bytes}`;
  const why = bytesBefore > storedBytes ? `${found}; it has ${bytesBefore}, and a change must make it smaller` : found;
  throw plainFailure('etcdserver: request is too large', requestEntityTooLarge(why));
}

/** Of metadata from a client, whose types nobody has checked yet. In a patch, null takes an entry away and is not counted. */
export function countErrors(metadata: unknown, before: ObjectMeta | undefined, limits: ObjectLimits): FieldError[] {
  if (!isRecord(metadata)) return [];
  const { counts, ownAnnotations } = limits;
  return Object.entries(counts).flatMap(([field, most]) => {
    const count = entriesIn(metadata[field], ownAnnotations);
    if (count <= most || count <= entriesIn(before?.[field as CountedField], ownAnnotations)) return [];
    const message = `Too many: ${count}: must have at most ${most} items`;
    return [{ type: 'FieldValueTooMany' as const, path: `metadata.${field}`, message }];
  });
}

/** Runs before the object is merged, compared and validated, because each of these looks at every entry. */
export function checkCounts(
  object: unknown,
  { kind, name, before, limits }: { kind: Kind; name: string; before: ObjectMeta | undefined; limits: ObjectLimits },
): void {
  const errors = countErrors(isRecord(object) ? object['metadata'] : undefined, before, limits);
  if (errors.length > 0) throw new StatusFault(invalid(faultSubject(kind), name, errors));
}

function entriesIn(value: unknown, uncounted: ReadonlySet<string> | undefined): number {
  if (Array.isArray(value)) return value.length;
  if (!isRecord(value)) return 0;
  let count = 0;
  for (const name in value) if (value[name] !== null && uncounted?.has(name) !== true) count++;
  return count;
}
