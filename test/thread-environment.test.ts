import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

const script = `
  import { Worker } from 'node:worker_threads';
  import { threadEnvironment } from ${JSON.stringify(new URL('../src/thread-environment.ts', import.meta.url).href)};
  const text = "import { parentPort } from 'node:worker_threads'; parentPort.postMessage({ ...process.env })";
  new Worker(text, { eval: true, env: threadEnvironment() }).on('message', (seen) => console.log(JSON.stringify(seen)));
`;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** What a thread of a program with this environment sees of it. */
function seenBy(env: Record<string, string>): unknown {
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { env, encoding: 'utf8' });
  return JSON.parse(said);
}

describe('threadEnvironment()', () => {
  it('holds nothing of the environment of the process', () => {
    expect(seenBy({ PASSWORD: 'secret', NODE_OPTIONS: '--no-warnings' })).toEqual({});
  });

  it('names where Node keeps what it compiles, when somebody has asked for that', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-compiled-'));
    folders.push(folder);
    expect(seenBy({ PASSWORD: 'secret', NODE_COMPILE_CACHE: folder })).toEqual({ NODE_COMPILE_CACHE: folder });
    expect(readdirSync(folder)).toHaveLength(1);
  });
});
