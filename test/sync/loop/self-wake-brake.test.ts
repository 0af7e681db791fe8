import { beforeEach, describe, expect, it } from 'vitest';
import { SelfWakeBrake } from '../../../src/sync/loop/self-wake-brake.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { endpoints, FakeWorld, ipOf, putPair } from '../fake-sync.ts';

let clock: VirtualClock;
let brake: SelfWakeBrake;
beforeEach(() => {
  clock = new VirtualClock();
  brake = new SelfWakeBrake(clock);
});

/** The wakes of a cycle that wakes as soon as it may, every 5 ms at most, and the pauses that were told. */
async function cycle(forMs: number, each: () => void = () => {}): Promise<{ wakes: number; told: number[] }> {
  const found = { wakes: 0, told: [] as number[] };
  const untilMs = clock.now() + forMs;
  while (clock.now() < untilMs) {
    each();
    const { waitMs, isNews } = brake.take('Endpoints a/b');
    if (waitMs === 0) found.wakes++;
    if (isNews) found.told.push(waitMs);
    await clock.advance(waitMs || 5);
  }
  return found;
}

describe('a cycle without a change', () => {
  it('waits longer and longer, and each pause is reported once', async () => {
    const { wakes, told } = await cycle(60_000);
    expect(told).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000]);
    expect(wakes).toBeLessThan(400);
  });

  it('is no reason to let a change wait', async () => {
    await cycle(60_000);
    while (brake.take('Endpoints a/b').waitMs === 0);
    brake.noteChanges();
    expect(brake.take('Endpoints a/b').waitMs).toBe(0);
  });

  it('of one object does not concern another', async () => {
    await cycle(10_000);
    expect(brake.take('Endpoints a/c').waitMs).toBe(0);
  });
});

describe('honest work', () => {
  it('of which each wake follows a change never waits', async () => {
    const { told } = await cycle(10_000, () => brake.noteChanges());
    expect(told).toEqual([]);
  });

  it('of a full pass over many objects never waits', async () => {
    brake.noteChanges(10_000);
    for (let wake = 0; wake < 10_000; wake++) expect(brake.take('Endpoints a/b').waitMs).toBe(0);
  });
});

it('an object whose outcome wakes it again waits, is counted as a bug, and still follows each change at once', async () => {
  const world = new FakeWorld();
  putPair(world, 'web');
  await world.run();
  const { sync, engine, clock, virtual } = world;
  let outcomes = 0;
  engine.ledger.subscribe(({ key }) => {
    outcomes++;
    sync.wakeFor(key);
  });
  await world.change(() => virtual.put('endpoints', endpoints('web', '10.0.0.2')));
  outcomes = 0;
  await clock.advance(60_000);
  expect(outcomes).toBeLessThan(1000);
  expect(await sync.options.metrics.metrics()).toMatch(/hostward_sync_bugs_total{kind="Endpoints"} [1-9]/);
  for (let last = 3; last < 10; last++) {
    await world.change(() => virtual.put('endpoints', endpoints('web', `10.0.0.${last}`)));
    expect(ipOf(world.copy('web'))).toBe(`10.0.0.${last}`);
  }
  await world.stop();
});
