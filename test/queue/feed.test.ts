import { describe, expect, test } from 'vitest';
import { settle } from '../virtual-clock.ts';
import { clock, makeQueue, makeQueues, metrics, setUp } from './stage.ts';

setUp();

describe('feed()', () => {
  function* counted(count: number, asked: { keys: number }): Generator<string> {
    for (let index = 0; index < count; index++) {
      asked.keys++;
      yield `fed/${index}`;
    }
  }

  test('works through the source to its end, in its order', async () => {
    const queue = makeQueue();
    const worked: string[] = [];
    queue.work(2, (key) => void worked.push(key));
    queue.feed('all', ['a', undefined, 'b', undefined], 4);
    await queue.whenIdle();
    expect(worked).toEqual(['a', 'b']);
    expect(await metrics.metrics()).toContain('hostward_queue_added_total{queue="test"} 2');
  });

  test('reads only as many keys as workers can take, and counts the remaining keys as waiting', async () => {
    const queue = makeQueue();
    const asked = { keys: 0 };
    queue.work(2, () => new Promise<void>(() => {}));
    queue.feed('all', counted(100_000, asked), 100_000);
    await settle();
    expect(asked.keys).toBeLessThan(200);
    expect(queue.waiting + queue.running).toBe(100_000);
    expect(queue.isIdle).toBe(false);
    const stopped = queue.stop(0);
    expect(queue.waiting).toBe(0);
    await clock.advance(1);
    expect(await stopped).toBe(false);
  });

  test('a key in another lane does not wait for the end of the source', async () => {
    const queue = makeQueue((key) => key.slice(0, key.indexOf('/')));
    const worked: string[] = [];
    queue.work(1, (key) => {
      worked.push(key);
      if (key === 'fed/500') queue.add('live/a');
    });
    queue.feed('all', counted(10_000, { keys: 0 }), 10_000);
    await queue.whenIdle();
    expect(worked).toHaveLength(10_001);
    expect(worked.indexOf('live/a')).toBeLessThan(510);
  });

  test('a source may add keys while it is read', async () => {
    const [queue, other] = makeQueues();
    const worked: string[] = [];
    function* adding(): Generator<string | undefined> {
      for (let index = 0; index < 200; index++) yield `fed/${index}`;
      other.add('other');
      queue.add('own');
    }
    queue.work(2, (key) => void worked.push(key));
    other.work(2, (key) => void worked.push(key));
    queue.feed('all', adding(), 200);
    await Promise.all([queue.whenIdle(), other.whenIdle()]);
    expect(worked).toHaveLength(202);
    expect(worked).toEqual(expect.arrayContaining(['other', 'own']));
  });

  test('a source may be replaced at its own end', async () => {
    const queue = makeQueue();
    const worked: string[] = [];
    function* begun(): Generator<string> {
      yield 'first';
      queue.feed('all', ['second', 'third'], 2);
    }
    queue.work(2, (key) => void worked.push(key));
    queue.feed('all', begun(), 1);
    await queue.whenIdle();
    expect(worked).toEqual(['first', 'second', 'third']);
  });

  test('a source replaces an earlier source of the same name', async () => {
    const queue = makeQueue();
    const worked: string[] = [];
    queue.feed('all', ['old/a', 'old/b'], 2);
    queue.feed('all', ['new/a'], 1);
    queue.feed('audit', ['audit/a'], 1);
    queue.work(1, (key) => void worked.push(key));
    await queue.whenIdle();
    expect(worked).toEqual(['new/a', 'audit/a']);
  });

  test('a key of the source that a worker has goes out again, because the source may report a newer change', async () => {
    const queue = makeQueue();
    const ends: (() => void)[] = [];
    queue.work(2, () => new Promise<void>((resolve) => ends.push(resolve)));
    queue.add('a');
    await settle();
    queue.feed('all', ['a'], 1);
    await settle();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await settle();
    expect(ends).toHaveLength(2);
  });

  test('does not block the event loop, however little work a key needs', async () => {
    const queue = makeQueue();
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    queue.work(8, () => {});
    queue.feed('all', counted(20_000, { keys: 0 }), 20_000);
    await queue.whenIdle();
    isDone = true;
    expect(turns).toBeGreaterThan(20);
  });

  test('does not block the event loop while it has no key, because its work is divided all the same', async () => {
    const queue = makeQueue();
    let turns = 0;
    const count = (): void => {
      turns++;
      if (!queue.isIdle) setImmediate(count);
    };
    setImmediate(count);
    queue.work(8, () => {});
    queue.feed('none', Array<undefined>(10_000), 10_000);
    await queue.whenIdle();
    expect(turns).toBeGreaterThanOrEqual(18);
  });
});

