import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { silentLog } from '../../src/log.ts';
import type { QueuePart } from '../../src/queue/queue-part.ts';
import { WorkQueue } from '../../src/queue/work-queue.ts';
import { settle } from '../virtual-clock.ts';
import { clock, makeQueue, metrics, renew, setUp } from './stage.ts';

setUp();

describe('add()', () => {
  test('many additions of one key cause one run of the worker', async () => {
    const queue = makeQueue();
    const worked: string[] = [];
    for (let i = 0; i < 10; i++) queue.add('a');
    queue.work(2, (key) => void worked.push(key));
    await queue.whenIdle();
    expect(worked).toEqual(['a']);
  });

  test('a key added while a worker has it goes out once more afterwards, and never to two workers at a time', async () => {
    const queue = makeQueue();
    const ends: (() => void)[] = [];
    let atOnce = 0;
    let most = 0;
    queue.work(4, async () => {
      most = Math.max(most, ++atOnce);
      await new Promise<void>((resolve) => ends.push(resolve));
      atOnce--;
    });
    queue.add('a');
    await settle();
    queue.add('a');
    queue.add('a');
    expect(queue.running).toBe(1);
    ends[0]?.();
    await settle();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await queue.whenIdle();
    expect(ends).toHaveLength(2);
    expect(most).toBe(1);
  });

  test('workers that become free in one event loop turn begin their next keys together', async () => {
    const queue = makeQueue();
    const said: string[] = [];
    const ends = new Map<string, () => void>();
    queue.work(2, async (key) => {
      said.push(`begin ${key}`);
      await new Promise<void>((resolve) => ends.set(key, resolve));
      said.push(`end ${key}`);
    });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await settle();
    const before = said.splice(0);
    // This imitates two answers from two sockets, each with its follow-up work.
    ends.get('a')?.();
    for (let hop = 0; hop < 20; hop++) await Promise.resolve();
    ends.get('b')?.();
    await settle();
    expect([before, said]).toEqual([
      ['begin a', 'begin b'],
      ['end a', 'end b', 'begin c', 'begin d'],
    ]);
  });

  test('an addition before looking() needs no further run, and a later addition needs one', async () => {
    const queue = makeQueue();
    let turns = 0;
    const ends: (() => void)[] = [];
    queue.work(1, async (key) => {
      turns++;
      await new Promise<void>((resolve) => ends.push(resolve));
      queue.looking(key);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    queue.add('a');
    await settle();
    queue.add('a');
    ends[0]?.();
    await settle();
    ends[1]?.();
    await queue.whenIdle();
    expect(turns).toBe(1);
    queue.add('a');
    await settle();
    ends[2]?.();
    await settle();
    queue.add('a');
    ends[3]?.();
    await settle();
    ends[4]?.();
    await settle();
    ends[5]?.();
    await queue.whenIdle();
    expect(turns).toBe(3);
  });

  test('a lane with ten thousand keys does not keep another lane waiting', async () => {
    const queue = makeQueue((key) => key.slice(0, key.indexOf('/')));
    const worked: string[] = [];
    for (let i = 0; i < 10_000; i++) queue.add(`busy/${i}`);
    queue.add('quiet/1');
    queue.work(1, (key) => void worked.push(key));
    await queue.whenIdle();
    expect(worked.indexOf('quiet/1')).toBe(1);
    expect(worked).toHaveLength(10_001);
  });

  test('a hundred thousand keys go through in linear time', async () => {
    const queue = makeQueue();
    let count = 0;
    const before = process.threadCpuUsage();
    for (let i = 0; i < 100_000; i++) queue.add(`n/${i}`);
    queue.work(8, () => void count++);
    await queue.whenIdle();
    expect(count).toBe(100_000);
    // Processor time, not wall time, because other suites run in parallel. A quadratic queue would need a minute.
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});

test('keys that wake each other, and take milliseconds each, let the event loop have its turn after eight of them', async () => {
  let nowMs = 0;
  const slow: Clock = { now: () => nowMs, wallTime: () => new Date(nowMs), after: (...timer) => clock.after(...timer) };
  const queue = new WorkQueue(slow).part({ name: 'test', random: () => 0, log: silentLog, metrics });
  let worked = 0;
  queue.work(8, () => {
    nowMs += 3;
    if (++worked < 60) queue.add(String(worked));
  });
  queue.add('0');
  const seen = [0];
  while (worked < 60) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(worked);
  }
  // Two slices may follow each other before this test has its turn.
  expect(Math.max(...seen.slice(1).map((count, nth) => count - (seen[nth] as number)))).toBeLessThanOrEqual(8);
});

test('ten thousand keys that need no I/O do not block the event loop', async () => {
  const queue = makeQueue();
  let turns = 0;
  const count = () => {
    turns++;
    if (!queue.isIdle) setImmediate(count);
  };
  for (let i = 0; i < 10_000; i++) queue.add(`n/${i}`);
  queue.work(8, () => undefined);
  setImmediate(count);
  await queue.whenIdle();
  expect(turns).toBeGreaterThanOrEqual(18);
});

describe('stop()', () => {
  test('hands out no more keys and waits for running work', async () => {
    const queue = makeQueue();
    const ends: (() => void)[] = [];
    queue.work(1, () => new Promise<void>((resolve) => ends.push(resolve)));
    queue.add('a');
    queue.add('b');
    await settle();
    const stopped = queue.stop(5_000);
    ends[0]?.();
    expect(await stopped).toBe(true);
    queue.add('c');
    await settle();
    expect(ends).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not wait longer than the given time', async () => {
    const queue = makeQueue();
    queue.work(1, () => new Promise<void>(() => undefined));
    queue.add('a');
    await settle();
    const stopped = queue.stop(5_000);
    await clock.advance(5_000);
    expect(await stopped).toBe(false);
  });
});

test('every metric starts at zero', async () => {
  makeQueue();
  const text = await metrics.metrics();
  for (const name of [
    'depth',
    'delayed',
    'running',
    'oldest_seconds',
    'added_total',
    'retries_total',
    'worker_errors_total',
  ])
    expect(text).toContain(`hostward_queue_${name}{queue="test"} 0`);
  expect(text).toContain('hostward_queue_wait_seconds_count{queue="test"} 0');
});

test('the oldest waiting key may be in any lane', async () => {
  const queue = makeQueue((key) => key.slice(0, 1));
  for (const key of ['a1', 'b1', 'c1']) {
    queue.add(key);
    await clock.advance(1_000);
  }
  expect(queue.oldestMs).toBe(3_000);
});

test('the queue reports the age of the oldest waiting key', async () => {
  const queue = makeQueue();
  queue.add('a');
  await clock.advance(1_500);
  queue.add('b');
  expect(queue.oldestMs).toBe(1_500);
  expect(await metrics.metrics()).toContain('hostward_queue_oldest_seconds{queue="test"} 1.5');
});

type Act =
  | { do: 'add' | 'retry' | 'forget' | 'finish' | 'fail'; key: number }
  | { do: 'addAfter'; key: number; delayMs: number }
  | { do: 'advance'; byMs: number };

const key = fc.integer({ min: 0, max: 4 });
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constantFrom('add', 'retry', 'forget', 'finish', 'fail'), key }),
  fc.record({ do: fc.constant('addAfter'), key, delayMs: fc.integer({ min: 0, max: 200 }) }),
  fc.record({ do: fc.constant('advance'), byMs: fc.integer({ min: 1, max: 100 }) }),
) as fc.Arbitrary<Act>;

