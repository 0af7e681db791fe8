import { describe, expect, test } from 'vitest';
import { pause } from '../../src/clock.ts';
import { Delays } from '../../src/queue/delays.ts';
import { settle } from '../virtual-clock.ts';
import { clock, makeQueue, metrics, renew, setUp } from './stage.ts';

setUp();

describe('Delays', () => {
  test('that were cleared fire nothing of before, and what is added later at its time', async () => {
    const due: [string, number][] = [];
    const delays = new Delays(clock, (key) => due.push([key, clock.now()]));
    delays.add('before', 100);
    delays.clear();
    delays.add('after', 500);
    await clock.advance(1_000);
    expect(due).toEqual([['after', 500]]);
  });
});

describe('hurry()', () => {
  test('tries the concerned keys at once, each once, and leaves the other delays', async () => {
    const queue = makeQueue();
    const worked: string[] = [];
    queue.work(2, (key) => void worked.push(key));
    for (let failure = 0; failure < 20; failure++) queue.retry('failed');
    queue.addAfter('other', 60_000);
    await clock.advance(1000);
    worked.length = 0;
    queue.addAfter('failed', 60_000);
    queue.hurry((key) => key === 'failed');
    await queue.whenIdle();
    expect(worked).toEqual(['failed']);
    expect([queue.delayed, queue.failures('failed')]).toEqual([1, 20]);
    await clock.advance(60_000);
    await settle();
    expect(worked).toEqual(['failed', 'other']);
  });

  test('tries a key once more that a worker has and that fails then, as its request may have begun before', async () => {
    const queue = makeQueue();
    const begunMs: number[] = [];
    queue.work(1, async (key) => {
      begunMs.push(clock.now());
      await pause(clock, 30_000);
      queue.retry(key);
    });
    for (let failure = 0; failure < 20; failure++) queue.retry('a');
    await clock.advance(20_000);
    queue.hurry(() => true);
    for (let second = 0; second < 60; second++) await clock.advance(1_000);
    const [first = 0, second = 0, ...later] = begunMs;
    expect([second - first, later]).toEqual([30_000, []]);
  });

  test('whichever keys are tried at once, each of the others comes at its own time', async () => {
    for (const seed of [1, 2, 3]) {
      renew();
      const queue = makeQueue();
      const worked = new Map<string, number>();
      queue.work(1, (key) => void worked.set(key, clock.now()));
      // Times that are neither rising nor falling, so that a key leaves the middle of all that wait.
      const delays = Array.from({ length: 60 }, (_, nth) => 1 + ((nth * 37 * seed + 11) % 61));
      for (const [nth, delayMs] of delays.entries()) queue.addAfter(String(nth), delayMs);
      queue.hurry((key) => Number(key) % 3 === 0);
      await queue.whenIdle();
      await clock.advance(100);
      const wanted = delays.map((delayMs, nth): [string, number] => [String(nth), nth % 3 === 0 ? 0 : delayMs]);
      expect([...worked].sort()).toEqual(wanted.sort());
    }
  });
});

describe('addAfter()', () => {
  test('keeps the earliest of several times, with one timer for all keys', async () => {
    const queue = makeQueue();
    const worked: [string, number][] = [];
    queue.work(1, (key) => void worked.push([key, clock.now()]));
    queue.addAfter('a', 500);
    queue.addAfter('b', 300);
    queue.addAfter('a', 100);
    queue.addAfter('a', 900);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000);
    expect(worked).toEqual([
      ['a', 100],
      ['b', 300],
    ]);
  });
});

describe('retry()', () => {
  test('waits 5 ms, doubling up to 60 s, until forget()', async () => {
    const queue = makeQueue();
    const atMs: number[] = [];
    queue.work(1, (key) => {
      atMs.push(clock.now());
      if (atMs.length < 20) queue.retry(key);
      else queue.forget(key);
    });
    queue.add('a');
    await clock.advance(1_000_000);
    const waits = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
    expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(Math.max(...waits)).toBe(60_000);
    expect(queue.failures('a')).toBe(0);
  });

  test('keys that failed together are not retried together', async () => {
    const waits: number[] = [];
    for (const random of [0, 0.25, 0.5]) {
      renew();
      const queue = makeQueue(undefined, () => random);
      queue.work(1, () => void waits.push(clock.now()));
      queue.retry('a');
      await clock.advance(10);
    }
    expect(waits).toEqual([5, 5.625, 6.25]);
  });

  test('an error of the worker is logged as a bug, and the key is retried', async () => {
    const queue = makeQueue();
    let calls = 0;
    queue.work(1, () => {
      if (++calls === 1) throw new Error('a bug');
    });
    queue.add('a');
    await clock.advance(10);
    expect(calls).toBe(2);
    expect(await metrics.metrics()).toContain('hostward_queue_worker_errors_total{queue="test"} 1');
  });
});
