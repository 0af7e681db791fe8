// The audit log: one line before a write is carried out and one before it is answered, each bound to the line before. In: what
// the kit hears of requests. Out: lines in a file. What cannot be written down is not done.
import { type FileHandle, open } from 'node:fs/promises';
import type { Audit, AuditedStream, AuditEntry as KitEntry } from '../../apiserver/kinds/kit.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { serviceUnavailable } from '../../object/meta/status.ts';
import { beginning, type ChainState, chainLine, type Digest, maxLineLength, readLine } from '../audit/chain.ts';
import { type AuditEntry, type AuditSubject, intentEntry, outcomeEntry } from '../audit/entries.ts';
import { managementRequest } from '../scope/classify.ts';
import type { Callers } from './callers.ts';

export interface AuditLogOptions {
  path: string;
  digest: Digest;
  clock: Clock;
  log: Log;
  callers: Callers;
  /** Whether reads are written down as well. */
  reads: () => boolean;
}

interface Waiting {
  text: string;
  written: () => void;
  failed: (fault: unknown) => void;
}

/** Names in a URL may be long; what follows tells a reader nothing more. */
const longestRequest = 1_000;
/** The last line lies in the last piece of this size. */
const tailBytes = 2 * maxLineLength * 4;

export class AuditLog implements Audit {
  readonly #options: AuditLogOptions;
  readonly #begun = new WeakSet<KitEntry>();
  #file: FileHandle | undefined;
  #length = 0;
  /** After the last line that is in the file. */
  #state: ChainState = beginning;
  #waiting: { entry: AuditEntry; written: () => void; failed: (fault: unknown) => void }[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Goes on where the file ends; a last line that a crash cut off was never acknowledged, and is taken away. */
  async start(): Promise<void> {
    const file = await open(this.#options.path, 'a+', 0o600);
    try {
      await this.#goOn(file);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
  }

  async #goOn(file: FileHandle): Promise<void> {
    const { path, digest } = this.#options;
    const { size } = await file.stat();
    const from = Math.max(0, size - tailBytes);
    const tail = Buffer.alloc(size - from);
    await file.read(tail, 0, tail.length, from);
    const end = tail.lastIndexOf(0x0a) + 1;
    this.#length = from + end;
    if (this.#length < size) await file.truncate(this.#length);
    if (end === 0) return;
    const last = tail.subarray(tail.lastIndexOf(0x0a, end - 2) + 1, end - 1).toString('utf8');
    const read = readLine(last, digest);
    if (read === undefined)
      throw new Error(`go on with ${path}: want a last line that was not changed, it was; move the file away`);
    this.#state = { next: read.seq + 1, previous: read.digest };
  }

  async stop(): Promise<void> {
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  async begins(entry: KitEntry): Promise<void> {
    if (!this.#isWritten(entry)) return;
    this.#begun.add(entry);
    try {
      await this.#write(this.#intent(entry));
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
      throw new StatusFault(serviceUnavailable('the audit log cannot be written, so nothing was done'));
    }
  }

  async ends(entry: KitEntry, code: number, stream?: AuditedStream): Promise<void> {
    const hasBegun = this.#begun.has(entry);
    // Refusals at the door have no beginning; a source that is told to wait is not written down each time.
    const isRefusal = code === 401 || code === 403;
    if (!hasBegun && !isRefusal) return;
    const { id, note } = entry;
    try {
      if (!hasBegun) await this.#write(this.#intent(entry));
      if (stream !== undefined)
        await this.#write({ ...this.#common(id), stage: 'streamEnd', bytesIn: 0, bytesOut: stream.bytes, reason: '' });
      else await this.#write(outcomeEntry(this.#common(id), code, note));
    } catch (error) {
      // It is done already; the next request finds out that nothing can be written.
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
    }
  }

  #isWritten({ target }: KitEntry): boolean {
    const isReview = target.group === 'authorization.k8s.io' || target.group === 'authentication.k8s.io';
    const isWrite = !['get', 'head', 'options', 'list', 'watch'].includes(target.verb) && !isReview;
    return isWrite || this.#options.reads();
  }

  #common(id: string) {
    return { time: this.#options.clock.wallTime().toISOString(), id };
  }

  #intent({ id, target, source, user }: KitEntry): AuditEntry {
    const query = target.query.size === 0 ? '' : `?${target.query}`;
    const subject = this.#subjectOf(user);
    const request = managementRequest(target);
    const entry = intentEntry(this.#common(id), { subject, source, request, url: target.path + query });
    return entry.stage === 'intent' ? { ...entry, request: entry.request.slice(0, longestRequest) } : entry;
  }

  #subjectOf(user: KitEntry['user']): AuditSubject {
    const session = user === undefined ? undefined : this.#options.callers.sessionOf(user);
    if (session === undefined) return { kind: 'unknown', name: '', key: '' };
    const { subject, keyName } = session.credential;
    return { kind: subject.kind, name: subject.name, key: keyName };
  }

  /** Lines of requests that come together share one write. */
  #write(entry: AuditEntry): Promise<void> {
    return new Promise((written, failed) => {
      this.#waiting.push({ entry, written, failed });
      this.#writing ??= this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    // A turn later, so that all lines of one turn share the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch: Waiting[] = [];
      let state = this.#state;
      for (const { entry, written, failed } of this.#waiting.splice(0)) {
        const made = chainLine(state, entry, this.#options.digest);
        state = made.state;
        batch.push({ text: `${made.line}\n`, written, failed });
      }
      try {
        const bytes = Buffer.from(batch.map(({ text }) => text).join(''));
        await this.#append(bytes);
        this.#length += bytes.length;
        this.#state = state;
        for (const { written } of batch) written();
      } catch (fault) {
        for (const { failed } of batch) failed(fault);
      }
    }
    // In the same turn as the last look at the row: nobody can come in between and wait for ever.
    this.#writing = undefined;
  }

  async #append(bytes: Buffer): Promise<void> {
    if (this.#file === undefined) throw new Error('write an audit line: want the file open, it is closed');
    try {
      await this.#file.appendFile(bytes);
    } catch (error) {
      // Half a line would break the chain for ever.
      await this.#file.truncate(this.#length).catch(() => undefined);
      throw error;
    }
  }
}
