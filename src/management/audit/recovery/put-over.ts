// Brings restored keys and names to their last state, as far as the journal knows it. In: a store with the content of a backup.
// Out: the number of changed keys, by kind of change.
import { toStoredText } from '../../../apiserver/wire/stored-text.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';
import { keyPrefix } from '../../keys/book/key-book.ts';
import { hiddenPart } from '../../keys/book/stored-key.ts';
import { recordsPrefix } from '../../keys/callers/user-directory.ts';
import { disabledByRestore, reapply, withRecord } from '../journal/journal.ts';
import type { Known } from './known-revocations.ts';

export interface Applied {
  /** Keys of the backup. */
  keys: number;
  deleted: number;
  /** Narrowed, disabled, enabled or rotated since. */
  changed: number;
  /** Disabled because the revocations since the backup are not completely known. */
  disabled: number;
  /** Names of those that are disabled because somebody had edited their records by hand when they were last seen. */
  doubted: string[];
}

/** Keys that are read between two turns of the event loop, and written with one commit. */
const pageRecords = 500;
/** Above the generation of any direct token that was issued since the backup: a key is not changed so often. */
const blindGenerations = 1_000_000;

export interface PutOverOptions {
  /** For want of a journal. */
  disablesKeys: boolean;
  /** No revocation can be unknown; default: what the journal says. */
  isComplete?: boolean;
  /** Above the generation of every key of the store, and the same when an attempt is repeated; absent = there is only one attempt. */
  blindFrom?: number;
}

export async function putOver(store: Store, known: Known, options: PutOverOptions): Promise<Applied> {
  const applied: Applied = { keys: 0, deleted: 0, changed: 0, disabled: 0, doubted: [] };
  for (const [name, record] of known.names)
    await mustWrite(store, recordsPrefix + name, { expect: undefined, value: JSON.stringify(record) });
  const atRevision = await store.currentRevision();
  let afterKey: string | undefined;
  for (;;) {
    const place = afterKey === undefined ? {} : { afterKey };
    const page = await store.list(keyPrefix, { atRevision, limit: pageRecords, ...place });
    if (page.kind !== 'page')
      throw new Error('restore the keys: the store has compacted the revision that was being read; try again');
    await Promise.all(page.records.map((record) => onKey(store, record, { ...options, known, applied })));
    afterKey = page.records.at(-1)?.key;
    if (!page.hasMore) return applied;
  }
}

async function onKey(
  store: Store,
  { key, value, revision }: StoredRecord,
  of: PutOverOptions & { known: Known; applied: Applied },
): Promise<void> {
  const { known, disablesKeys, isComplete = known.journal.kind === 'whole', blindFrom, applied } = of;
  const object = JSON.parse(value) as KubeObject;
  const part = hiddenPart(object);
  if (part === undefined) return;
  applied.keys++;
  const revocation = known.revocations.get(part.record.uid);
  let now: KubeObject | undefined = revocation === undefined ? object : reapply(object, revocation);
  if (now === undefined) {
    applied.deleted++;
    await mustWrite(store, key, { expect: revision, value: undefined });
    return;
  }
  if (toStoredText(now) !== toStoredText(object)) applied.changed++;
  if (revocation?.isDoubted === true) applied.doubted.push(part.record.name);
  if (!isComplete) {
    if (disablesKeys && !isDisabled(now)) {
      applied.disabled++;
      now = disabledByRestore(now);
    }
    const generation = hiddenPart(now)?.record.tokenGeneration ?? 0;
    const tokenGeneration = Math.max(generation, (blindFrom ?? generation) + blindGenerations);
    now = withRecord(now, { tokenGeneration });
  }
  const text = toStoredText(now);
  if (text === value) return;
  const metadata = { ...now.metadata, generation: (now.metadata.generation ?? 0) + 1 };
  await mustWrite(store, key, { expect: revision, value: toStoredText({ ...now, metadata }) });
}

/** A revocation that another program has kept from being written would be lost without a word. */
async function mustWrite(store: Store, key: string, change: Parameters<Store['write']>[1]): Promise<void> {
  const written = await store.write(key, change);
  if (written.ok || (change.value === undefined && written.current === undefined)) return;
  throw new Error(`bring back "${key}": another program writes to the store; stop it and try again`);
}

function isDisabled(object: KubeObject): boolean {
  return isRecord(object['spec']) && object['spec']['disabled'] === true;
}
