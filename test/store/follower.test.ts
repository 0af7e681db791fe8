import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { StoreFault } from '../../src/store/errors.ts';
import { type Follower, type FollowerOptions, Followers } from '../../src/store/follow/follower.ts';
import { settle, VirtualClock } from '../virtual-clock.ts';
import { DistantStore } from './distant-store.ts';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

type Step = 'currentRevision' | 'list' | 'watch';

async function followed(options: Partial<FollowerOptions> = {}) {
  const clock = new VirtualClock();
  const store = new DistantStore({ clock });
  await store.start();
  endings.push(() => store.stop());
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line: string) => lines.push(line) } });
  const followers = new Followers({ store, clock, log });
  const known = new Map<string, string>();
  let seen = new Set<string>();
  const follower: Follower = followers.of({
    prefix: '/r/',
    what: 'things',
    begins: () => {
      seen = new Set();
    },
    found: ({ key, value }) => {
      seen.add(key);
      known.set(key, value);
    },
    ends: () => {
      for (const key of [...known.keys()]) if (!seen.has(key)) known.delete(key);
    },
    changed: ({ type, key, value }) => {
      if (type === 'put') known.set(key, value);
      else known.delete(key);
    },
    ...options,
  });
  await follower.start();
  endings.push(() => follower.stop());
  /** The step fails until the returned function is called. */
  const breaks = (step: Step) => {
    const held = store as unknown as Record<Step, unknown>;
    const whole = held[step];
    held[step] = () => Promise.reject(new StoreFault('STORE_HOST_FAILED', 'no way to the host'));
    return () => {
      held[step] = whole;
    };
  };
  return { clock, store, lines, followers, follower, known, breaks };
}

describe('a follower of records', () => {
  it('knows what was there, and every change', async () => {
    const { store, known } = await followed();
    await store.write('/r/a', { expect: 0, value: '1' });
    await store.write('/r/b', { expect: 0, value: '2' });
    await store.write('/r/a', { expect: undefined, value: undefined });
    await settle();
    expect([...known]).toEqual([['/r/b', '2']]);
  });

  it('that is stopped while it opens a watch ends, and leaves no watch open', async () => {
    const { clock, store, follower } = await followed();
    const open = store.watch.bind(store);
    const opened = Promise.withResolvers<Awaited<ReturnType<typeof open>>>();
    const asked = Promise.withResolvers<void>();
    store.watch = async () => {
      asked.resolve();
      return opened.promise;
    };
    await store.miss('/r/made', '2');
    await clock.advance(100);
    await asked.promise;
    const stopped = follower.stop();
    const watch = await open('/r/', await store.currentRevision());
    opened.resolve(watch);
    await stopped;
    expect(watch).toMatchObject({ ended: 'closed' });
  });

  it.each(['currentRevision', 'list', 'watch'] as const)(
    'goes on after a lost watch when the step %s fails, says so once, and is behind in the meantime',
    async (step) => {
      const { clock, store, known, lines, followers, breaks } = await followed();
      await store.write('/r/revoked', { expect: 0, value: '1' });
      await settle();
      const mend = breaks(step);
      await store.miss('/r/made', '2');
      await clock.advance(4_900);
      expect(followers.trouble).toBeUndefined();
      await clock.advance(1_000);
      expect(followers.trouble).toMatch(/^the things in the store have not been followed for \d s; the log says why$/);
      expect(lines.filter((line) => line.includes('records of the store not followed'))).toHaveLength(1);
      mend();
      await clock.advance(2_000);
      expect([followers.trouble, known.get('/r/made')]).toEqual([undefined, '2']);
      expect(lines.at(-1)).toContain('records of the store followed again');
      await store.write('/r/revoked', { expect: undefined, value: undefined });
      await settle();
      expect(known.has('/r/revoked')).toBe(false);
    },
  );

  it('is behind for the whole time in which each reading is overtaken by the next loss', async () => {
    const losing = { store: undefined as DistantStore | undefined, times: 0 };
    const known = new Map<string, string>();
    const { clock, store, followers } = await followed({
      found: async ({ key, value }) => {
        if (losing.times > 0) {
          losing.times--;
          await losing.store?.miss('/r/b', String(losing.times));
          await new Promise<void>((resolve) => clock.after(2_000, resolve));
        }
        known.set(key, value);
      },
    });
    losing.store = store;
    await store.write('/r/a', { expect: 0, value: '1' });
    losing.times = 4;
    await store.miss('/r/b', 'first');
    await clock.advance(7_000);
    expect(followers.trouble).toContain('have not been followed for 7 s');
    await clock.advance(10_000);
    expect([followers.trouble, known.get('/r/b')]).toEqual([undefined, '0']);
  });

  it('leaves a record aside that its owner cannot take, and takes all others', async () => {
    const known: string[] = [];
    const take = ({ key, value }: { key: string; value: string }) => {
      JSON.parse(value);
      known.push(key);
    };
    const { store, lines, followers } = await followed({ found: take, changed: take });
    await store.write('/r/damaged', { expect: 0, value: '{' });
    await store.write('/r/whole', { expect: 0, value: '{}' });
    await settle();
    expect(known).toEqual(['/r/whole']);
    await store.miss('/r/last', '{}');
    await settle();
    expect(known).toEqual(['/r/whole', '/r/last', '/r/whole']);
    expect([followers.trouble, lines.filter((line) => line.includes('left aside')).length]).toEqual([undefined, 2]);
  });

  it('says whether its owner has had every change up to a revision', async () => {
    const { clock, store, followers, breaks } = await followed();
    const { revision } = await store.write('/r/a', { expect: 0, value: '1' });
    await settle();
    expect([followers.have(revision), followers.have(revision + 1)]).toEqual([true, false]);
    const mend = breaks('list');
    await store.miss('/r/b', '2');
    expect(followers.have(revision)).toBe(false);
    mend();
    await clock.advance(200);
    expect(followers.have(await store.currentRevision())).toBe(true);
  });

  it('stops while the store cannot be read, and leaves no timer', async () => {
    const { clock, store, follower, breaks } = await followed();
    const timers = clock.pendingTimers;
    breaks('list');
    await store.miss('/r/a', '1');
    await clock.advance(500);
    expect(clock.pendingTimers).toBe(timers + 1);
    await follower.stop();
    expect(clock.pendingTimers).toBe(timers);
  });
});
