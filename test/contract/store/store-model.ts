// Runs random histories on a store and on a model that keeps a complete copy for every revision.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Store, StoredRecord, StoreEvent } from '../../../src/store/store.ts';

type Command =
  | { kind: 'write'; key: string; value: string | undefined; expect: 'none' | 'absent' | 'current' | 'stale' }
  | { kind: 'list'; prefix: string; back: number; limit: number | undefined; afterKey: string | undefined }
  | { kind: 'compact'; back: number };

const key = fc.constantFrom('/a', '/a/1', '/a/2', '/a/\u{1f600}', '/a/\uffee', '/b', '/b/1', '/c');
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      key,
      value: fc.option(fc.string({ maxLength: 4 }), { nil: undefined, freq: 3 }),
      expect: fc.constantFrom('none' as const, 'absent' as const, 'current' as const, 'stale' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      prefix: fc.constantFrom('/', '/a', '/a/', '/b', '/zz'),
      back: fc.integer({ min: -1, max: 12 }),
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      afterKey: fc.option(key, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const), back: fc.integer({ min: 0, max: 12 }) }) },
);

class Model {
  worlds: ReadonlyMap<string, StoredRecord>[] = [new Map()];
  events: StoreEvent[] = [];
  compacted = 0;

  get revision(): number {
    return this.worlds.length - 1;
  }

  get world(): ReadonlyMap<string, StoredRecord> {
    return this.worlds.at(-1) ?? new Map();
  }

  write(at: string, value: string | undefined): void {
    const before = this.world.get(at);
    const revision = this.worlds.length;
    const createRevision = before?.createRevision ?? revision;
    const world = new Map(this.world);
    if (value === undefined) world.delete(at);
    else world.set(at, { key: at, value, createRevision, revision });
    this.worlds.push(world);
    this.events.push({
      type: value === undefined ? 'delete' : 'put',
      key: at,
      revision,
      value: value ?? before?.value ?? '',
      previous: before?.value,
      createRevision,
    });
  }
}

export function storeModelContract(makeStore: () => Promise<Store>, numRuns: number): void {
  it('any sequence of writes, lists and compactions has the same results as the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
        const store = await makeStore();
        const model = new Model();
        const seen = await watchAll(store);
        for (const step of commands) {
          // A watch that has not read what is compacted may end.
          if (step.kind === 'compact') await expectSeen(seen, model);
          await play(store, model, step);
        }
        await expectSeen(seen, model);
        expect(await history(store, model.compacted)).toEqual(model.events.slice(model.compacted));
        await store.stop();
      }),
      { numRuns },
    );
  });
}

async function play(store: Store, model: Model, step: Command): Promise<void> {
  switch (step.kind) {
    case 'write': {
      const current = model.world.get(step.key);
      const expected = { none: undefined, absent: 0, current: current?.revision ?? 0, stale: 1_000_000 }[step.expect];
      const mayWrite = expected === undefined || expected === (current?.revision ?? 0);
      const isWritten = mayWrite && !(step.value === undefined && current === undefined);
      const result = await store.write(step.key, { expect: expected, value: step.value });
      if (isWritten) model.write(step.key, step.value);
      const createRevision = model.events.at(-1)?.createRevision ?? 0;
      const { revision } = model;
      expect(result).toEqual(isWritten ? { ok: true, revision, createRevision } : { ok: false, current, revision });
      return;
    }
    case 'list': {
      const atRevision = model.revision - step.back;
      const { limit, afterKey } = step;
      const result = await store.list(step.prefix, {
        atRevision,
        ...(limit !== undefined && { limit }),
        ...(afterKey !== undefined && { afterKey }),
      });
      expect(result).toEqual(expectedList(model, step, atRevision));
      return;
    }
    case 'compact':
      await store.compact(model.revision - step.back);
      model.compacted = Math.max(model.compacted, model.revision - step.back);
      return;
    default:
      step satisfies never;
  }
}

function expectedList(model: Model, step: Extract<Command, { kind: 'list' }>, atRevision: number) {
  if (atRevision > model.revision) return { kind: 'futureRevision', currentRevision: model.revision };
  if (atRevision < model.compacted) return { kind: 'compacted', compactedRevision: model.compacted };
  const all = [...(model.worlds[atRevision] ?? new Map()).values()]
    .filter((record) => record.key.startsWith(step.prefix))
    .filter((record) => step.afterKey === undefined || bytes(record.key).compare(bytes(step.afterKey)) > 0)
    .sort((a, b) => bytes(a.key).compare(bytes(b.key)));
  const records = all.slice(0, step.limit);
  const remaining = all.length - records.length;
  return { kind: 'page', records, revision: atRevision, hasMore: remaining > 0, remaining };
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

async function watchAll(store: Store): Promise<StoreEvent[]> {
  const seen: StoreEvent[] = [];
  const watch = await store.watch('/', 0);
  if ('kind' in watch) throw new Error('A new store has nothing compacted');
  void (async () => {
    for await (const batch of watch.events()) seen.push(...batch);
  })();
  return seen;
}

async function expectSeen(seen: StoreEvent[], model: Model): Promise<void> {
  for (let turn = 0; turn < 1000 && seen.length < model.events.length; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(seen).toEqual(model.events);
}

async function history(store: Store, afterRevision: number): Promise<StoreEvent[]> {
  if (afterRevision === (await store.currentRevision())) return [];
  const watch = await store.watch('/', afterRevision);
  if ('kind' in watch) throw new Error(`Revision ${afterRevision} is compacted`);
  for await (const batch of watch.events()) return batch;
  return [];
}
