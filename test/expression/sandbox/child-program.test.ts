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
  const first = await childArguments({ jit: false, nodePath });
  node[Symbol.dispose]();
  expect(await childArguments({ jit: false, nodePath })).toEqual(first);
});

it('childArguments() links again after a failure', async () => {
  using node = nodeAtAnotherPath();
  const { nodePath } = node;
  await expect(childArguments({ jit: false, nodePath })).rejects.toThrow(nodePath);
  node.add();
  expect(await childArguments({ jit: false, nodePath })).toContain('--jitless');
});
