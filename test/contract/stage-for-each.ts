// A fresh stage before each test of a suite, cleared after it; with meddlers before both servers where a suite wants them.
import { afterAll, afterEach, beforeEach } from 'vitest';
import { Meddlers } from './meddler.ts';
import type { SyncGround } from './sync-ground.ts';
import { SyncStage } from './sync-stage.ts';

/** `use` is handed each stage, and may furnish it. */
export function stageForEach(
  ground: () => SyncGround,
  use: (stage: SyncStage) => void | Promise<void>,
  options: { hasOwner?: boolean } = {},
): void {
  let stage: SyncStage;
  beforeEach(async () => {
    stage = new SyncStage(ground());
    await stage.set(options);
    await use(stage);
  });
  afterEach(async () => {
    await stage.clear();
    stage.close();
  });
}

/** What a meddler still holds when a test ends is let go once its daemons have stopped. */
export function meddledStageForEach(
  ground: () => SyncGround,
  use: (stage: SyncStage, meddlers: Meddlers) => void | Promise<void>,
): Meddlers {
  const meddlers = new Meddlers();
  afterAll(() => meddlers.stop());
  // Hooks run last in, first out: this one after the stage is clear.
  afterEach(() => meddlers.release());
  stageForEach(ground, (stage) => use(stage, meddlers));
  return meddlers;
}
