// Which configuration says who exists, where several replicas have a file each: the one of the highest generation, which lies in the
// store. In: the own settings, the store, what the other replicas say of their files. Out: the settings that rule, and a fault when two
// files of one generation differ. Of limits, the audit log and addresses each replica's own file decides.
import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Clock, Timer } from '../../../clock.ts';
import type { ManagementSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { isRecord } from '../../../object/text/json.ts';
import { StoreFault } from '../../../store/errors.ts';
import type { Follower, Followers } from '../../../store/follow/follower.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';

export const configurationKey = '/management/configuration';

/** What one configuration says for all replicas. */
type Ruled = Pick<ManagementSettings, 'administrators' | 'users' | 'teams' | 'clusters' | 'projects'>;

interface Configuration {
  generation: number;
  digest: string;
  ruled: Ruled;
}

export interface RulingOptions {
  store: Pick<Store, 'get' | 'write'>;
  followers: Followers;
  clock: Clock;
  log: Log;
  /** What the other living replicas say of their files: the name() of each. */
  others(): readonly string[];
}

/** A replica that is replaced by one with another file is forgotten after ten seconds. */
const lookEveryMs = 6_000;
const heardWithinMs = 10_000;
/** A record of the host holds a mebibyte. */
const longestPlain = 400_000;
const mostAttempts = 10;

export class RulingConfiguration {
  readonly #parts: RulingOptions;
  readonly #followed: Follower;
  #own: Configuration;
  #ownSettings: ManagementSettings;
  /** In the store. */
  #stored: Configuration | undefined;
  #storedRevision = 0;
  #heardMs = Number.NEGATIVE_INFINITY;
  /** When another replica has written the one in the store. */
  #writtenMs = Number.NEGATIVE_INFINITY;
  /** Why the one in the store cannot be read. */
  #unreadable: string | undefined;
  #said = '';
  #timer: Timer | undefined;
  #changed: () => void = () => undefined;

  constructor(parts: RulingOptions, own: ManagementSettings) {
    this.#parts = parts;
    this.#ownSettings = own;
    this.#own = configurationOf(own);
    this.#followed = parts.followers.of({
      prefix: configurationKey,
      what: 'configuration',
      found: ({ value, revision }) => this.#heard(value, revision),
      changed: ({ type, value, revision }) => {
        if (type === 'put') this.#heard(value, revision);
      },
    });
  }

  async start(): Promise<void> {
    await this.#followed.open();
    await this.#settle();
    this.#followed.follow();
  }

  /** From now on `changed` is called when other settings rule than before, and regularly, so that it can write what it could not write before. */
  follow(changed: () => void): void {
    this.#changed = changed;
    this.#timer = this.#parts.clock.after(lookEveryMs, () => {
      void this.#settle().catch(() => undefined);
      this.follow(changed);
      changed();
    });
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#followed.stop();
  }

  /** Takes a new file of this replica. */
  async take(own: ManagementSettings): Promise<void> {
    this.#ownSettings = own;
    this.#own = configurationOf(own);
    await this.#settle();
  }

  /** The settings that rule, with the limits of the own file. */
  get settings(): ManagementSettings {
    return this.#isOwn ? this.#ownSettings : { ...this.#ownSettings, ...this.#stored?.ruled };
  }

  /** Names the settings that rule. */
  get rules(): string {
    return this.#isOwn ? this.#own.digest : (this.#stored?.digest ?? '');
  }

  get #isOwn(): boolean {
    const { generation, digest } = this.#own;
    const stored = this.#stored;
    return stored === undefined || stored.digest === digest || stored.generation < generation;
  }

  /** For the other replicas: says which file this one has. */
  get name(): string {
    return nameOf(this.#own);
  }

  /** For `hostward status`. */
  get status(): { generation: number; ruledBy: number } {
    return { generation: this.#own.generation, ruledBy: this.#stored?.generation ?? this.#own.generation };
  }

  /** What somebody must mend; undefined while the files agree. */
  get trouble(): string | undefined {
    const { generation, digest } = this.#own;
    const stored = this.#stored;
    if (this.#unreadable !== undefined)
      return `each replica follows its own configuration, because the one in the store cannot be read: ${this.#unreadable}; delete that Secret`;
    const others = this.#parts.others();
    if (others.some((name) => isRival(name, this.#own)))
      return `two replicas have different users, teams, projects or clusters in configurations of one generation, ${generation}: ${digest === stored?.digest ? 'those of this one rule' : 'those of the other one rule'}; give both the same file, or the right one a higher hostward.management.generation`;
    if (stored === undefined || stored.digest === digest || stored.generation <= generation) return undefined;
    // Who has just written it says so with its next heartbeat.
    if (others.includes(nameOf(stored)) || this.#parts.clock.now() - this.#heardMs < heardWithinMs) return undefined;
    return `the configuration that counts has generation ${stored.generation}, and no replica has it any more; this one has generation ${generation}: set hostward.management.generation to ${stored.generation + 1} or more for its users, teams, projects and clusters to count`;
  }

  #heard(value: string, revision: number): void {
    if (revision <= this.#storedRevision) return;
    const before = this.rules;
    this.#stored = read(value);
    if (this.#storedRevision > 0 && !this.#isOwn) this.#writtenMs = this.#parts.clock.now();
    this.#storedRevision = revision;
    if (before === this.rules) return;
    this.#heardMs = this.#parts.clock.now();
    this.#changed();
  }

  /** The own file goes into the store if it is the newest one, or if no living replica has the one there. */
  async #settle(): Promise<void> {
    const { store } = this.#parts;
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const record = await this.#readStored();
      if (this.#unreadable !== undefined) break;
      if (record !== undefined && !this.#mayReplace(read(record.value))) break;
      const value = write(this.#own);
      const written = await store.write(configurationKey, { expect: record?.revision ?? 0, value });
      if (written.ok) {
        this.#heard(value, written.revision);
        break;
      }
      if (attempt === mostAttempts)
        throw new StoreFault('STORE_OVERLOADED', 'Cannot say which configuration rules: others keep changing it');
    }
    this.#say();
  }

  async #readStored(): Promise<StoredRecord | undefined> {
    try {
      const { record } = await this.#parts.store.get(configurationKey, { fresh: true });
      if (record !== undefined) this.#heard(record.value, record.revision);
      this.#unreadable = undefined;
      return record;
    } catch (error) {
      if (!(error instanceof StoreFault) || error.code !== 'STORE_RECORD_ASIDE') throw error;
      this.#unreadable = error.message;
      return undefined;
    }
  }

  #mayReplace(stored: Configuration | undefined): boolean {
    if (stored === undefined) return true;
    const { generation, digest } = this.#own;
    if (stored.digest === digest || stored.generation !== generation) return stored.generation < generation;
    // Who has just written it says so with its next heartbeat.
    const isNew = this.#parts.clock.now() - this.#writtenMs < heardWithinMs;
    return !isNew && !this.#parts.others().includes(nameOf(stored));
  }

  #say(): void {
    const trouble = this.trouble ?? '';
    const { generation, ruledBy } = this.status;
    const said = `${ruledBy} ${trouble}`;
    if (said === this.#said) return;
    this.#said = said;
    const { log } = this.#parts;
    const about = { component: 'management', generation, ruledBy };
    if (trouble !== '') log.error({ ...about, why: trouble }, 'configurations of the replicas differ');
    else if (ruledBy > generation) log.info(about, 'a newer configuration of another replica rules');
  }
}

/**
 * Compares the settings of a file with the record in the store and with the files that the replicas name, for `hostward doctor`. `rules`:
 * another replica has another file of this generation, and this one counts.
 */
export function compareWith(
  settings: ManagementSettings,
  { stored: value, files }: { stored: string; files: readonly string[] },
): { kind: 'same' | 'newer' | 'differs' | 'rules' } | { kind: 'older'; than: number } {
  const [own, stored] = [configurationOf(settings), read(value)];
  if (stored === undefined || own.digest === stored.digest)
    return { kind: files.some((name) => isRival(name, own)) ? 'rules' : 'same' };
  if (own.generation < stored.generation) return { kind: 'older', than: stored.generation };
  return { kind: own.generation > stored.generation ? 'newer' : 'differs' };
}

/** Whether this is the name of another file of the same generation. */
function isRival(name: string, own: Configuration): boolean {
  return name.startsWith(`${own.generation} `) && name !== nameOf(own);
}

function nameOf({ generation, digest }: Configuration): string {
  return `${generation} ${digest.slice(0, 16)}`;
}

function configurationOf(settings: ManagementSettings): Configuration {
  const { generation = 0, administrators, users, teams, clusters, projects } = settings;
  const ruled = { administrators, users, teams, clusters, projects };
  return { generation, digest: digestOf(ruled), ruled };
}

function digestOf(ruled: Ruled): string {
  return createHash('sha256').update(sortedText(ruled)).digest('hex');
}

/** Two files may name the same settings in another order. */
function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isRecord(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

function write({ generation, digest, ruled }: Configuration): string {
  const text = JSON.stringify(ruled);
  const content = text.length <= longestPlain ? { ruled } : { packed: deflateRawSync(text).toString('base64') };
  return JSON.stringify({ generation, digest, ...content });
}

/** Undefined for one that somebody has changed by hand. */
function read(value: string): Configuration | undefined {
  try {
    const { generation, digest, packed, ruled } = JSON.parse(value) as Configuration & { packed?: string };
    const content = packed === undefined ? ruled : JSON.parse(inflateRawSync(Buffer.from(packed, 'base64')).toString());
    if (!Number.isSafeInteger(generation) || digestOf(content) !== digest) return undefined;
    return { generation, digest, ruled: content };
  } catch {
    return undefined;
  }
}
