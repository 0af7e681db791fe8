// A fresh stage before each test of a suite, cleared after it; with interferers before both servers where a suite wants them.
import { afterAll, afterEach, beforeEach } from 'vitest';
import { Interferers } from './interferer.ts';
import type { SyncBackend } from './sync-backend.ts';
import { SyncStage } from './sync-stage.ts';

/** `use` is handed each stage, and may furnish it. */
export function stageForEach(
  backend: () => SyncBackend,
  use: (stage: SyncStage) => void | Promise<void>,
  options: { hasOwner?: boolean } = {},
): void {
  let stage: SyncStage;
  beforeEach(async () => {
    stage = new SyncStage(backend());
    await stage.set(options);
    await use(stage);
  });
  afterEach(async () => {
    await stage.clear();
    stage.close();
  });
}

/** What an interferer still holds when a test ends is let go once its daemons have stopped. */
export function interferedStageForEach(
  backend: () => SyncBackend,
  use: (stage: SyncStage, interferers: Interferers) => void | Promise<void>,
): Interferers {
  const interferers = new Interferers();
  afterAll(() => interferers.stop());
  // Hooks run last in, first out: this one after the stage is clear.
  afterEach(() => interferers.release());
  stageForEach(backend, (stage) => use(stage, interferers));
  return interferers;
}
