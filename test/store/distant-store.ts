// A store over an external log, like a store over another API server: the log decides and numbers the writes, with gaps, reports
// only the new value of a change, and can be unreachable while other clients write.
import { dueByAge, dueBySize } from '../../src/store/history-limits.ts';
import type { StoredRecord, WriteResult } from '../../src/store/store.ts';
import { createRevisionOf, eventOf, type Version } from '../../src/store/timeline.ts';
import { TimelineStore } from '../../src/store/timeline-store.ts';
import type { Numbering } from '../contract/store/store-numbering.ts';

/** Numbers with uneven gaps, so that code cannot rely on `revision + 1`. */
export const distantNumbering: Numbering = {
  revisionOf: (count) => (count <= 0 ? count : count * 5 + ((count * count) % 4)),
  countOf: (revision) => Math.floor(revision / 5),
};

interface Row {
  key: string;
  revision: number;
  /** Undefined = deleted. The log does not report the previous value. */
  value: string | undefined;
}

export class DistantLog {
  #byKey = new Map<string, StoredRecord>();
  #count = 0;

  get revision(): number {
    return distantNumbering.revisionOf(this.#count);
  }

  get records(): StoredRecord[] {
    return [...this.#byKey.values()];
  }

  append(key: string, { expect, value }: { expect: number | undefined; value: string | undefined }): Row | undefined {
    const current = this.#byKey.get(key);
    const holds = expect === undefined || expect === (current?.revision ?? 0);
    if (!holds || (value === undefined && current === undefined)) return undefined;
    this.#count += 1;
    const { revision } = this;
    if (value === undefined) this.#byKey.delete(key);
    else this.#byKey.set(key, { key, value, createRevision: current?.createRevision ?? revision, revision });
    return { key, revision, value };
  }
}

export class DistantStore extends TimelineStore {
  readonly log = new DistantLog();
  #unread: Row[] = [];

  async start(): Promise<void> {
    this.open();
  }

  async stop(): Promise<void> {
    this.close('stopped');
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.mustBeOpen('write');
    this.#catchUp();
    const row = this.log.append(key, change);
    if (row === undefined) {
      const { revision } = this.timeline;
      return { ok: false, current: this.timeline.newest(key)?.record, revision };
    }
    const version = this.#take(row);
    return { ok: true, revision: row.revision, createRevision: createRevisionOf(version) };
  }

  /** Another client writes, and this store has not received the change yet. */
  elsewhere(key: string, value: string): void {
    const row = this.log.append(key, { expect: undefined, value });
    if (row !== undefined) this.#unread.push(row);
  }

  override async currentRevision(options: { fresh?: boolean } = {}): Promise<number> {
    if (options.fresh === true) this.#catchUp();
    return super.currentRevision();
  }

  override async get(key: string, options: { fresh?: boolean } = {}) {
    if (options.fresh === true) this.#catchUp();
    return super.get(key);
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.mustBeOpen('write');
    this.setSideValues(changes);
  }

  #catchUp(): void {
    for (const row of this.#unread.splice(0)) this.#take(row);
  }

  async compact(upToRevision: number): Promise<void> {
    this.mustBeOpen('compact');
    this.timeline.compact(upToRevision);
  }

  /** Another client writes while the log is unreachable, and the missed changes cannot be read any more. */
  async miss(key: string, value: string): Promise<void> {
    this.log.append(key, { expect: undefined, value });
    const found = this.log.records.map((record) => ({ key: record.key, revision: record.revision, record }));
    this.restart({ found, revision: this.log.revision });
  }

  protected trim(): void {
    const due = dueBySize(this.timeline, this.limits) ?? dueByAge(this.timeline, this.limits, this.clock.now());
    if (due !== undefined) this.timeline.compact(due);
  }

  /** The log does not report the previous value, so the store takes the value from its own timeline. */
  #take({ key, revision, value }: Row): Version {
    const before = this.timeline.newest(key);
    const createRevision = before?.record?.createRevision ?? revision;
    const record = value === undefined ? undefined : { key, value, createRevision, revision };
    const version: Version = { key, revision, record, before, atMs: this.clock.now() };
    this.timeline.apply(version);
    this.hub.publish(eventOf(version));
    this.trim();
    return version;
  }
}
