// Who has used how much of the event loop: shares of a window that moves, and the 429 with the time until the share is free again.
import { describe, expect, it } from 'vitest';
import type { Holder } from '../../../src/apiserver/limits/caller-limits.ts';
import { LoopTime, loopShares } from '../../../src/apiserver/limits/loop-time.ts';
import type { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { systemClock } from '../../../src/clock.ts';

const aSecond = 1_000;
const turnEnds = () => new Promise((resolve) => setImmediate(resolve));

/** A key of an owner of its own, unless it says whose it is: `owner/key`. */
function holder(caller: string): Holder {
  const [owner = '', key = owner] = caller.split('/');
  return { key, owner };
}

function counted(newcomers = 0) {
  let nowMs = 100 * aSecond;
  let cpuMs = 0;
  const loop = new LoopTime({ ...systemClock, now: () => nowMs }, loopShares, {
    cpuMs: () => cpuMs,
    newcomers: () => newcomers,
  });
  return {
    loop,
    pass(seconds: number) {
      nowMs += seconds * aSecond;
    },
    burn(ms: number) {
      cpuMs += ms;
    },
    async use(caller: string, ms: number) {
      loop.begins(holder(caller));
      cpuMs += ms;
      await turnEnds();
    },
    refusal(caller: string) {
      try {
        loop.admit(holder(caller));
        return undefined;
      } catch (error) {
        const { code, message, details } = (error as StatusFault).status;
        return { code, message, seconds: details?.retryAfterSeconds };
      }
    },
  };
}

describe('LoopTime', () => {
  it('lets a caller use a quarter of the last ten seconds, and refuses it then, and nobody else', async () => {
    const { use, refusal } = counted();
    await use('a', 2_500);
    expect(refusal('a')).toBeUndefined();
    await use('a', 1);
    expect(refusal('a')).toMatchObject({
      code: 429,
      message: expect.stringContaining('more than 25 % of the last 10'),
    });
    expect(refusal('b')).toBeUndefined();
  });

  it('says when the share is free again, and it is', async () => {
    const { use, refusal, pass } = counted();
    await use('a', 1_500);
    pass(4);
    await use('a', 1_500);
    expect(refusal('a')?.seconds).toBe(6);
    pass(5);
    expect(refusal('a')?.seconds).toBe(1);
    pass(1);
    expect(refusal('a')).toBeUndefined();
  });

  it('counts a turn to its end, what its promises do among it, and nothing after it', async () => {
    const { loop, burn } = counted();
    await Promise.resolve();
    loop.begins(holder('a'));
    burn(10);
    await Promise.resolve();
    burn(20);
    await turnEnds();
    burn(1_000);
    loop.begins(holder('b'));
    burn(5);
    loop.begins(holder('a'));
    burn(1);
    await turnEnds();
    expect([loop.usedMs(holder('a')), loop.usedMs(holder('b'))]).toEqual([31, 5]);
  });

  it('refuses all but small callers while all together use three quarters of the time', async () => {
    const { use, refusal } = counted();
    for (const caller of ['a', 'b', 'c', 'd']) await use(caller, 1_900);
    await use('small', 200);
    expect(refusal('a')).toMatchObject({ code: 429, message: expect.stringContaining('all access keys together') });
    expect([refusal('small'), refusal('new')]).toEqual([undefined, undefined]);
  });

  it('counts the keys of an owner together: for half of the time, and for what is small', async () => {
    const { use, refusal } = counted();
    for (let at = 0; at < 28; at++) await use(`mallory/key-${at}`, 180);
    expect(refusal('mallory/new')).toMatchObject({
      code: 429,
      message: expect.stringContaining('the access keys of your owner have used more than 50 %'),
    });
    for (let at = 0; at < 15; at++) await use(`trudy/key-${at}`, 180);
    // Each of these keys alone is small, and their owner is not.
    expect(refusal('trudy/new')).toMatchObject({ code: 429, message: expect.stringContaining('those of your owner') });
    expect(refusal('alice')).toBeUndefined();
  });

  it('takes owners in turn, and the keys of each', async () => {
    const { loop, burn } = counted();
    const order: string[] = [];
    const request = async (caller: string) => {
      await loop.turn(holder(caller));
      burn(25);
      order.push(caller);
    };
    await Promise.all(['m/1', 'm/1', 'm/2', 'm/3', 'm/4', 'a/1', 'a/1'].map(request));
    expect(order).toEqual(['m/1', 'a/1', 'm/2', 'a/1', 'm/3', 'm/4', 'm/1']);
  });

  it.each([
    ['three in a turn of the loop', 0, 3],
    ['one, so that the next client is let in sooner, while somebody is new', 2, 1],
  ])('does what many requests want at once a slice at a time: %s', async (_what, newcomers, atOnce) => {
    const { loop, burn } = counted(newcomers);
    let done = 0;
    const request = async () => {
      await loop.turn(holder('a'));
      burn(7);
      await Promise.resolve();
      burn(1);
      done++;
    };
    const all = Promise.all(Array.from({ length: 30 }, request));
    const doneBefore: number[] = [];
    while (done < 30) {
      const before = done;
      await turnEnds();
      doneBefore.push(done - before);
    }
    await all;
    expect(Math.max(...doneBefore)).toBe(atOnce);
    expect(loop.usedMs(holder('a'))).toBe(240);
  });

  it('takes the callers in turn, whoever has sent most', async () => {
    const { loop, burn } = counted();
    const order: string[] = [];
    const request = async (caller: string) => {
      await loop.turn(holder(caller));
      burn(25);
      order.push(caller);
    };
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'c'].map(request));
    expect(order).toEqual(['a', 'b', 'c', 'a', 'a', 'a']);
  });
});
