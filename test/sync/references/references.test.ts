import { afterEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { WorkQueue } from '../../../src/queue/work-queue.ts';
import { References } from '../../../src/sync/loop/content/references.ts';
import type { ReferencePorts } from '../../../src/sync/references/reference-ports.ts';
import { Ledger } from '../../../src/sync/world/ledger.ts';
import { settle } from '../../virtual-clock.ts';
import { FakeWindow } from '../fake-cluster.ts';
import { secret } from './fake-references.ts';
import { dataOf, nameOf, start, startReferring, world } from './reference-stage.ts';

afterEach(() => world.stop());

describe('the memory of content', () => {
  it('holds only a digest of each tenant object, and the object is read again for a write', async () => {
    const planted = 'cGxhbnRlZA==';
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db', planted));
      w.virtual.put('secrets', secret('nobodys', planted));
      w.refer({ k: 'db' });
    });
    expect(dataOf(world.exported('db'))).toBe(planted);
    const window = world.contentWindows.get('virtual secrets') as FakeWindow<never>;
    const kept = [...window.keys()].map((key) => window.get(key));
    expect(kept).toHaveLength(2);
    expect(JSON.stringify(kept)).not.toContain(planted);
  });
});

describe('a reference that moves from one object to another', () => {
  it('removes no copy in between, because the references of changed objects are unknown until their next pass', async () => {
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' }, 'api');
      w.refer({}, 'web');
    });
    expect(world.exported('db')).toBeDefined();
    await world.change(() => {
      world.refer({}, 'api');
      // More than are worked on at a time.
      for (let at = 0; at < 100; at++) world.refer({ new: '1' }, `other-${at}`);
      world.refer({ k: 'db' }, 'web');
    });
    expect(world.contentWrites().filter((one) => one.includes('remove'))).toEqual([]);
    expect(world.references.registry.isComplete).toBe(true);
  });
});

it('what a leader said of content it says no longer when it leads again, and another replica has removed both sides', async () => {
  await start({}, (w) => {
    w.virtual.put('secrets', secret('db'));
    w.refer({ k: 'db' });
    const writer = w.host.writer();
    w.host.writer = () => ({
      ...writer,
      remove: async (ref, ...rest) =>
        ref.resource === 'secrets'
          ? { kind: 'failed', status: 500, retryAfterMs: undefined, message: 'no' }
          : writer.remove(ref, ...rest),
    });
  });
  await world.change(() => {
    world.virtual.remove('endpoints', 'default', 'web');
    world.virtual.remove('secrets', 'default', 'db');
  });
  const said = () => world.references.status() as { Secret: object };
  expect(said().Secret).toMatchObject({ retry: 1 });
  world.isLeader = false;
  await world.change(() => world.host.remove('secrets', 'vcluster-vc', nameOf('db')));
  await world.clock.advance(1_000);
  world.isLeader = true;
  await world.change(() => world.sync.enqueueAll());
  expect(said().Secret).toMatchObject({ retry: 0 });
});

describe('two referring kinds', () => {
  it('one kind does not wait for content that only the patches of the other kind name', async () => {
    await startReferring();
    let isEndless = false;
    const never = new Promise<void>(() => {});
    const window = new FakeWindow<never>(world.virtual, 'secrets', (() => undefined) as never);
    vi.spyOn(window, 'whenSynced').mockReturnValue(never);
    const other = new References({
      queue: new WorkQueue(world.clock),
      settings: world.settings,
      openWindows: () => {
        isEndless = true;
        return { virtual: window, copies: window, importable: window };
      },
      findCopies: async () => ({ kind: 'failed' }),
      findImports: async () => ({ kind: 'failed' }),
      clock: world.clock,
      random: () => 0.5,
      log: silentLog,
      metrics: createMetrics(),
    });
    other.connect({ ledger: new Ledger(), isDryRun: false, mayWrite: () => true } as ReferencePorts);
    await other.start('EndpointSlice');
    expect(isEndless).toBe(false);
    const waiting = other.start('Endpoints');
    const first = await Promise.race([waiting.then(() => 'started'), settle(5).then(() => 'waiting')]);
    expect([isEndless, first]).toEqual([true, 'waiting']);
  });
});
