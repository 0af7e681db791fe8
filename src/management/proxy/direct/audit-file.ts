// Keeps the audit of a direct endpoint in files of its own, `audit.log` in dataDir, and remembers up to which line the platform has
// it. In: entries. Out: lines on the disk, and after a start those that were never sent. The oldest files are removed. Without a
// writable folder there are no files, and the log of the process is the only record.
import { randomUUID } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../apiserver/tls/secret-files.ts';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { plainDigest, readLine } from '../../audit/chain/chain.ts';
import { ChainFile, chainFiles, tellCutOff } from '../../audit/chain/chain-file.ts';
import { damageText, openForDamage } from '../../audit/chain/find-damage.ts';
import { type Removal, removeOldFiles } from '../../audit/chain/retention.ts';
import { type AuditEntry, withoutSecrets } from '../../audit/entries.ts';

export interface AuditFileOptions {
  folder: string;
  clock: Clock;
  log: Log;
  /** Whether lines about this target are sent. */
  isSent(target: IntentPlace): boolean;
  /** Size of a full file; a test makes it small. */
  maxBytes?: number;
}

type IntentPlace = Extract<AuditEntry, { stage: 'intent' }>['target'];

const name = 'audit';
const sentName = 'audit-sent';
/** Older full files are deleted: the platform has their lines too, and the disk of a pod is small. Ten of them are 640 MiB. */
const keptFiles = 10;
/** A disk under load takes a tenth of this time; a client that waits longer has given up. */
const patienceMs = 5_000;
/** Bytes read at the end of each of the last two files: more than the lines that wait at most. */
const readAtStartBytes = 16 * 1024 * 1024;

export class AuditFile {
  readonly #options: AuditFileOptions;
  #chain: ChainFile | undefined;
  #removing: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
  }

  /** Returns the lines that the platform does not have. */
  async start(): Promise<AuditEntry[]> {
    const { folder, log, maxBytes } = this.#options;
    try {
      await makeFolder(folder, 0o700);
      const movedAside = () => void this.#removeOld();
      const chain = new ChainFile({ folder, name, digest: plainDigest, movedAside, ...(maxBytes && { maxBytes }) });
      await chain.start();
      tellCutOff(chain, log, { component: 'direct', what: 'audit log' });
      this.#chain = chain;
      await this.#lookForDamage();
      await this.#removeOld();
      return await this.#unsent();
    } catch (error) {
      log.warn(
        { component: 'direct', folder, error: withoutSecrets(String(error)) },
        'no files for the audit: it is in this log, and lines that the platform does not take are sent no more after a restart',
      );
      return [];
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#removing;
    await this.#looking;
    await this.#chain?.stop();
  }

  /** Resolves when the line is on the disk. A disk that hangs counts as a full disk. */
  append(entry: AuditEntry): Promise<void> {
    const chain = this.#chain;
    if (chain === undefined) return Promise.resolve();
    return new Promise((written, failed) => {
      const timer = this.#options.clock.after(patienceMs, () =>
        failed(new Error(`the audit log took no line within ${patienceMs / 1000} seconds`)),
      );
      chain
        .append(entry)
        .then(written, failed)
        .finally(() => timer.cancel());
    });
  }

  /** The platform has all lines up to this one. A crash before it is written sends some lines twice. */
  async sent(entry: AuditEntry): Promise<void> {
    if (this.#chain === undefined) return;
    const path = join(this.#options.folder, sentName);
    await writeFile(`${path}.new`, markOf(entry), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  /** Resolves when the files are open; the look itself goes on while requests are served. */
  async #lookForDamage(): Promise<void> {
    const { folder, clock, log } = this.#options;
    const isStopping = () => this.#isStopping;
    const look = await openForDamage({ folder, name, digest: plainDigest, clock, isStopping });
    this.#looking = look()
      .then(
        (found) =>
          found !== undefined &&
          log.error(
            { component: 'direct', ...found },
            `the audit log was damaged before the start: ${damageText(found)}`,
          ),
        (error) =>
          log.error({ component: 'direct', error: String(error) }, 'the audit log could not be checked for damage'),
      )
      .then(() => undefined);
  }

  /** One removal at a time; a fault leaves the files for the next time, and so does a file that fills up during the stop. */
  #removeOld(): Promise<void> {
    if (this.#isStopping) return this.#removing;
    const { folder, clock, log } = this.#options;
    const common = () => ({ time: clock.wallTime().toISOString(), id: randomUUID() });
    const note = (removal: Removal) => this.append({ ...common(), stage: 'removed', ...removal });
    this.#removing = this.#removing
      .then(() => removeOldFiles({ folder, name, digest: plainDigest, keep: keptFiles, note }))
      .then(
        (files) => files > 0 && log.info({ component: 'direct', files }, 'old files of the audit log removed'),
        (error) => log.error({ component: 'direct', error: String(error) }, 'old files of the audit log not removed'),
      )
      .then(() => undefined);
    return this.#removing;
  }

  async #unsent(): Promise<AuditEntry[]> {
    const { folder } = this.#options;
    const mark = await readFile(join(folder, sentName), 'utf8').catch(() => '');
    const files = (await chainFiles(folder, name)).slice(-2);
    const entries: AuditEntry[] = [];
    for (const file of files)
      for (const line of (await endOf(join(folder, file))).split('\n')) {
        const entry = readLine(line, plainDigest)?.entry;
        if (entry !== undefined && entry['stage'] !== 'removed') entries.push(entry as unknown as AuditEntry);
      }
    const last = entries.findLastIndex((entry) => markOf(entry) === mark);
    const { isSent } = this.#options;
    const others = new Set<string>();
    for (const entry of entries) if (entry.stage === 'intent' && !isSent(entry.target)) others.add(entry.id);
    return entries.slice(last + 1).filter(({ id }) => !others.has(id));
  }
}

function markOf({ time, id, stage }: AuditEntry): string {
  return `${time} ${id} ${stage}`;
}

async function endOf(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, readAtStartBytes));
    await file.read(bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}
