// What this replica itself has written down of revoked keys, for the start: heartbeats say nothing of the two minutes before the last
// one. In: the journal in dataDir. Out: whether a key is older than its last revocation.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../../object/meta/object.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';
import { keyedDigest } from '../../audit/chain/chain.ts';
import { chainFiles } from '../../audit/chain/chain-file.ts';
import { type Revocation, replayJournal } from '../../audit/journal/journal.ts';
import { keyPrefix } from '../../keys/book/key-book.ts';
import { hiddenPart } from '../../keys/book/stored-key.ts';
import { readSecrets, revocationsName } from '../../keys/folder/data-folder.ts';

export class OwnJournal {
  readonly #folder: string;
  #read: () => ReadonlyMap<string, Revocation> = () => new Map();
  #revocations: ReadonlyMap<string, Revocation> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(secretsFolder: string): Promise<void> {
    const secrets = await readSecrets(secretsFolder);
    if (secrets === undefined) return;
    const names = await chainFiles(this.#folder, revocationsName);
    const textOf = (name: string) => readFileSync(join(this.#folder, name), 'utf8');
    this.#read = () => replayJournal(names.map(textOf), keyedDigest(secrets.auditKey)).revocations;
  }

  /** Whether the store holds a key as it was before its last revocation. Revisions only rise, so that store was set back. */
  async isAheadOf(store: Pick<Store, 'list'>): Promise<boolean> {
    this.#revocations ??= this.#read();
    if (this.#revocations.size === 0) return false;
    const page = await store.list(keyPrefix);
    return page.kind === 'page' && page.records.some((record) => this.#isRevived(record));
  }

  #isRevived({ value, revision }: StoredRecord): boolean {
    const object = JSON.parse(value) as KubeObject;
    const last = this.#revocations?.get(hiddenPart(object)?.record.uid ?? '');
    // A record that was edited by hand counts as deleted; when it is put back, its revision is higher than that of the revocation.
    return last !== undefined && object.metadata.deletionTimestamp === undefined && revision < last.revision;
  }

  /** `replaced`: the revision before the record. */
  isRevoked({ key, value, revision }: StoredRecord, replaced = 0): boolean {
    if (!key.startsWith(keyPrefix)) return false;
    const object = JSON.parse(value) as KubeObject;
    this.#revocations ??= this.#read();
    const last = this.#revocations.get(hiddenPart(object)?.record.uid ?? '');
    if (last === undefined) return false;
    if (last.isDeleted) return object.metadata.deletionTimestamp === undefined;
    return revision !== last.revision && replaced < last.revision;
  }
}
