// What stays when everything else is lost: the audit log, the journal of revocations, backups and their return. This file writes the
// audit log: one line before a write is carried out and one before it is answered; `chain/` binds each line to the one before.
// In: the audit hooks of the kit, events of the store, backups. Out: lines in files, and a database that keeps revoked keys dead.
// A write whose line cannot be stored is not carried out. Must never know how a request is served, nor a secret, a body or a header.
import { randomUUID } from 'node:crypto';
import type { Audit, AuditedRequest, PassedStream } from '../../apiserver/kinds/kit.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { serviceUnavailable, soonSeconds } from '../../object/meta/status.ts';
import type { Callers } from '../keys/callers/callers.ts';
import { managementRequest, proxiedIn } from '../scope/classify.ts';
import { type AccessRequest, isManagementResource, reportResource } from '../scope/request.ts';
import { type ChainHead, type LostLines, lostEnd } from './chain/chain.ts';
import { type ChainFile, tellCutOff } from './chain/chain-file.ts';
import { damageText, type FoundDamage } from './chain/find-damage.ts';
import type { Removal } from './chain/retention.ts';
import { type AuditEntry, type AuditSubject, intentEntry, outcomeEntry } from './entries.ts';

export interface AuditLogOptions {
  file: ChainFile;
  clock: Clock;
  log: Log;
  callers: Callers;
  /** Whether reads are written down as well. */
  reads: () => boolean;
  /** Removes the oldest files; called at the start and whenever a full file was moved aside. */
  removeOld?: (note: (removal: Removal) => Promise<void>) => Promise<number>;
  /** Where the log ended when its end was last reported outside this machine. */
  headBefore?: ChainHead | undefined;
  /** What another chain has lost before the start, for which this log is the place that lasts. */
  lostElsewhere?: LostLines | undefined;
  /** Opens the files at the start; the look itself goes on while requests are served. */
  openForDamage?: (isStopping: () => boolean) => Promise<() => Promise<FoundDamage | undefined>>;
}

/** Names in a URL may be long, but a reader needs no more than this. */
const longestRequest = 1_000;
/** A disk under load takes a tenth of this time; a client that waits longer has given up. */
const patienceMs = 5_000;

