import { describe, expect, it } from 'vitest';
import { reportFault, runCommandLine } from '../../src/cli/command-line.ts';
import { commands } from '../../src/cli/line/commands/command-table.ts';
import { scene } from './scene.ts';

describe('runCommandLine()', () => {
  it('prints help and version on standard output and ends with 0', async () => {
    for (const argv of [['--help'], ['--version'], ...commands.map((command) => [command.name, '--help'])]) {
      const { context, out, err } = scene();
      expect([await runCommandLine(context, argv), err()]).toEqual([0, '']);
      expect(out()).not.toBe('');
    }
  });

  it('ends a usage fault with 2 and a sentence on standard error', async () => {
    const { context, out, err } = scene();
    expect(await runCommandLine(context, ['chekc'])).toBe(2);
    expect(out()).toBe('');
    expect(err()).toBe('hostward: wanted a command, found "chekc"\ndid you mean "check"? See hostward --help\n');
  });

  it.each([
    ['ENOENT', 'open', { path: '/a' }, 1, 'hostward: cannot open "/a": there is no such file or folder\n'],
    ['EISDIR', 'read', {}, 1, 'hostward: cannot read "the file": wanted a file, found a folder\n'],
    [
      'EADDRINUSE',
      'listen',
      { address: '127.0.0.1', port: 80 },
      3,
      'hostward: cannot listen on "127.0.0.1:80": the port is taken\nchoose another address there, or end the program that has this one\n',
    ],
    [
      'ECONNREFUSED',
      'connect',
      { address: '::1', port: 1 },
      3,
      'hostward: cannot connect to "::1:1": connection refused\n',
    ],
    [
      'EIO',
      'read',
      { path: '/mnt/a', errno: -5 },
      3,
      'hostward: cannot read "/mnt/a": the operating system answers EIO\n',
    ],
    [
      'EBADF',
      'read',
      { errno: -9 },
      70,
      'hostward 1.2.3: a bug of ours: Error: raw; please report it with the output of --verbose\n',
    ],
  ])('says %s of the system as a sentence', (code, syscall, more, exitCode, text) => {
    const { context, err } = scene();
    const thrown = Object.assign(new Error('raw'), { code, syscall, ...more });
    expect([reportFault(context, thrown, { isVerbose: false, isJson: false }), err()]).toEqual([exitCode, text]);
  });

  it('reports a bug in one line, and prints its stack only with --verbose', () => {
    const bug = new TypeError('x is undefined\nmore', { cause: new Error('below') });
    const quiet = scene();
    expect(reportFault(quiet.context, bug, { isVerbose: false, isJson: false })).toBe(70);
    expect(quiet.err()).toBe(
      'hostward 1.2.3: a bug of ours: TypeError: x is undefined; please report it with the output of --verbose\n',
    );
    const loud = scene();
    reportFault(loud.context, bug, { isVerbose: true, isJson: false });
    expect(loud.err()).toContain('command-line.test.ts');
    expect(loud.err()).toContain('below');
  });
});
