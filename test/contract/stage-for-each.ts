// Sets up a fresh stage before each test of a suite and clears it afterwards, with interferers for the suites that need them.
import { afterAll, afterEach, beforeEach } from 'vitest';
import { Interferers } from './interferer.ts';
import type { SyncBackend } from './sync-stage/backend.ts';
import { SyncStage } from './sync-stage/stage.ts';

interface StageHooks {
  hasOwner?: boolean;
  /** For suites with so many objects that they cannot be cleared in the usual time. */
  timeoutMs?: number;
}

/** `use` receives each stage, and may prepare it. */
export function stageForEach(
  backend: () => SyncBackend,
  use: (stage: SyncStage) => void | Promise<void>,
  { timeoutMs, ...options }: StageHooks = {},
): void {
  let stage: SyncStage;
  beforeEach(async () => {
    stage = new SyncStage(backend());
    await stage.set(options);
    await use(stage);
  }, timeoutMs);
  afterEach(async () => {
    await stage.clear();
    stage.close();
  }, timeoutMs);
}

/** Releases delayed requests after the daemons of the test have stopped. */
export function interferedStageForEach(
  backend: () => SyncBackend,
  use: (stage: SyncStage, interferers: Interferers) => void | Promise<void>,
  hooks: StageHooks = {},
): Interferers {
  const interferers = new Interferers();
  afterAll(() => interferers.stop());
  // Hooks run in reverse order, so this one runs after the stage is clear.
  afterEach(() => interferers.release());
  stageForEach(backend, (stage) => use(stage, interferers), hooks);
  return interferers;
}
