import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

it('writes into a pipe or a device instead of putting a file in its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hostward-pipe-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const pipe = join(folder, 'report');
  execFileSync('mkfifo', [pipe]);
  const written = readFile(pipe, 'utf8');
  const words = ['src/main.ts', 'test', 'fixtures/patches/base64', '--junit', pipe];
  await promisify(execFile)(process.execPath, words, { cwd: root });
  expect(await written).toContain('<testsuite');
  expect((await stat(pipe)).isFIFO()).toBe(true);
});
