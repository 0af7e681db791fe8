import { describe, expect, it } from 'vitest';
import { verdictOf } from './play/patience.ts';

const moment = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

describe('verdictOf() a watch that has not delivered', () => {
  it('is dead when the store has answered others a hundred times, each soon', async () => {
    let asked = 0;
    const asks = async () => ++asked > 0;
    expect(await verdictOf({ asks, isOver: new AbortController().signal, pauseMs: 5 })).toBe('dead');
    expect(asked).toBeGreaterThanOrEqual(100);
  });

  it('is starved when every answer comes late, as of a process that was stopped', async () => {
    const asks = async () => {
      await moment(10);
      return true;
    };
    expect(await verdictOf({ asks, isOver: new AbortController().signal, pauseMs: 1, mostMs: 100 })).toBe('starved');
  });

  it('is starved when the store answers nobody', async () => {
    const asks = () => new Promise<boolean>(() => undefined);
    expect(await verdictOf({ asks, isOver: new AbortController().signal, pauseMs: 1, mostMs: 50 })).toBe('starved');
  });

  it('is starved when this process itself was stopped meanwhile', async () => {
    const stands = () => {
      const untilMs = performance.now() + 6;
      while (performance.now() < untilMs);
    };
    const asks = async () => {
      stands();
      return true;
    };
    expect(await verdictOf({ asks, isOver: new AbortController().signal, pauseMs: 1, mostMs: 100 })).toBe('starved');
  });

  it('asks nothing more behind its verdict', async () => {
    let asked = 0;
    const asks = async () => {
      asked++;
      await moment(5);
      return true;
    };
    expect(await verdictOf({ asks, isOver: new AbortController().signal, pauseMs: 1, mostMs: 30 })).toBe('starved');
    const before = asked;
    await moment(40);
    expect(asked).toBe(before);
  });

  it('has no verdict when all watches came to rest, and asks nothing any more', async () => {
    const over = new AbortController();
    let asked = 0;
    const verdict = verdictOf({ asks: async () => ++asked > 0, isOver: over.signal, pauseMs: 1, mostMs: 20 });
    over.abort();
    expect(await Promise.race([verdict, moment(40).then(() => 'none')])).toBe('none');
    expect(asked).toBe(0);
  });
});
