// The world of the test that runs, which ends with the test.
import { afterEach } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { type FakeOptions, FakeWorld } from '../../fake-sync.ts';

export let world: FakeWorld;

/** Call it at the top of a file of tests. */
export function setUp(): void {
  afterEach(() => world.stop());
}

export function use(other: FakeWorld): void {
  world = other;
}

export async function start(options: FakeOptions = {}, prepare?: (world: FakeWorld) => void): Promise<FakeWorld> {
  world = new FakeWorld(options);
  prepare?.(world);
  return world.run();
}

export const meta = (object: KubeObject | undefined) => object?.metadata as Required<KubeObject['metadata']>;
