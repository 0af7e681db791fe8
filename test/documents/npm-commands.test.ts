// Whoever asks a command of the house for its words gets them as an answer and not as a mistake.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { root } from './processes.ts';

const run = promisify(execFile);
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const names = Object.keys(scripts).filter((name) =>
  /^(rig|mutants|fuzz|bench|(image|release|build|screenshots|proof)$)/.test(name),
);

describe.concurrent('npm run', () => {
  it.each(names)('%s says its words when it is asked', async (name) => {
    const [program = '', ...words] = (scripts[name] ?? '').split(' ');
    const node = program === 'node' ? process.execPath : program;
    const { stdout, stderr } = await run(node, [...words, '--help'], { cwd: root });
    expect(stdout).toContain(`npm run ${name}`);
    expect(stderr).toBe('');
  });
});
