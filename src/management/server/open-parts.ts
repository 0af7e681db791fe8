// Opens the folder of the management API and everything that is built on it: the store, the secrets, the people, the keys, and the
// rights. In: settings, a clock, a log. Out: the parts. Each part is opened after the parts that it needs.
import { randomBytes } from 'node:crypto';
import type { Kind } from '../../apiserver/kinds/kind.ts';
import { reviewKinds } from '../../apiserver/kinds/review-kinds.ts';
import { FailedLogins } from '../../apiserver/limits/failed-logins.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { makeFolder } from '../../apiserver/tls/secret-files.ts';
import type { Log } from '../../log.ts';
import { StoreFault } from '../../store/errors.ts';
import type { Followers } from '../../store/follow/follower.ts';
import type { Store } from '../../store/store.ts';
import { AuditLog, type AuditLogOptions } from '../audit/audit.ts';
import { ChainFile } from '../audit/chain/chain-file.ts';
import { openForDamage } from '../audit/chain/find-damage.ts';
import { removeOldFiles } from '../audit/chain/retention.ts';
import { type Issuing, openIssuing } from '../credentials/credentials.ts';
import { markWhole, type OthersUses } from '../keys/book/activity-store.ts';
import type { KeyBook } from '../keys/book/key-book.ts';
import { SuppliedValues } from '../keys/book/supplied-values.ts';
import { Callers, deadText, type Session } from '../keys/callers/callers.ts';
import { Misses } from '../keys/callers/misses.ts';
import { Rights } from '../keys/callers/rights.ts';
import type { RulingConfiguration } from '../keys/callers/ruling-configuration.ts';
import type { UserDirectory } from '../keys/callers/user-directory.ts';
import { auditName, makeDataFolder } from '../keys/folder/data-folder.ts';
import { KeyCounts } from '../keys/key-metrics.ts';
import { contextOf, type KeyOptions, KeyStrategy } from '../keys/key-strategy.ts';
import { keyKind } from '../keys/keys.ts';
import type { Activity } from '../keys/life/activity.ts';
import { type KeyWorld, makersOf } from '../keys/life/credential.ts';
import type { KeyFacts } from '../keys/life/key-facts.ts';
import { stateByOthers as stateOfOthers } from '../keys/life/key-state.ts';
import { rotateKey } from '../keys/rotate-key.ts';
import { pageSeal } from '../keys/secret/page-seal.ts';
import type { Peppers } from '../keys/secret/pepper.ts';
import type { Database } from './host/database-for.ts';
import { markIn } from './host/store-marks.ts';
import { openStored, type StoredOptions } from './open-stored.ts';
import type { SecretVersions } from './secret-versions.ts';

export interface OpenParts {
  /** The database below the store, for a backup. */
  database: Database;
  revocations: ChainFile;
  /** What is missing in it. */
  journalDamage: string | undefined;
  peppers: Peppers;
  store: Store;
  /** What is known here of the store must be believed only while they are not behind. */
  followers: Followers;
  activity: Activity;
  /** What other replicas know of uses. */
  uses: OthersUses;
  supplied: SuppliedValues | undefined;
  /** Where several replicas get their secrets at different times. */
  versions: SecretVersions | undefined;
  /** Where several replicas have a configuration each. */
  ruling: RulingConfiguration | undefined;
  people: UserDirectory;
  book: KeyBook;
  callers: Callers;
  rights: Rights;
  audit: AuditLog;
  failedLogins: FailedLogins;
  /** Binds continue tokens to their callers. */
  pageSeal(user: User, text: string): string;
  key: Kind;
  /** The revision of the last change to what the user may see. */
  visibleSince(user: User): { since: number } | undefined;
  lastActivityMs(facts: KeyFacts): number | undefined;
  world: KeyWorld;
  counts: KeyCounts;
  issuing: Issuing;
}

export interface OpenOptions extends StoredOptions {
  /** Not started yet. */
  database: Database;
  /** The issuer in tokens. */
  baseURL: string;
  /** The kinds that an owner can be of. */
  kinds: () => readonly Kind[];
  /** Called when a revocation cannot be stored. */
  revocationsLost(): void;
}

export async function openParts(options: OpenOptions): Promise<OpenParts> {
  const { database } = options;
  await makeDataFolder(options.folder);
  if (options.secretsFolder !== options.folder) await makeFolder(options.secretsFolder, 0o700);
  // From here on no other process has the folder.
  await database.start().catch((error: unknown) => {
    throw withWayOut(error, database);
  });
  const opened: { stop(): Promise<void> }[] = [database];
  try {
    const mark = await markIn(database);
    if (mark !== undefined) throw new Error(`open the store: ${mark}`);
    return await partsOf(database, options, opened);
  } catch (error) {
    for (const part of opened.reverse()) await part.stop();
    // Damage may lie where only the keys are read.
    throw withWayOut(error, database);
  }
}

