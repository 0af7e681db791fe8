// A server with five keys, for tests of what reads answer.
import { afterAll, beforeAll } from 'vitest';
import { type Answer, type Bench, openBench } from '../bench.ts';

export let bench: Bench;

/** Call it at the top of a file of tests. */
export function setUp(): void {
  beforeAll(async () => {
    bench = await openBench({
      settings: { keys: { maxTTL: 0, requireExpiry: false, allowSupplied: true, perOwner: 500 } },
    });
    for (const name of ['a', 'b', 'c', 'd']) await bench.keyFor(name, { user: 'alice', displayName: `key ${name}` });
    await bench.keyFor('of-bob', { user: 'bob' });
  });
  afterAll(() => bench.stop());
}

export const root = '/kubernetes/management';

export const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  bench.ask('GET', path, { headers });
