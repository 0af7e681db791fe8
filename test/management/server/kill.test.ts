import { afterAll, beforeAll, expect, it } from 'vitest';
import { keysPath } from './bench.ts';
import { prepareProcess, type ServingProcess } from './daemon.ts';

let server: ServingProcess;
beforeAll(async () => {
  server = await prepareProcess();
});
afterAll(() => server.remove());

const rounds = 10;
const writers = 6;

interface Metadata {
  name: string;
  resourceVersion: string;
}

it('keeps every acknowledged write over ten kills under load, and uses no revision twice', async () => {
  const acknowledged = new Map<string, string>();
  const revisions = new Set<string>();
  let count = 0;
  for (let round = 0; round < rounds; round++) {
    await server.start();
    const { body } = await server.ask('GET', keysPath);
    const names = new Set((body['items'] as { metadata: Metadata }[]).map(({ metadata }) => metadata.name));
    for (const name of acknowledged.keys()) expect(names).toContain(name);
    const isKilled = { now: false };
    const before = acknowledged.size;
    const load = Array.from({ length: writers }, async () => {
      while (!isKilled.now) {
        const name = `key-${count++}`;
        const spec = { user: 'alice', displayName: name };
        try {
          const made = await server.ask('POST', keysPath, { metadata: { name }, spec });
          if (made.code !== 201) throw new Error(JSON.stringify(made.body));
          const { resourceVersion } = made.body['metadata'] as Metadata;
          expect(revisions).not.toContain(resourceVersion);
          revisions.add(resourceVersion);
          acknowledged.set(name, resourceVersion);
        } catch (error) {
          // A cut connection says nothing about the write; every other fault is one.
          if (!isKilled.now || (error as NodeJS.ErrnoException).code === undefined) throw error;
        }
      }
    });
    const endMs = performance.now() + 10_000;
    while (acknowledged.size < before + 8 && performance.now() < endMs)
      await new Promise((resolve) => setTimeout(resolve, 5));
    isKilled.now = true;
    await server.kill();
    await Promise.all(load);
    expect(acknowledged.size).toBeGreaterThan(before);
  }
  await server.start();
  const { body } = await server.ask('GET', keysPath);
  for (const [name, resourceVersion] of acknowledged)
    expect(
      (body['items'] as { metadata: Metadata }[]).find(({ metadata }) => metadata.name === name)?.metadata,
    ).toMatchObject({
      resourceVersion,
    });
}, 120_000);
