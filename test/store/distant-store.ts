// A store over a log that is not its own, as one over another API server would be: the log decides and numbers the writes, with
// gaps; it says of a change only what is there now; and it can be out of reach while others write.
import { dueByAge, dueBySize } from '../../src/store/history-limits.ts';
import type { StoredRecord, WriteResult } from '../../src/store/store.ts';
import { createRevisionOf, eventOf, type Version } from '../../src/store/timeline.ts';
import { TimelineStore } from '../../src/store/timeline-store.ts';
import type { Numbering } from '../contract/store-numbering.ts';

/** Gaps of four and five. */
export const distantNumbering: Numbering = {
  revisionOf: (count) => (count <= 0 ? count : count * 5 + ((count * count) % 4)),
  countOf: (revision) => Math.floor(revision / 5),
};

interface Row {
  key: string;
  revision: number;
  /** Undefined = deleted. What was there before is not said. */
  value: string | undefined;
}

export class DistantLog {
  #world = new Map<string, StoredRecord>();
  #count = 0;

  get revision(): number {
    return distantNumbering.revisionOf(this.#count);
  }

  get records(): StoredRecord[] {
    return [...this.#world.values()];
  }

  append(key: string, { expect, value }: { expect: number | undefined; value: string | undefined }): Row | undefined {
    const current = this.#world.get(key);
    const holds = expect === undefined || expect === (current?.revision ?? 0);
    if (!holds || (value === undefined && current === undefined)) return undefined;
    this.#count += 1;
    const { revision } = this;
    if (value === undefined) this.#world.delete(key);
    else this.#world.set(key, { key, value, createRevision: current?.createRevision ?? revision, revision });
    return { key, revision, value };
  }
}

export class DistantStore extends TimelineStore {
  readonly log = new DistantLog();
  #unheard: Row[] = [];

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

  /** Somebody else wrote, and this store has not heard of it yet. */
  elsewhere(key: string, value: string): void {
    const row = this.log.append(key, { expect: undefined, value });
    if (row !== undefined) this.#unheard.push(row);
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
    for (const row of this.#unheard.splice(0)) this.#take(row);
  }

  async compact(upToRevision: number): Promise<void> {
    this.mustBeOpen('compact');
    this.timeline.compact(upToRevision);
  }

  /** The log was out of reach while somebody wrote; what happened meanwhile cannot be told any more. */
  async miss(key: string, value: string): Promise<void> {
    this.log.append(key, { expect: undefined, value });
    const versions = this.log.records.map(
      (record): Version => ({
        key: record.key,
        revision: record.revision,
        record,
        before: undefined,
        atMs: this.clock.now(),
      }),
    );
    this.restart({ versions, revision: this.log.revision });
  }

  protected trim(): void {
    const due = dueBySize(this.timeline, this.limits) ?? dueByAge(this.timeline, this.limits, this.clock.now());
    if (due !== undefined) this.timeline.compact(due);
  }

  /** The value before comes from what this store has seen. */
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
