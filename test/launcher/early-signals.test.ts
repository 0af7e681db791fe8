// Signals that come before the program is loaded: whoever has just written a file tells the daemon so, also right after its start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcherFolder = fileURLToPath(new URL('../../src/launcher', import.meta.url));

/** Takes long to load, as the program does on a busy machine, and tells when it begins to. */
const program = `
process.stdout.write('loading\\n');
await new Promise((resolve) => setTimeout(resolve, 300));
if (process.argv.includes('--takes')) process.on('SIGHUP', () => process.stdout.write('reload\\n'));
if (process.argv.includes('--restarts')) process.stdout.write(JSON.stringify(process.argv.slice(2)) + '\\n');
await new Promise((resolve) => setTimeout(resolve, 600));
process.stdout.write('end\\n');
`;

describe.skipIf(process.platform === 'win32')('a signal while the program is loaded', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-early-'));
    mkdirSync(join(folder, 'src'));
    cpSync(launcherFolder, join(folder, 'src', 'launcher'), { recursive: true });
    mkdirSync(join(folder, 'dist'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'dist', 'main.js'), program);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const play = async (words: string[], signals: NodeJS.Signals[]) => {
    const launcher = join(folder, 'src', 'launcher', 'hostward.mjs');
    const child = spawn(process.execPath, [launcher, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (part) => {
      if (said === '') for (const signal of signals) child.kill(signal);
      said += part;
    });
    const [code, signal] = await once(child, 'close');
    return { said, code, signal };
  };

  it('is held until "run" takes it, and comes once', async () => {
    const end = await play(['run', '--takes'], ['SIGHUP']);
    expect(end).toEqual({ said: 'loading\nreload\nend\n', code: 0, signal: null });
  });

  it.each([['run'], ['direct']])('does not end "%s", which ends although nobody takes it', async (command) => {
    expect(await play([command], ['SIGHUP'])).toEqual({ said: 'loading\nend\n', code: 0, signal: null });
  });

  it.each([['run'], ['direct'], ['playground']])(
    'ends "%s" when it is SIGTERM, also after a SIGHUP',
    async (command) => {
      const signals: NodeJS.Signals[] = command === 'playground' ? ['SIGTERM'] : ['SIGHUP', 'SIGTERM'];
      expect(await play([command], signals)).toMatchObject({ code: null, signal: 'SIGTERM' });
    },
  );

  it('ends what a closed terminal ends', async () => {
    expect(await play(['playground'], ['SIGHUP'])).toMatchObject({ code: null, signal: 'SIGHUP' });
  });

  it('leaves the words as they were', async () => {
    const { said } = await play(['run', '--restarts', 'a b'], []);
    expect(said).toBe('loading\n["run","--restarts","a b"]\nend\n');
  });
});

it('the launcher takes it itself, until the program has taken its place', async () => {
  const text =
    'process.execve = () => { process.kill(process.pid, "SIGHUP"); setTimeout(() => process.exit(5), 200); };';
  const preload = `data:text/javascript,${encodeURIComponent(text)}`;
  const launcher = join(launcherFolder, 'hostward.mjs');
  // Below npm the launcher stays, and replaces nothing.
  const { npm_command: _, ...outside } = process.env;
  const child = spawn(process.execPath, ['--import', preload, launcher, 'run'], {
    env: outside,
    cwd: dirname(launcherFolder),
    stdio: 'ignore',
  });
  expect(await once(child, 'close')).toEqual([5, null]);
});
