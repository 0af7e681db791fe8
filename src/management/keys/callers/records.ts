// Records of the names in the configuration: users, teams, projects, clusters and virtual clusters, each with a uid that keys pin.
// A name that disappears is suspended at once and comes back with its keys within seven days. After that its uid is retired, so
// that a new owner of the name gets no old keys. Pure: records and names in, changed records out.
import type { Directory } from '../../scope/directory.ts';

export type RecordKind = 'user' | 'team' | 'project' | 'cluster' | 'virtualCluster';

export interface NamedRecord {
  kind: RecordKind;
  /** `project/name` for a virtual cluster. */
  name: string;
  uid: string;
  firstSeenMs: number;
  /** When the name was first missed; undefined while the configuration has it. */
  removedMs: number | undefined;
  /** Uids that the name had before; `keys reattach` brings the keys of one back. */
  retired: readonly { uid: string; atMs: number }[];
}

/** A typo in a file must not kill keys, and a leaver's name must not stay open for ever. */
export const comesBackWithinMs = 7 * 24 * 60 * 60 * 1000;

/** Only a script removes and makes one name more often than this; then the oldest uids are forgotten. */
const maxRetired = 16;

export function recordKey({ kind, name }: Pick<NamedRecord, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}

export function namesOf(directory: Directory): Pick<NamedRecord, 'kind' | 'name'>[] {
  const { settings } = directory;
  return [
    ...directory.userNames.map((name) => ({ kind: 'user' as const, name })),
    ...settings.teams.map(({ name }) => ({ kind: 'team' as const, name })),
    ...settings.clusters.map(({ name }) => ({ kind: 'cluster' as const, name })),
    ...settings.projects.flatMap((project) => [
      { kind: 'project' as const, name: project.name },
      ...project.virtualClusters.map(({ name }) => ({
        kind: 'virtualCluster' as const,
        name: `${project.name}/${name}`,
      })),
    ]),
  ];
}

/** The records that must be written, and nothing that stays as it is. */
export function changedRecords(
  records: ReadonlyMap<string, NamedRecord>,
  names: readonly Pick<NamedRecord, 'kind' | 'name'>[],
  from: { nowMs: number; newUid: () => string },
): NamedRecord[] {
  const { nowMs, newUid } = from;
  const present = new Set(names.map(recordKey));
  const changed: NamedRecord[] = [];
  for (const name of names) {
    const record = records.get(recordKey(name));
    if (record === undefined) {
      changed.push({ ...name, uid: newUid(), firstSeenMs: nowMs, removedMs: undefined, retired: [] });
    } else if (record.removedMs !== undefined) {
      const returned = { ...record, removedMs: undefined };
      changed.push(isRetired(record, nowMs) ? retire(returned, newUid(), nowMs) : returned);
    }
  }
  for (const [key, record] of records) {
    if (!present.has(key) && record.removedMs === undefined) changed.push({ ...record, removedMs: nowMs });
  }
  return changed;
}

function isRetired(record: NamedRecord, nowMs: number): boolean {
  return record.removedMs !== undefined && nowMs >= record.removedMs + comesBackWithinMs;
}

/** The uid that keys must have pinned to count; undefined while the name is missing. */
export function currentUid(record: NamedRecord | undefined): string | undefined {
  return record === undefined || record.removedMs !== undefined ? undefined : record.uid;
}

function retire(record: NamedRecord, uid: string, nowMs: number): NamedRecord {
  const retired = [...record.retired, { uid: record.uid, atMs: nowMs }].slice(-maxRetired);
  return { ...record, uid, firstSeenMs: nowMs, retired };
}

export type Reattached = { ok: true; record: NamedRecord } | { ok: false; message: string };

/** The present name takes a retired uid again, and the present one is retired in its place. */
export function reattach(record: NamedRecord, uid: string, nowMs: number): Reattached {
  const { kind, name, retired } = record;
  if (record.removedMs !== undefined) return { ok: false, message: `${kind} ${name} is not in the configuration` };
  if (record.uid === uid) return { ok: false, message: `${kind} ${name} has the uid ${uid} already` };
  if (!retired.some((one) => one.uid === uid))
    return { ok: false, message: `${kind} ${name} never had the uid ${uid}` };
  const others = retired.filter((one) => one.uid !== uid);
  return { ok: true, record: { ...record, uid, retired: [...others, { uid: record.uid, atMs: nowMs }] } };
}
