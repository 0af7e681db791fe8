import { describe, expect, it } from 'vitest';
import { stayBelowLimit } from '../../src/daemon/process/stay-below-limit.ts';
import { VirtualClock } from '../virtual-clock.ts';

const mib = 1024 * 1024;

/** A process with a limit of 384 MiB. */
function scene() {
  const clock = new VirtualClock();
  const startedMs = clock.now();
  const holds = { kept: 30, spare: 90, others: 100 };
  const collectedAtMs: number[] = [];
  const steppedAtMs: number[] = [];
  let slowed = 0;
  const heap = {
    bytes: () => (holds.kept + holds.spare) * mib,
    keptBytes: () => holds.kept * mib,
    collect: () => {
      collectedAtMs.push(clock.now() - startedMs);
      holds.spare = 0;
    },
    collectInSteps: () => void steppedAtMs.push(clock.now() - startedMs),
    growSlowly: () => void slowed++,
  };
  const residentBytes = () => (holds.kept + holds.spare + holds.others) * mib;
  const { stop } = stayBelowLimit(clock, heap, { limitBytes: 384 * mib, residentBytes });
  return { clock, holds, collectedAtMs, steppedAtMs, slowed: () => slowed, stop };
}

describe('stayBelowLimit()', () => {
  it('lets V8 collect early and in steps when the memory is more than half full, and in one pause only when it is nearly full', async () => {
    const { clock, holds, collectedAtMs, steppedAtMs, slowed } = scene();
    await clock.advance(10_000);
    expect([steppedAtMs, slowed()]).toEqual([[], 0]);
    holds.others = 120;
    await clock.advance(10_000);
    expect([steppedAtMs, slowed()]).toEqual([[10_250], 1]);
    holds.others = 200;
    await clock.advance(10_000);
    expect([steppedAtMs, slowed()]).toEqual([[10_250, 20_250], 1]);
    expect(collectedAtMs).toEqual([]);
    holds.others = 240;
    await clock.advance(10_000);
    expect(collectedAtMs).toEqual([30_250]);
  });

  it('asks for steps again only after a new growth', async () => {
    const { clock, holds, steppedAtMs } = scene();
    holds.others = 130;
    await clock.advance(10_000);
    holds.others = 140;
    await clock.advance(10_000);
    expect(steppedAtMs).toEqual([250]);
    holds.others = 150;
    await clock.advance(10_000);
    expect(steppedAtMs).toEqual([250, 20_250]);
  });

  it('collects again only after a new growth, also when a collection has given nothing back', async () => {
    const { clock, holds, collectedAtMs } = scene();
    Object.assign(holds, { spare: 0, others: 320 });
    await clock.advance(60_000);
    expect(collectedAtMs).toEqual([250]);
    holds.others = 335;
    await clock.advance(60_000);
    expect(collectedAtMs).toHaveLength(1);
    holds.others = 340;
    await clock.advance(60_000);
    expect(collectedAtMs).toHaveLength(2);
  });

  it('counts the growth from the least memory since the last collection', async () => {
    const { clock, holds, collectedAtMs } = scene();
    holds.others = 300;
    await clock.advance(1_000);
    Object.assign(holds, { spare: 0, others: 100 });
    await clock.advance(1_000);
    Object.assign(holds, { spare: 120, others: 200 });
    await clock.advance(1_000);
    expect(collectedAtMs).toEqual([250, 2_250]);
  });

  it('leaves a heap in which much stays to V8, because collecting it would hold the loop', async () => {
    const { clock, holds, collectedAtMs, steppedAtMs } = scene();
    Object.assign(holds, { kept: 200, others: 120 });
    await clock.advance(10_000);
    expect([collectedAtMs, steppedAtMs]).toEqual([[], [250]]);
  });

  it('stops', async () => {
    const { clock, holds, collectedAtMs, stop } = scene();
    stop();
    holds.others = 300;
    await clock.advance(10_000);
    expect(collectedAtMs).toEqual([]);
  });

  it('does nothing without a limit, and where V8 offers no collection', async () => {
    const clock = new VirtualClock();
    stayBelowLimit(clock, undefined, { limitBytes: mib, residentBytes: () => 2 * mib }).stop();
    const heap = {
      bytes: () => 0,
      keptBytes: () => 0,
      collect: () => expect.unreachable(),
      collectInSteps: () => expect.unreachable(),
      growSlowly: () => undefined,
    };
    stayBelowLimit(clock, heap, undefined).stop();
    await clock.advance(10_000);
  });
});