test('under random use a key never goes to two workers, and work always follows its last addition', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40 }), fc.integer({ min: 1, max: 3 }), async (acts, concurrency) => {
      renew();
      const queue = makeQueue((name) => String(Number(name) % 2));
      const running = new Map<string, { end: () => void; fail: (error: Error) => void }>();
      const owed = new Set<string>();
      let isFinishing = false;
      queue.work(concurrency, (name) => {
        if (running.has(name)) throw new Error(`two workers on ${name}`);
        owed.delete(name);
        if (isFinishing) return undefined;
        return new Promise<void>((end, fail) => running.set(name, { end, fail })).finally(() => running.delete(name));
      });
      for (const each of acts) {
        const name = 'key' in each ? String(each.key) : '';
        if (each.do === 'add' || each.do === 'retry' || each.do === 'addAfter') owed.add(name);
        if (each.do === 'add') queue.add(name);
        else if (each.do === 'retry') queue.retry(name);
        else if (each.do === 'forget') queue.forget(name);
        else if (each.do === 'addAfter') queue.addAfter(name, each.delayMs);
        else if (each.do === 'finish') running.get(name)?.end();
        else if (each.do === 'fail') {
          if (running.has(name)) owed.add(name);
          running.get(name)?.fail(new Error('planned'));
        } else if (each.do === 'advance') await clock.advance(each.byMs);
        await settle(1);
        expect(queue.running).toBeLessThanOrEqual(concurrency);
        expect(queue.running).toBe(running.size);
      }
      isFinishing = true;
      for (const { end } of running.values()) end();
      await clock.advance(200_000);
      expect([...owed]).toEqual([]);
      expect(queue.isIdle).toBe(true);
      expect(queue.delayed).toBe(0);
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 60 },
  );
});

describe('part()', () => {
  const parts = () => {
    const whole = new WorkQueue(clock);
    return ['one', 'other'].map((name) => whole.part({ name, random: () => 0, log: silentLog, metrics })) as [
      QueuePart,
      QueuePart,
    ];
  };

  test('the parts take turns, and each knows its own keys', async () => {
    const [one, other] = parts();
    const worked: string[] = [];
    for (let at = 0; at < 3; at++) for (const part of [one, other]) part.add(`k${at}`);
    one.work(1, (key) => void worked.push(`one ${key}`));
    other.work(1, (key) => void worked.push(`other ${key}`));
    expect([one.waiting + one.running, other.waiting + other.running]).toEqual([3, 3]);
    await Promise.all([one.whenIdle(), other.whenIdle()]);
    expect(worked).toEqual(['one k0', 'other k0', 'one k1', 'other k1', 'one k2', 'other k2']);
  });

  test('a part whose workers hang, and one that stops, hold up no other part', async () => {
    const [stuck, well] = parts();
    stuck.work(2, () => new Promise<void>(() => {}));
    for (let at = 0; at < 10; at++) stuck.add(`k${at}`);
    let worked = 0;
    well.work(1, () => void worked++);
    for (let at = 0; at < 10; at++) well.add(`k${at}`);
    await well.whenIdle();
    expect([worked, stuck.running, stuck.waiting]).toEqual([10, 2, 8]);
    const stopped = stuck.stop(100);
    await clock.advance(100);
    expect(await stopped).toBe(false);
    well.add('later');
    await well.whenIdle();
    expect(worked).toBe(11);
  });
});
