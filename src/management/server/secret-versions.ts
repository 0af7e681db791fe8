// Versions of peppers and token keys where several replicas share a store and get their folder of secrets at different times. A new
// version is used only when every living replica has said that it has it, and a replica that lacks one in use answers nobody: it
// could only refuse what is good. In: the folder, the heartbeats of the others, two records of the store. Out: which versions are used.
import { createHash } from 'node:crypto';
import { type Clock, pause, type Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { isRecord } from '../../object/text/json.ts';
import type { Follower, Followers } from '../../store/follow/follower.ts';
import type { Store } from '../../store/store.ts';
import { keySetMaxAgeSeconds, shortIdLength, shortKeyId, TokenKeys } from '../credentials/tokens/token-keys.ts';
import { checkSecrets, pepperInUse, proofKey, proofOf, readSecrets, type Secrets } from '../keys/folder/data-folder.ts';
import type { Pepper } from '../keys/secret/pepper.ts';
import { differentPepper, type ReplicaWords, type Shared } from './host/shared-store.ts';

export interface SecretVersionsOptions {
  store: Pick<Store, 'get' | 'write'>;
  followers: Followers;
  shared: Shared;
  secrets: Secrets;
  folder: string;
  clock: Clock;
  log: Log;
}

/** Of both records. */
const prefix = '/management/secrets-';
const tokenKeyKey = `${prefix}token-key`;

const lookEveryMs = 4_000;
/** A kubelet delivers a changed Secret within two minutes. */
const waitForMs = 150_000;
const waitEveryMs = 1_000;
/** A replica that has just begun says what it has with its first heartbeats. */
const pepperSettlesMs = 10_000;
/** Verifiers may have an older key set for so long after the last replica published the key. */
const tokenKeySettlesMs = keySetMaxAgeSeconds * 1000;

interface TokenKeyInUse {
  /** After a restore or a migration the folder counts again. */
  epoch: string;
  id: string;
  sinceMs: number;
}

export class SecretVersions {
  readonly #parts: SecretVersionsOptions;
  readonly #followed: Follower;
  #keys: TokenKeys | undefined;
  #tokenKey: TokenKeyInUse | undefined;
  /** The version of the pepper with which other replicas make keys, while it has not arrived here. */
  #lacking: number | undefined;
  /** What the store said last of the pepper in use. */
  #proof: string | undefined;
  /** Since when every living replica has a version, by its name. */
  readonly #everywhereMs = new Map<string, number>();
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isStopped = false;
  #said = '';

  constructor(parts: SecretVersionsOptions) {
    this.#parts = parts;
    this.#followed = parts.followers.of({
      prefix,
      what: 'versions of secrets',
      found: ({ key, value }) => this.#heard(key, value),
      changed: ({ type, key, value }) => {
        if (type === 'put') this.#heard(key, value);
      },
    });
  }

  /** Resolves when the peppers that are in use are here. */
  async start(): Promise<void> {
    const { store, secrets, folder, shared } = this.#parts;
    shared.tells(() => this.#words());
    await this.#untilHere(async () => {
      const check = await checkSecrets(store, secrets, { folder, isShared: true });
      if (check.kind === 'good') return undefined;
      await this.#readPeppers();
      return `pepper ${check.wanted}, with which other replicas make keys; put it into secrets.json there`;
    });
    await this.#followed.start();
  }

  /** Resolves when the key that signs tokens is here. `open` makes keys where there are none. */
  async openTokenKeys(open: () => Promise<TokenKeys>): Promise<TokenKeys> {
    const { folder } = this.#parts;
    const { inUse: known } = await this.#storedTokenKey();
    if (known !== undefined && this.#isElsewhere(known.id) && (await TokenKeys.areAbsentIn(folder)))
      throw new Error(
        `read token-keys.json in ${folder}: other replicas have keys that sign tokens, and this folder has none; every replica needs the same folder. To end all tokens, stop every replica first`,
      );
    const keys = await open();
    this.#keys = keys;
    if (keys.areNew || known === undefined) await this.#agreeOn(keys.due(this.#nowMs()), keys.areNew);
    await this.#untilHere(async () => {
      const { inUse } = await this.#storedTokenKey();
      if (inUse === undefined || keys.ids.includes(inUse.id)) return undefined;
      await keys.readAgain();
      return `token key ${shortKeyId(inUse.id)}, which signs on other replicas; copy their token-keys.json there, or stop every replica and remove the file to end all tokens`;
    });
    this.#look();
    return keys;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#looking;
    await this.#followed.stop();
  }

  /** Why this replica could refuse what is good; undefined while it has everything in use. */
  get trouble(): string | undefined {
    const { folder } = this.#parts;
    if (this.#lacking !== undefined)
      return `pepper ${this.#lacking}, with which other replicas make keys, has not arrived in ${folder}`;
    const id = this.#tokenKey?.id;
    if (id === undefined || this.#keys === undefined || this.#keys.ids.includes(id)) return undefined;
    return `token key ${shortKeyId(id)}, which signs on other replicas, has not arrived in ${folder}`;
  }

  /** What somebody must mend before a new version can be used; keys are made and judged with the ones in use. */
  get difference(): string | undefined {
    const { shared, secrets, folder } = this.#parts;
    const other = differentPepper(secrets.peppers.versions.map(pepperName), shared.others());
    return (
      other &&
      `pepper ${other.version} has other bytes on replica ${other.replica} than in ${folder}: copy one secrets.json to every replica; until then keys are made with pepper ${secrets.peppers.newest.version}`
    );
  }

  /** For `hostward status`: what is used, and what waits until every replica has it. */
  get status(): { pepper: number; tokenKey: string | undefined; waiting: string | undefined } {
    const { peppers } = this.#parts.secrets;
    const newest = peppers.versions[0]?.version ?? 0;
    const waits = newest > peppers.newest.version ? `pepper ${newest}, until every replica has it` : undefined;
    return {
      pepper: peppers.newest.version,
      tokenKey: this.#tokenKey && shortKeyId(this.#tokenKey.id),
      waiting: waits,
    };
  }

  #words(): ReplicaWords {
    const { peppers } = this.#parts.secrets;
    const tokenKeys = this.#keys && { tokenKeys: this.#keys.ids.map(shortKeyId) };
    return { peppers: peppers.versions.map(pepperName), ...tokenKeys };
  }

  #nowMs(): number {
    return this.#parts.clock.wallTime().getTime();
  }

  #heard(key: string, value: string): void {
    if (key === proofKey) {
      this.#proof = value;
      this.#judgePeppers();
    }
    if (key === tokenKeyKey) this.#take(tokenKeyIn(value));
    this.#say();
  }

  #judgePeppers(): void {
    if (this.#proof === undefined) return;
    const { peppers } = this.#parts.secrets;
    const { version, isHere } = pepperInUse(this.#proof, peppers);
    this.#lacking = isHere ? undefined : version;
    peppers.useUpTo(version);
  }

  #take(inUse: TokenKeyInUse | undefined): void {
    if (inUse === undefined || inUse.epoch !== this.#parts.shared.epoch()) return;
    this.#tokenKey = inUse;
    this.#keys?.signWith(inUse.id, inUse.sinceMs);
  }

  #say(): void {
    const trouble = this.trouble ?? '';
    if (trouble === this.#said) return;
    this.#said = trouble;
    const { log } = this.#parts;
    if (trouble === '') log.info({ component: 'management' }, 'all secrets in use are here');
    else log.error({ component: 'management', why: trouble }, 'secrets of another replica are missing');
  }

  /** `lacks` says what is missing and what to do. */
  async #untilHere(lacks: () => Promise<string | undefined>): Promise<void> {
    const { clock, log, folder } = this.#parts;
    const givenUpMs = clock.now() + waitForMs;
    for (let attempt = 1; ; attempt++) {
      const missing = await lacks();
      if (missing === undefined) return;
      const message = `read the secrets in ${folder}: wanted ${missing}`;
      if (clock.now() >= givenUpMs) throw new Error(message);
      if (attempt === 2) log.warn({ component: 'management', why: message }, 'waits for secrets of other replicas');
      await pause(clock, waitEveryMs);
    }
  }

  #look(): void {
    this.#looking = this.#lookNow().catch((error: unknown) => {
      this.#parts.log.error({ component: 'management', error: String(error) }, 'secrets not read again');
    });
    this.#timer = this.#parts.clock.after(
      lookEveryMs,
      () => void this.#looking.then(() => this.#isStopped || this.#look()),
    );
  }

  async #lookNow(): Promise<void> {
    const { store, shared } = this.#parts;
    await this.#readPeppers();
    await this.#keys?.readAgain();
    const { record } = await store.get(proofKey);
    if (record !== undefined) this.#heard(proofKey, record.value);
    this.#say();
    if (!shared.sweeps() || this.trouble !== undefined) return;
    await this.#usePepper();
    const due = this.#keys?.due(this.#nowMs());
    if (due === undefined || due === this.#tokenKey?.id) return;
    const hasIt = ({ tokenKeys = [] }: ReplicaWords) => tokenKeys.includes(shortKeyId(due));
    if (this.#isEverywhere(due, hasIt, tokenKeySettlesMs)) await this.#agreeOn(due, true);
  }

  async #usePepper(): Promise<void> {
    const { store, secrets, log } = this.#parts;
    const [newest] = secrets.peppers.versions;
    if (newest === undefined || newest.version <= secrets.peppers.newest.version) return;
    const name = pepperName(newest);
    if (!this.#isEverywhere(name, ({ peppers = [] }) => peppers.includes(name), pepperSettlesMs)) return;
    const { record } = await store.get(proofKey, { fresh: true });
    if (record === undefined || pepperInUse(record.value, secrets.peppers).version >= newest.version) return;
    const value = proofOf(secrets, newest.version);
    const written = await store.write(proofKey, { expect: record.revision, value });
    if (written.ok) log.info({ component: 'management', pepper: newest.version }, 'new keys are made with this pepper');
  }

  /** Every living replica has had the version for some time, this one too. */
  #isEverywhere(name: string, hasIt: (words: ReplicaWords) => boolean, settlesMs: number): boolean {
    const { shared, clock } = this.#parts;
    if (!shared.others().every(({ words }) => hasIt(words))) {
      this.#everywhereMs.delete(name);
      return false;
    }
    const sinceMs = this.#everywhereMs.get(name) ?? clock.now();
    this.#everywhereMs.set(name, sinceMs);
    return clock.now() - sinceMs >= settlesMs;
  }

  /** Of one version: the file was changed by hand, or by a mount that brings a new one. */
  async #readPeppers(): Promise<void> {
    const { secrets, folder, log } = this.#parts;
    const found = (await readSecrets(folder))?.peppers.versions;
    const names = (peppers: readonly Pepper[]) => peppers.map(pepperName).join();
    if (found === undefined || names(found) === names(secrets.peppers.versions)) return;
    secrets.peppers.take(found);
    // Before anybody asks: a key of a pepper that has just gone is not refused, but answered 503.
    this.#judgePeppers();
    const versions = found.map(({ version }) => version);
    log.info({ component: 'management', versions }, 'peppers read again');
  }

  #isElsewhere(id: string): boolean {
    return this.#parts.shared.others().some(({ words }) => words.tokenKeys?.includes(shortKeyId(id)) === true);
  }

  /** One of another epoch is in no use. */
  async #storedTokenKey(): Promise<{ revision: number; inUse: TokenKeyInUse | undefined }> {
    const { store, shared } = this.#parts;
    const { record } = await store.get(tokenKeyKey, { fresh: true });
    const inUse = record && tokenKeyIn(record.value);
    const now = inUse?.epoch === shared.epoch() ? inUse : undefined;
    this.#take(now);
    return { revision: record?.revision ?? 0, inUse: now };
  }

  /** `replaces`: also another key that is in use. */
  async #agreeOn(id: string, replaces: boolean): Promise<void> {
    const { store, shared, log } = this.#parts;
    const { revision, inUse } = await this.#storedTokenKey();
    if (!replaces && inUse !== undefined) return;
    const value: TokenKeyInUse = { epoch: shared.epoch(), id, sinceMs: this.#nowMs() };
    const written = await store.write(tokenKeyKey, { expect: revision, value: JSON.stringify(value) });
    // Another replica was first, and its key counts.
    if (!written.ok) return void (await this.#storedTokenKey());
    this.#take(value);
    log.info({ component: 'management', tokenKey: shortKeyId(id) }, 'tokens are signed with this key');
  }
}

function pepperName({ version, bytes }: Pepper): string {
  return `${version} ${createHash('sha256').update(bytes).digest('hex').slice(0, shortIdLength)}`;
}

function tokenKeyIn(value: string): TokenKeyInUse | undefined {
  const inUse: unknown = JSON.parse(value);
  return isRecord(inUse) && typeof inUse['id'] === 'string' ? (inUse as unknown as TokenKeyInUse) : undefined;
}
