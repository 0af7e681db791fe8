// The audit log: one line before a write is carried out and one before it is answered, each bound to the line before. In: what
// the kit hears of requests. Out: lines in a file. What cannot be written down is not done.
import { type FileHandle, open } from 'node:fs/promises';
import type { Audit, AuditedStream, AuditEntry as KitEntry } from '../../apiserver/kinds/kit.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { serviceUnavailable } from '../../object/meta/status.ts';
import { beginning, type ChainState, chainLine, type Digest, maxLineLength, readLine } from '../audit/chain.ts';
import { type AuditEntry, type AuditSubject, intentEntry, outcomeEntry } from '../audit/entries.ts';
import { managementRequest } from '../scope/classify.ts';
import type { AccessRequest } from '../scope/request.ts';
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

/** A request to a cluster behind us, which the kit does not see. */
export interface ProxiedEntry {
  id: string;
  /** Undefined = authentication failed. */
  user: User | undefined;
  source: string;
  request: AccessRequest;
  /** As the client sent it. */
  url: string;
}

type Entry = KitEntry | ProxiedEntry;

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
  readonly #begun = new WeakSet<Entry>();
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

  async begins(entry: Entry): Promise<void> {
    if (!this.#isWritten(entry)) return;
    this.#begun.add(entry);
    try {
      await this.#write(this.#intent(entry));
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
      throw new StatusFault(serviceUnavailable('the audit log cannot be written, so nothing was done'));
    }
  }

  async ends(entry: Entry, code: number, stream?: AuditedStream): Promise<void> {
    const hasBegun = this.#begun.has(entry);
    // Refusals at the door have no beginning; a source that is told to wait is not written down each time.
    const isRefusal = code === 401 || code === 403;
    if (!hasBegun && !isRefusal) return;
    const { id } = entry;
    try {
      if (!hasBegun) await this.#write(this.#intent(entry));
      if (stream !== undefined)
        await this.#write({ ...this.#common(id), stage: 'streamEnd', bytesIn: 0, bytesOut: stream.bytes, reason: '' });
      else await this.#write(outcomeEntry(this.#common(id), code, 'note' in entry ? entry.note : undefined));
    } catch (error) {
      // It is done already; the next request finds out that nothing can be written.
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
    }
  }

  /** A stream or session behind us begins to flow; only after `begins`. */
  async streamStarts(entry: ProxiedEntry): Promise<void> {
    await this.#follow(entry, { ...this.#common(entry.id), stage: 'streamStart' });
  }

  async streamEnds(entry: ProxiedEntry, end: { bytesIn: number; bytesOut: number; reason: string }): Promise<void> {
    await this.#follow(entry, { ...this.#common(entry.id), stage: 'streamEnd', ...end });
  }

  async #follow(entry: Entry, line: AuditEntry): Promise<void> {
    if (!this.#begun.has(entry)) return;
    try {
      await this.#write(line);
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
    }
  }

  #isWritten(entry: Entry): boolean {
    const request = requestOf(entry);
    const group = request.isResource ? request.group : '';
    const isReview = group === 'authorization.k8s.io' || group === 'authentication.k8s.io';
    const isWrite = !['get', 'head', 'options', 'list', 'watch'].includes(request.verb) && !isReview;
    return isWrite || this.#options.reads();
  }

  #common(id: string) {
    return { time: this.#options.clock.wallTime().toISOString(), id };
  }

  #intent(asked: Entry): AuditEntry {
    const { id, source, user } = asked;
    const subject = this.#subjectOf(user);
    const request = requestOf(asked);
    const entry = intentEntry(this.#common(id), { subject, source, request, url: urlOf(asked) });
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

function requestOf(entry: Entry): AccessRequest {
  return 'request' in entry ? entry.request : managementRequest(entry.target);
}

function urlOf(entry: Entry): string {
  if ('request' in entry) return entry.url;
  const { path, query } = entry.target;
  return path + (query.size === 0 ? '' : `?${query}`);
}