export class AuditLog implements Audit {
  readonly #options: AuditLogOptions;
  readonly #begun = new WeakSet<AuditedRequest>();
  #removing: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #damage: string | undefined;
  #lostEnd: string | undefined;
  #isStopping = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { file, log } = this.#options;
    await file.start();
    tellCutOff(file, log, { component: 'management', what: 'audit log' });
    await this.#lookForLostEnd();
    const look = await this.#options.openForDamage?.(() => this.#isStopping);
    this.#looking = this.#lookForDamage(look);
    await this.removeOld();
  }

  /** What somebody or the disk did to the log before the start; undefined as far as is known. */
  get damage(): string | undefined {
    return this.#damage ?? this.#lostEnd;
  }

  /** For others to keep: without it nobody can tell that the end was cut off. */
  get head(): ChainHead {
    return this.#options.file.head;
  }

  /** The next heartbeat tells the store where the log ends now, so the log itself must keep what was lost. */
  async #lookForLostEnd(): Promise<void> {
    const { headBefore, lostElsewhere, log } = this.#options;
    const lost = lostEnd('audit log', this.head, headBefore);
    if (lost !== undefined) {
      this.#lostEnd = `${lost.sentence}; keep the files as they are, and compare them with the copies in your log storage`;
      log.error({ component: 'management', ...this.head, seen: headBefore }, this.#lostEnd);
    }
    for (const one of [lost?.lines, lostElsewhere])
      if (one !== undefined) await this.#write({ ...this.#common(randomUUID()), stage: 'lost', ...one });
  }

  async #lookForDamage(look: (() => Promise<FoundDamage | undefined>) | undefined): Promise<void> {
    const { log } = this.#options;
    try {
      const found = await look?.();
      if (found === undefined) return;
      this.#damage = `the audit log was damaged before the start: ${damageText(found)}`;
      log.error({ component: 'management', ...found }, this.#damage);
    } catch (error) {
      log.error({ component: 'management', error: String(error) }, 'the audit log could not be checked for damage');
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#removing;
    await this.#looking;
    await this.#options.file.stop();
  }

  /** One removal at a time; a fault leaves the files for the next time, and so does a file that fills up during the stop. */
  removeOld(): Promise<void> {
    if (this.#isStopping) return this.#removing;
    this.#removing = this.#removing.then(async () => {
      const { removeOld, log } = this.#options;
      const note = (removal: Removal) => this.#write({ ...this.#common(randomUUID()), stage: 'removed', ...removal });
      try {
        const files = (await removeOld?.(note)) ?? 0;
        if (files > 0) log.info({ component: 'management', files }, 'old files of the audit log removed');
      } catch (error) {
        log.error({ component: 'management', error: String(error) }, 'old files of the audit log not removed');
      }
    });
    return this.#removing;
  }

  async begins(entry: AuditedRequest): Promise<void> {
    if (!this.#isWritten(entry)) return;
    this.#begun.add(entry);
    try {
      await this.#write(this.#intent(entry));
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
      throw new StatusFault(serviceUnavailable('the audit log cannot be written, so nothing was done', soonSeconds));
    }
  }

  async ends(entry: AuditedRequest, code: number): Promise<void> {
    const hasBegun = this.#begun.has(entry);
    // A request without a valid credential has no first line; and a source that must wait is not recorded each time.
    const isRefusal = code === 401 || code === 403;
    if (!hasBegun && !isRefusal) return;
    try {
      const end = outcomeEntry(this.#common(entry.id), code, entry);
      // Both at once, so that they share one write to the disk.
      const lines = hasBegun ? [end] : [this.#intent(entry), end];
      await Promise.all(lines.map((line) => this.#write(line)));
    } catch (error) {
      // The write is carried out already. The next request is refused, because the log still cannot be written.
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
    }
  }

  /** Lines that a direct endpoint has written. */
  async take(entries: readonly AuditEntry[]): Promise<void> {
    try {
      await Promise.all(entries.map((entry) => this.#write(entry)));
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
      throw error;
    }
  }

  /** A watch, or a stream or session behind us, begins to flow; only after `begins`. */
  async streamStarts(entry: AuditedRequest): Promise<void> {
    await this.#follow(entry, { ...this.#common(entry.id), stage: 'streamStart' });
  }

  async streamEnds(entry: AuditedRequest, end: PassedStream): Promise<void> {
    await this.#follow(entry, { ...this.#common(entry.id), stage: 'streamEnd', ...end });
  }

  async #follow(entry: AuditedRequest, line: AuditEntry): Promise<void> {
    if (!this.#begun.has(entry)) return;
    try {
      await this.#write(line);
    } catch (error) {
      this.#options.log.error({ component: 'management', error: String(error) }, 'audit line not written');
    }
  }

  #isWritten(entry: AuditedRequest): boolean {
    const request = requestOf(entry);
    const group = request.isResource ? request.group : '';
    const isReview = group === 'authorization.k8s.io' || group === 'authentication.k8s.io';
    // Its lines say who sent them.
    if (isManagementResource(request, reportResource) && request.verb === 'create') return false;
    const isWrite = !['get', 'head', 'options', 'list', 'watch'].includes(request.verb) && !isReview;
    return isWrite || this.#options.reads();
  }

  #common(id: string) {
    return { time: this.#options.clock.wallTime().toISOString(), id };
  }

  #intent(asked: AuditedRequest): AuditEntry {
    const { id, source, user } = asked;
    const subject = this.#subjectOf(user);
    const request = requestOf(asked);
    const entry = intentEntry(this.#common(id), { subject, source, request, url: urlOf(asked) });
    return entry.stage === 'intent' ? { ...entry, request: entry.request.slice(0, longestRequest) } : entry;
  }

  #subjectOf(user: AuditedRequest['user']): AuditSubject {
    const session = user === undefined ? undefined : this.#options.callers.sessionOf(user);
    if (session === undefined) return { kind: 'unknown', name: '', key: '' };
    const { subject, keyName } = session.credential;
    const { osUser } = session;
    return { kind: subject.kind, name: subject.name, key: keyName, ...(osUser !== undefined && { osUser }) };
  }

  /** Resolves when the line is on the disk. A disk that hangs counts as a full disk. */
  #write(entry: AuditEntry): Promise<void> {
    const { file, clock } = this.#options;
    return new Promise((written, failed) => {
      const timer = clock.after(patienceMs, () =>
        failed(new Error(`the audit log took no line within ${patienceMs / 1000} seconds`)),
      );
      file
        .append(entry)
        .then(written, failed)
        .finally(() => timer.cancel());
    });
  }
}

function requestOf({ target }: AuditedRequest): AccessRequest {
  return proxiedIn(target)?.request ?? managementRequest(target);
}

function urlOf({ target }: AuditedRequest): string {
  const proxied = proxiedIn(target);
  if (proxied !== undefined) return proxied.prefix + proxied.rest;
  const { path, query } = target;
  return path + (query.size === 0 ? '' : `?${query}`);
}
