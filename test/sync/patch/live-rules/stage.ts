// Two clusters in memory with an entry in both directions.
import { afterEach } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { type FakeOptions, FakeWorld } from '../../fake-sync.ts';

export let world: FakeWorld;

export async function start(options: FakeOptions, prepare: (world: FakeWorld) => void): Promise<FakeWorld> {
  world = new FakeWorld(options);
  prepare(world);
  return world.run();
}

export const annotations = (object: KubeObject | undefined) => object?.metadata.annotations ?? {};

export const virtual = (name = 'web') => world.virtual.get('endpoints', 'default', name);

/** Call it at the top of a file of tests. */
export function setUp(): void {
  afterEach(() => world.stop());
}
