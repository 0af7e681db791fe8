import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commandNamed, commands } from '../../../src/cli/line/commands/command-table.ts';
import { globalOptions } from '../../../src/cli/line/commands/options.ts';
import { commandHelp, commandsPage, generalHelp } from '../../../src/cli/line/help.ts';
import { parseCommandLine } from '../../../src/cli/line/parse-arguments.ts';

describe('help', () => {
  it('is what docs/commands.md says', () => {
    const page = new URL('../../../docs/commands.md', import.meta.url);
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(page, commandsPage());
    expect(readFileSync(page, 'utf8')).toBe(commandsPage());
  });

  it('fits 80 columns, except for the command lines of examples', () => {
    const lines = [generalHelp(), ...commands.map(commandHelp)].join('').split('\n');
    expect(lines.filter((line) => line.length > 80 && !/^ {2}(hostward|kubectl) /.test(line))).toEqual([]);
  });

  it.each(commands.map((command) => [command.name]))(
    'of %s names every option and only examples that parse',
    (name) => {
      const command = commandNamed(name)!;
      const text = commandHelp(command);
      for (const option of command.options) expect(text).toContain(`--${option.name}`);
      expect(command.examples.length).toBeGreaterThan(0);
      for (const { line } of command.examples) {
        const plain = line.replace(/^.*\| /, '').replace(/ [<>] .*$/, '');
        const own = (plain.match(/'[^']*'|\S+/g) ?? []).slice(1);
        expect(parseCommandLine(own)).toMatchObject({ kind: 'command', command: { name } });
      }
    },
  );

  it.each(commands.map((command) => [command.name]))('of %s offers -o json when it prints data', (name) => {
    const output = commandNamed(name)!.options.find((option) => option.name === 'output');
    if (['run', 'direct', 'completion', 'install'].includes(name)) expect(output).toBeUndefined();
    else expect(output?.choices).toContain('json');
  });

  it('gives each option of a command a name and a letter of its own', () => {
    for (const command of commands) {
      const all = [...command.options, ...globalOptions];
      const words = all.flatMap((option) => [option.name, ...(option.short === undefined ? [] : [option.short])]);
      expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
    }
  });
});
