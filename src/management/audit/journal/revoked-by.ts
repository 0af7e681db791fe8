// Finds the revocations in a change of the store: the event of a write in, entries for the journal of revocations out. Pure. A new
// key revokes nothing. A later change of a key's limits is recorded in full, because the last entry about a key decides.
import type { KubeObject } from '../../../object/meta/object.ts';
import type { StoreEvent } from '../../../store/store.ts';
import type { NamedRecord } from '../../keys/callers/records.ts';
import type { KeyRecord } from '../../keys/secret/key-record.ts';
import { limitsOf } from './journal.ts';
import type { Revoked } from './journaled-store.ts';

export interface StoredPlaces {
  keyPrefix: string;
  recordsPrefix: string;
  /** Reads a stored key; undefined for an object of another kind. */
  recordOf(object: KubeObject): KeyRecord | undefined;
}

export function revokedBy(event: StoreEvent, places: StoredPlaces): readonly Revoked[] {
  if (event.key.startsWith(places.recordsPrefix) && event.type === 'put') return nameChanged(event);
  if (!event.key.startsWith(places.keyPrefix)) return [];
  if (event.doubt !== undefined) return doubtIn(event, places);
  if (event.previous === undefined) return [];
  const before = partsOf(event.previous, places);
  if (before === undefined) return [];
  const now = event.type === 'put' ? partsOf(event.value, places) : undefined;
  return changed(before, now);
}

interface Parts {
  object: KubeObject;
  record: KeyRecord;
}

function partsOf(text: string, { recordOf }: StoredPlaces): Parts | undefined {
  const object = JSON.parse(text) as KubeObject;
  const record = recordOf(object);
  return record === undefined ? undefined : { object, record };
}

function changed(before: Parts, now: Parts | undefined): Revoked[] {
  const { uid, name } = before.record;
  const isSame = now?.record.uid === uid;
  // A key that is being deleted authenticates no more, so that it is as dead as one that is gone.
  if (!isSame || now.object.metadata.deletionTimestamp !== undefined)
    return before.object.metadata.deletionTimestamp === undefined ? [{ uid, name, change: { kind: 'deleted' } }] : [];
  const revoked: Revoked[] = [];
  const { grantedGroups, tokenGeneration, secrets, id } = now.record;
  const record = { grantedGroups, tokenGeneration };
  const limits = limitsOf(now.object);
  const old = { grantedGroups: before.record.grantedGroups, tokenGeneration: before.record.tokenGeneration };
  if (differ([limits, record], [limitsOf(before.object), old]))
    revoked.push({ uid, name, change: { kind: 'limits', limits, record } });
  if (differ([secrets, id], [before.record.secrets, before.record.id]))
    revoked.push({ uid, name, change: { kind: 'secrets', secrets, id } });
  return revoked;
}

/** Whoever edits a record by hand revokes the key as long as nobody believes the record, and it is good again when it is mended. */
function doubtIn({ doubt, value }: StoreEvent, places: StoredPlaces): Revoked[] {
  const parts = partsOf(value, places);
  if (parts === undefined) return [];
  const { uid, name } = parts.record;
  return [{ uid, name, change: { kind: doubt === 'begins' ? 'doubted' : 'believed' } }];
}

function nameChanged({ value }: StoreEvent): Revoked[] {
  const record = JSON.parse(value) as NamedRecord;
  return [{ uid: '', name: record.name, change: { kind: 'name', record } }];
}

function differ(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
