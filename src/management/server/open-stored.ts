// Opens what the folder and the store of the management API hold: the secrets, the journal, and what is read from the store into
// memory. In: a running database. Out: these parts, each of which follows the store.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { ManagementSettings } from '../../config/settings/management-settings.ts';
import type { Log } from '../../log.ts';
import { Followers } from '../../store/follow/follower.ts';
import type { StoreEvent } from '../../store/store.ts';
import { keyedDigest, lostEnd } from '../audit/chain/chain.ts';
import { ChainFile, tellCutOff } from '../audit/chain/chain-file.ts';
import { JournaledStore } from '../audit/journal/journaled-store.ts';
import { revokedBy } from '../audit/journal/revoked-by.ts';
import { activityPrefix, activityStore, loadActivity, OthersUses } from '../keys/book/activity-store.ts';
import { KeyBook, keyPrefix } from '../keys/book/key-book.ts';
import { hiddenPart } from '../keys/book/stored-key.ts';
import { RulingConfiguration } from '../keys/callers/ruling-configuration.ts';
import { recordsPrefix, UserDirectory } from '../keys/callers/user-directory.ts';
import { checkSecrets, openSecrets, revocationsName, type Secrets } from '../keys/folder/data-folder.ts';
import { Activity } from '../keys/life/activity.ts';
import type { Database } from './host/database-for.ts';
import { wayOutOfRollback } from './host/host-database.ts';
import { SecretVersions } from './secret-versions.ts';

export interface StoredOptions {
  folder: string;
  /** Of the secrets that every replica has. */
  secretsFolder: string;
  /** Returns the present settings. */
  settings: () => ManagementSettings;
  clock: Clock;
  log: Log;
}

/** `opened`: the parts that must be stopped when a later part cannot be opened. */
export async function openStored(
  database: Database,
  { folder, secretsFolder, settings, clock, log }: StoredOptions,
  opened: { stop(): Promise<void> }[],
) {
  const { shared } = database;
  const keys = await database.list(keyPrefix, { limit: 1 });
  const hasKeys = keys.kind !== 'page' || keys.records.length > 0;
  const secrets = await openSecrets(secretsFolder, randomBytes, hasKeys);
  const digest = keyedDigest(secrets.auditKey);
  const revocations = new ChainFile({ folder, name: revocationsName, digest });
  await revocations.start();
  tellCutOff(revocations, log, { component: 'management', what: 'journal of revocations' });
  opened.push(revocations);
  const lost = lostEnd('journal of revocations', revocations.head, shared?.saidBefore().journal);
  const journalDamage = lost && `${lost.sentence}; bring it back from a copy before you run "hostward store recover"`;
  if (journalDamage !== undefined) log.error({ component: 'management', ...revocations.head }, journalDamage);
  shared?.tells(() => ({ journal: revocations.head }));
  const ofSeveral = shared && {
    remedy: wayOutOfRollback,
    begins: () => ({ replica: shared.replica, others: shared.journals() }),
  };
  const journal = { file: revocations, clock, log, revokedBy: takenAway, ...ofSeveral };
  const followers = new Followers({ store: database, clock, log });
  const store = new JournaledStore({ store: database, ...journal });
  await store.start();
  opened.push(store);
  const versions =
    shared && new SecretVersions({ store, followers, shared, secrets, folder: secretsFolder, clock, log });
  if (versions === undefined) await mustHaveSecrets(store, secrets, secretsFolder);
  else {
    opened.push(versions);
    await versions.start();
  }
  const activity = new Activity(clock, activityStore(store), (error) =>
    log.error({ component: 'management', error: String(error) }, 'uses of keys not written down'),
  );
  await loadActivity(store, activity, database.shared?.replica);
  const uses = new OthersUses({ store, activity, clock });
  opened.push(uses);
  if (database.shared !== undefined) uses.start();
  // Who has the store alone decides alone.
  const others = () => shared?.others().flatMap(({ words }) => words.configuration ?? []) ?? [];
  const ruling = shared && new RulingConfiguration({ store, followers, clock, log, others }, settings());
  await ruling?.start();
  if (ruling !== undefined) {
    opened.push(ruling);
    shared?.tells(() => ({ configuration: ruling.name }));
  }
  const people = new UserDirectory({ store, followers, clock }, ruling?.settings ?? settings());
  await people.start();
  opened.push(people);
  const book = new KeyBook(followers, (uid) => {
    // Most keys that end were never used, and each write is one of the host.
    if (activity.forget(uid))
      void store.writeSideValues(new Map([[activityPrefix + uid, undefined]])).catch(() => undefined);
  });
  await book.start();
  opened.push(book);
  return {
    secrets,
    digest,
    revocations,
    journalDamage,
    lostOfJournal: lost?.lines,
    store,
    followers,
    activity,
    versions,
    ruling,
    people,
    book,
    uses,
  };
}

const takenAway = (event: StoreEvent) =>
  revokedBy(event, { keyPrefix, recordsPrefix, recordOf: (object) => hiddenPart(object)?.record });

async function mustHaveSecrets(store: JournaledStore, secrets: Secrets, folder: string): Promise<void> {
  const check = await checkSecrets(store, secrets, { folder, isShared: false });
  if (check.kind === 'late')
    throw new Error(
      `read the secrets in ${folder}: wanted pepper ${check.wanted}, with which keys were made; bring secrets.json back from a backup, or see \`hostward docs bad-days\` for a lost pepper`,
    );
}
