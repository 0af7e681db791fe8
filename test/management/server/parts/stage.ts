// Opens servers and audit logs in folders of their own, and removes them after each test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { type Bench, openBench } from '../bench.ts';

export const endings: (() => unknown)[] = [];

export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'hostward-parts-'));
  endings.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

export async function bench(options: Parameters<typeof openBench>[0] = {}): Promise<Bench> {
  const opened = await openBench(options);
  endings.push(() => opened.stop());
  return opened;
}

/** Call it at the top of a file of tests. */
export function setUp(): void {
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });
}
