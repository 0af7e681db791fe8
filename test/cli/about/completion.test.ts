import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { commands } from '../../../src/cli/line/commands/command-table.ts';
import { scene } from '../scene.ts';

const files = { '/opt/hostward/docs/doctor.md': '# Doctor\n', '/opt/hostward/docs/install.md': '# Install\n' };

async function script(shell: string): Promise<string> {
  const { context, out } = scene({ files });
  expect(await runCommandLine(context, ['completion', shell])).toBe(0);
  return out();
}

/** Sources the script in a real bash, and returns what it offers for the last word of each line. */
async function offers(lines: readonly (readonly string[])[]): Promise<string[][]> {
  const calls = lines.map((words) => {
    const quoted = ['hostward', ...words].map((word) => `'${word}'`).join(' ');
    // compopt works only while the shell completes; here it may fail.
    return `COMP_WORDS=(${quoted}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _hostward; echo "\${COMPREPLY[*]}"`;
  });
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--norc', '-u', '-c', `${await script('bash')}\n${calls.join('\n')}`],
    {
      encoding: 'utf8',
    },
  );
  expect([status, stderr]).toEqual([0, '']);
  return stdout
    .split('\n')
    .slice(0, lines.length)
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

describe('hostward completion bash', () => {
  it('offers every command as the first word, and those of a group as the second', async () => {
    const [first, keys, help] = await offers([[''], ['keys', ''], ['help', '']]);
    for (const { name } of commands) expect(first).toContain(name.split(' ')[0]);
    expect(keys).toEqual(commands.filter(({ name }) => name.startsWith('keys ')).map(({ name }) => name.slice(5)));
    expect(help).toContain('doctor');
  });

  it('offers every option of every command', async () => {
    const found = await offers(commands.map(({ name }) => [...name.split(' '), '--']));
    for (const [at, { options }] of commands.entries())
      for (const option of options) expect(found[at]).toContain(`--${option.name}`);
  });

  it('offers the words that an option or operand may be', async () => {
    const lines = [
      ['check', '-o', ''],
      ['check', '--output', 'j'],
      // As bash cuts --output=j.
      ['check', '--output', '=', 'j'],
      ['docs', ''],
      ['completion', ''],
      ['check', '--vcluster-name', ''],
      ['st'],
    ];
    expect(await offers(lines)).toEqual([
      ['text', 'json'],
      ['json'],
      ['json'],
      ['doctor', 'install'],
      ['bash', 'zsh', 'fish'],
      [],
      ['status', 'store'],
    ]);
  });
});

describe('hostward completion', () => {
  it.skipIf(!has('zsh'))('for zsh is a script that zsh reads', async () => {
    const loaded = `autoload -Uz compinit; compinit -u -D\n${await script('zsh')}\necho $_comps[hostward]`;
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', loaded], { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual(['_hostward\n', '']);
  });

  it.skipIf(!has('fish'))('for fish offers commands, options and words', async () => {
    const asked = `${await script('fish')}\ncomplete -C 'hostward sta'\ncomplete -C 'hostward check --output '`;
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', asked], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^status\t/m);
    expect(stdout).toMatch(/^json/m);
  });

  it.each(['zsh', 'fish'])('for %s names every command and option', async (shell) => {
    const text = await script(shell);
    for (const { name, options } of commands)
      for (const word of [...name.split(' '), ...options.map((option) => option.name)]) expect(text).toContain(word);
  });

  it.each([
    [[], 'found nothing'],
    [['tcsh'], 'found "tcsh"'],
  ])('refuses %j', async (words, found) => {
    const { context, err } = scene({ files });
    expect(await runCommandLine(context, ['completion', ...words])).toBe(2);
    expect(err()).toContain(found);
  });
});
