import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { childArguments } from '../../../src/expression/sandbox/child-program.ts';

function nodeAtAnotherPath() {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-node-'));
  const nodePath = join(folder, 'node');
  return {
    nodePath,
    add: () => symlinkSync(process.execPath, nodePath),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

it('childArguments() links the program once for all starts', async () => {
  const node = nodeAtAnotherPath();
  const { nodePath } = node;
  node.add();
  const first = await childArguments({ nodePath });
  node[Symbol.dispose]();
  expect(await childArguments({ nodePath })).toEqual(first);
});

it('childArguments() links again after a failure', async () => {
  using node = nodeAtAnotherPath();
  const { nodePath } = node;
  await expect(childArguments({ nodePath })).rejects.toThrow(nodePath);
  node.add();
  expect(await childArguments({ nodePath })).toContain('--jitless');
});

it.skipIf(process.platform === 'win32')(
  'launchProcess() without a free file descriptor ends like any start that fails, and not the daemon',
  () => {
    const launch = new URL('../../../src/expression/sandbox/launch.ts', import.meta.url);
    const program = `
      import { openSync } from 'node:fs';
      import { launchProcess } from '${launch}';
      try { for (;;) openSync('/dev/null'); } catch {}
      const started = launchProcess(process.execPath, ['--version']);
      started.channel.write('x');
      console.log(await started.ended, started.lastWords);`;
    const words = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', program];
    const { stdout, stderr } = spawnSync('/bin/sh', words, { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([`no process spawn ${process.execPath} EMFILE\n`, '']);
  },
);