describe('aside()', () => {
  test('gives the worker back when a wait elsewhere takes long, however many keys wait there', async () => {
    const queue = makeQueue();
    const worked: string[] = [];
    let release: () => void = () => {};
    const sandbox = new Promise<void>((resolve) => {
      release = resolve;
    });
    queue.work(4, async (key) => {
      if (key.startsWith('patched')) await queue.aside(key, sandbox);
      worked.push(key);
    });
    for (let at = 0; at < 70; at++) queue.add(`patched ${at}`);
    queue.add('plain');
    await clock.advance(19);
    expect(worked).toEqual([]);
    for (let passed = 0; passed < 500 && worked.length === 0; passed += 20) await clock.advance(20);
    expect(worked).toEqual(['plain']);
    // Now all of them wait elsewhere, and a new one goes at once.
    queue.add('next');
    await clock.advance(0);
    expect(worked).toEqual(['plain', 'next']);
    release();
    await queue.whenIdle();
    expect(worked).toHaveLength(72);
  });

  test('keeps a key to one worker, and its news', async () => {
    const queue = makeQueue();
    const ends: (() => void)[] = [];
    let began = 0;
    queue.work(1, async (key) => {
      began++;
      await queue.aside(key, new Promise<void>((resolve) => ends.push(resolve)));
    });
    queue.add('a');
    await clock.advance(50);
    queue.add('a');
    await clock.advance(50);
    expect(began).toBe(1);
    ends[0]?.();
    await clock.advance(50);
    expect(began).toBe(2);
    ends[1]?.();
    await queue.whenIdle();
    expect(queue.running).toBe(0);
  });

  test('takes the worker again behind the wait, so that no more keys work at once than there are workers', async () => {
    const queue = makeQueue();
    const ends: (() => void)[] = [];
    let [atOnce, most] = [0, 0];
    queue.work(1, async (key) => {
      if (key === 'patched') await queue.aside(key, new Promise<void>((resolve) => ends.push(resolve)));
      most = Math.max(most, ++atOnce);
      await new Promise<void>((resolve) => clock.after(5, resolve));
      atOnce--;
    });
    queue.add('patched');
    await clock.advance(50);
    ends[0]?.();
    await clock.advance(50);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.advance(50);
    await queue.whenIdle();
    expect(most).toBe(1);
  });

  test('keeps memory for a bounded number of keys that wait elsewhere', async () => {
    const queue = makeQueue();
    let began = 0;
    queue.work(500, async (key) => {
      began++;
      await queue.aside(key, new Promise<void>(() => {}));
    });
    for (let at = 0; at < 3_000; at++) queue.add(`patched ${at}`);
    await clock.advance(200);
    // Two thousand without a worker, and one for each worker.
    expect(began).toBe(2_500);
  });

  test('costs a wait that fails nothing but its failure', async () => {
    const queue = makeQueue();
    let failed = 0;
    queue.work(1, async (key) => {
      await queue.aside(key, Promise.reject(new Error('gone'))).catch(() => failed++);
    });
    queue.add('a');
    await queue.whenIdle();
    expect([failed, queue.running]).toEqual([1, 0]);
  });
});
