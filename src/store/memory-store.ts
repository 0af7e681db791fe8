// A store without persistence, for tests, benches and the demo. Every method finishes synchronously; the promises only satisfy
// the interface.
import { dueByAge, dueBySize } from './history-limits.ts';
import type { WriteResult } from './store.ts';
import { createRevisionOf, decide, eventOf } from './timeline.ts';
import { TimelineStore } from './timeline-store.ts';

export class MemoryStore extends TimelineStore {
  async start(): Promise<void> {
    this.open();
  }

  async stop(): Promise<void> {
    this.close('stopped');
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.mustBeOpen('write');
    const stamp = { revision: this.timeline.revision + 1, atMs: this.clock.now() };
    const verdict = decide(this.timeline.newest(key), { key, ...change }, stamp);
    if (verdict.kind === 'refuse') return verdict.result;
    this.timeline.apply(verdict.version);
    this.hub.publish(eventOf(verdict.version));
    const due = dueBySize(this.timeline, this.limits);
    if (due !== undefined) this.timeline.compact(due);
    return { ok: true, revision: stamp.revision, createRevision: createRevisionOf(verdict.version) };
  }

  async compact(upToRevision: number): Promise<void> {
    this.mustBeOpen('compact');
    this.timeline.compact(upToRevision);
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.mustBeOpen('write');
    this.setSideValues(changes);
  }

  protected trim(): void {
    const due = dueByAge(this.timeline, this.limits, this.clock.now());
    if (due !== undefined) this.timeline.compact(due);
  }
}