/** `opened`: the parts that must be stopped when a later part cannot be opened. */
async function partsOf(
  database: Database,
  options: OpenOptions,
  opened: { stop(): Promise<void> }[],
): Promise<OpenParts> {
  const { folder, settings, clock, log, kinds, baseURL: issuer } = options;
  const { secrets, digest, lostOfJournal, ...kept } = await openStored(database, options, opened);
  const { store, followers, activity, versions, people, book, uses } = kept;
  const { peppers, cipher } = secrets;
  const lastActivityMs = ({ record, times }: KeyFacts) => activity.forExpiryMs(record.uid, times.ttl);
  const world = worldOf({ people, book, lastActivityMs });
  const misses = database.shared && new Misses({ store, followers, clock });
  const others = misses === undefined ? {} : { misses, usesOfOthers: () => uses.read() };
  const callers = new Callers({ book, world, peppers, activity, clock, ...others });
  const rights = new Rights(callers, () => people.directory, world.key);
  const limits = () => settings().keys;
  const stateByOthers: KeyOptions['stateByOthers'] = (record, nowMs) => stateOfOthers({ record }, world, nowMs);
  const { shared } = database;
  const supplied =
    shared &&
    new SuppliedValues({
      ...{ store, followers, secret: secrets.auditKey, clock },
      ...{ mayAct: shared.sweeps, replica: shared.replica, others: shared.others },
    });
  const keyParts: KeyOptions = {
    ...{ book, people, callers, activity, peppers, supplied, cipher, random, limits, clock, kinds, stateByOthers },
  };
  const key = keyKind({
    strategy: new KeyStrategy(keyParts),
    callers,
    directory: () => people.directory,
    viewSince: (session) => viewSince(session, people, book),
    rotation: rotateKey(store, keyParts),
  });
  const reads = () => settings().audit.reads;
  const movedAside = () => void audit.removeOld();
  const file = new ChainFile({ folder, name: auditName, digest, movedAside });
  const removeOld: AuditLogOptions['removeOld'] = (note) =>
    removeOldFiles({ folder, name: auditName, digest, keep: settings().audit.keepFiles, note });
  const audit = new AuditLog({
    ...{ file, clock, log, callers, reads, removeOld, headBefore: shared?.saidBefore().audit },
    lostElsewhere: lostOfJournal,
    openForDamage: (isStopping) => openForDamage({ folder, name: auditName, digest, clock, isStopping }),
  });
  await audit.start();
  opened.push(audit);
  shared?.tells(() => ({ audit: audit.head }));
  const callerOf = (user: User) => {
    const session = callers.sessionOf(user);
    if (session === undefined) return undefined;
    return { context: contextOf(keyParts, session), subject: session.credential.subject, facts: session.facts };
  };
  const userOf = (session: Session) => callers.userOf(session);
  const visibleSince = (user: User) => {
    const session = callers.sessionOf(user);
    return session === undefined ? undefined : { since: viewSince(session, people, book) };
  };
  const { revocationsLost } = options;
  const about = {
    folder: options.secretsFolder,
    store,
    followers,
    world,
    clock,
    log,
    issuer,
    visibleSince,
    revocationsLost,
  };
  const issuing = await openIssuing({
    ...about,
    callerOf,
    deadText,
    userOf,
    misses,
    mayRenew: () => database.shared?.sweeps() ?? true,
    openKeys: (open) => versions?.openTokenKeys(open) ?? open(),
  });
  book.onChange((uid) => {
    issuing.ledger.changed(uid);
    supplied?.release(uid);
  });
  supplied?.start();
  const pageSealed = { pageSeal: pageSeal(secrets.auditKey) };
  const given = { peppers, database, ...kept };
  const made = {
    callers,
    visibleSince,
    rights,
    audit,
    failedLogins: new FailedLogins(clock),
    key,
    lastActivityMs,
    world,
    supplied,
    counts: new KeyCounts({ book, world, clock }),
    issuing,
  };
  opened.length = 0;
  return { ...given, ...made, ...pageSealed };
}

/** The store knows no command that mends it. */
function withWayOut(error: unknown, { shared }: Database): unknown {
  if (!(error instanceof StoreFault)) return error;
  if (error.code !== 'STORE_CORRUPT' && error.code !== 'STORE_RECORD_ASIDE') return error;
  const { code, message, cause } = error;
  const ofRecord = message.includes(': a newer version')
    ? 'start that version here too'
    : 'put the old data of that Secret back, or see `hostward docs replicas`';
  const wayOut =
    shared === undefined
      ? 'bring back a backup with "hostward restore FOLDER", which moves the damaged file aside'
      : ofRecord;
  return new StoreFault(code, `${message}; ${wayOut}`, { cause });
}

const random = (count: number) => randomBytes(count);

function worldOf({ people, book, lastActivityMs }: Pick<OpenParts, 'people' | 'book' | 'lastActivityMs'>): KeyWorld {
  return {
    get directory() {
      return people.directory;
    },
    key: (name) => book.key(name),
    lastActivityMs,
    subjectUid: (kind, name) => people.subjectUid(kind, name),
    instanceUid: (project, name) => people.instanceUid(project, name),
  };
}

/** The scopes of the keys that made a key narrow it as well. */
function viewSince({ facts }: Session, people: UserDirectory, book: KeyBook): number {
  if (facts === undefined) return people.viewSince;
  const makers = makersOf(facts, book) ?? [];
  return Math.max(people.viewSince, ...[facts, ...makers].map(({ name }) => book.viewSince(name)));
}

export async function closeParts(parts: OpenParts, log: Log): Promise<void> {
  await parts.issuing.stop();
  await parts.supplied?.stop();
  await parts.book.stop();
  await parts.people.stop();
  await parts.ruling?.stop();
  await parts.versions?.stop();
  await parts.uses.stop();
  await parts.audit.stop();
  try {
    await parts.activity.stop();
    await markWhole(parts.store, parts.database.shared?.replica);
  } catch (error) {
    log.error({ component: 'management', error: String(error) }, 'uses of keys not written down');
  }
  await parts.store.stop();
  await parts.revocations.stop();
  await parts.database.stop();
}

/** Callers ask about themselves alone. */
export function selfReviews({ rights }: OpenParts): Kind[] {
  return reviewKinds(rights).filter(({ kind }) => kind.startsWith('Self'));
}
