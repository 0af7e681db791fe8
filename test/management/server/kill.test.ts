import type { ClientRequest } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keysPath } from './bench.ts';
import { prepareProcess, type ServingProcess } from './daemon.ts';

let server: ServingProcess;
beforeAll(async () => {
  // A hundred rounds make more keys than one owner may have by default.
  server = await prepareProcess({ perOwner: 100_000 });
});
afterAll(() => server.remove());

/** Ten in every run, a hundred in `npm run proof`. */
const rounds = Number(process.env['HOSTWARD_KILLS'] ?? 2);
const writers = 6;

interface Metadata {
  name: string;
  resourceVersion: string;
}

interface List {
  items: readonly { metadata: Metadata }[];
  metadata: { resourceVersion: string };
}

/** Reads the stream of one client that comes back after each kill with the last version that it has seen. */
class ResumedWatch {
  readonly names: string[] = [];
  readonly faults: string[] = [];
  #version: number | undefined;
  #request: ClientRequest | undefined;

  /** `list`: what is there, for a watch that has not begun. One that began without it would hear the present in the order of names. */
  goOn({ items, metadata }: List): void {
    this.stop();
    if (this.#version === undefined) {
      this.names.push(...items.map((item) => item.metadata.name));
      this.#version = Number(metadata.resourceVersion);
    }
    const query = `watch=true&resourceVersion=${this.#version}`;
    const { port, caPem: ca, admin } = server;
    const headers = { authorization: `Bearer ${admin}` };
    const to = { host: '127.0.0.1', port, ca, headers, agent: false as const, path: `${keysPath}?${query}` };
    let rest = '';
    this.#request = request(to, (response) => {
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        const lines = (rest + part).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.#heard(JSON.parse(line));
      });
      response.on('error', () => undefined);
    });
    this.#request.on('error', () => undefined);
    this.#request.end();
  }

  stop(): void {
    this.#request?.destroy();
  }

  #heard({ type, object }: { type: string; object: { metadata: Metadata; message?: string } }): void {
    const { name, resourceVersion } = object.metadata;
    if (type !== 'ADDED') this.faults.push(`${type} ${object.message ?? name}`);
    else if (Number(resourceVersion) <= (this.#version ?? 0)) this.faults.push(`again ${name}`);
    this.names.push(name);
    this.#version = Math.max(this.#version ?? 0, Number(resourceVersion));
  }
}

it(
  'keeps every acknowledged write over kills under load, uses no revision twice, and watches go on without a gap or a repeat',
  async () => {
    const acknowledged = new Map<string, string>();
    const revisions = new Set<string>();
    let count = 0;
    const watch = new ResumedWatch();
    for (let round = 0; round < rounds; round++) {
      await server.start();
      const list = (await server.ask('GET', keysPath)).body as unknown as List;
      const names = new Set(list.items.map(({ metadata }) => metadata.name));
      for (const name of acknowledged.keys()) expect(names).toContain(name);
      watch.goOn(list);
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
    const { items, metadata: listed } = (await server.ask('GET', keysPath)).body as unknown as List;
    watch.goOn({ items, metadata: listed });
    const all = items.map(({ metadata }) => metadata.name);
    await expect.poll(() => watch.names.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(all.length);
    watch.stop();
    expect(watch.faults).toEqual([]);
    expect(watch.names.sort()).toEqual(all.sort());
    for (const [name, resourceVersion] of acknowledged)
      expect(items.find(({ metadata }) => metadata.name === name)?.metadata).toMatchObject({ resourceVersion });
  },
  rounds * 12_000,
);
