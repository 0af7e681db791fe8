// The commands of the rig as people call them: wrong words and reports of something else are one sentence, and a run that has seen too little fails.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Each is a process that loads the daemon. */
const timeout = 300_000;

function called(command: string, words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, command), ...words], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stdout, said: stderr.split('\n')[0] };
}

describe('npm run rig', { timeout }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-rig-commands-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const other = file('other', `${JSON.stringify({ commit: 'abc', from: 0, seeds: 1 })}\n`);
  const cut = file('cut', '{"comm');
  it.each([
    [['--replay', 'nobody'], '--replay is a whole number from 0 to 4294967295, found "nobody"'],
    [['--replay', '4294967296'], '--replay is a whole number from 0 to 4294967295, found "4294967296"'],
    [['--seeds', '0'], '--seeds is a whole number from 1 to 4294967295, found "0"'],
    [['--seeds', '1', '--report', other], `report "${other}": it is of commit abc, and this is `],
    [['--seeds', '1', '--report', cut], `report "${cut}": its head is cut off or none; name another file`],
  ])('refuses %j in one sentence (at length)', (words, sentence) => {
    const { status, stdout, said } = called('test/rig/main.ts', words);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(said).toContain(`rig: ${sentence}`);
  });
});

describe('npm run rig:store', { timeout }, () => {
  it('fails when its histories were too tame, and passes when they were not (at length)', () => {
    const tame = called('test/rig/store/main.ts', ['--histories', '1', '--store', 'memory']);
    expect(tame.status).toBe(1);
    expect(tame.stdout).toContain('a list refused because of compaction');
    expect(called('test/rig/store/main.ts', ['--histories', '60', '--store', 'memory']).status).toBe(0);
  });

  it('finds a planted bug (at length)', () => {
    const { status, stdout } = called('test/rig/store/main.ts', [
      '--histories',
      '20',
      '--store',
      'memory',
      '--plant',
      'lost update',
    ]);
    expect(status).toBe(1);
    expect(stdout).toContain('linearizable');
  });
});
