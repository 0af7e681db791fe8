// Lays out --help from the command table.
import type { CommandSpec, OptionSpec } from './commands/command-spec.ts';
import { commands, commandsOfGroup } from './commands/command-table.ts';
import { globalOptions } from './commands/options.ts';

/** Every terminal is at least this wide. */
const helpWidth = 80;

export function generalHelp(): string {
  const lines = [
    'hostward syncs Endpoints from a virtual Kubernetes cluster to its host cluster.',
    '',
    'Usage: hostward COMMAND [OPTIONS]',
    '',
    'Commands:',
    ...summaryLines(commands),
    '',
    'Everywhere:',
    ...optionLines(globalOptions),
    '',
    'Start here:',
    '  hostward demo                        two embedded clusters, no set-up',
    '  hostward check --config vcluster.yaml',
    '  hostward COMMAND --help              options and examples of a command',
    '  hostward docs                        the pages',
    '',
    'Exit codes: 0 fine, 1 the input is at fault, 2 usage, 3 the environment is',
    'at fault, 70 a bug of ours.',
  ];
  return `${lines.join('\n')}\n`;
}

export function groupHelp(group: string): string {
  const lines = [
    `Usage: hostward ${group} COMMAND [OPTIONS]`,
    '',
    'Commands:',
    ...summaryLines(commandsOfGroup(group)),
    '',
    `hostward ${group} COMMAND --help tells the options and examples of a command.`,
  ];
  return `${lines.join('\n')}\n`;
}

/** docs/commands.md: the help of every command, for readers and search engines. */
export function commandsPage(): string {
  const chapters = commands.flatMap((command) => [
    `## hostward ${command.name}`,
    '',
    '```text',
    commandHelp(command).trimEnd(),
    '```',
    '',
  ]);
  const lines = [
    '# Commands',
    '',
    '<!-- Made from src/cli/line/commands/; `UPDATE_GOLDEN=1 npm test` writes it again. -->',
    '',
    commandsAsMarkdown(),
    '',
    'Commands that print data take `-o json`. Exit codes: 0 fine, 1 the input is at fault, 2 usage, 3 the environment is at fault (a',
    'cluster, a port, a permission), 70 a bug in Hostward.',
    '',
    'Below is the help of every command, as `hostward COMMAND --help` prints it.',
    '',
    ...chapters,
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function summaryLines(of: readonly CommandSpec[]): string[] {
  const widest = Math.max(...of.map(({ name }) => name.length));
  return of.flatMap(({ name, summary }) => hanging(`  ${name.padEnd(widest)}  `, summary));
}

export function commandHelp(command: CommandSpec): string {
  const usage = ['hostward', command.name, command.operands, '[OPTIONS]'].filter((word) => word !== '').join(' ');
  const lines = [
    ...wrap(command.summary, helpWidth),
    '',
    `Usage: ${usage}`,
    ...command.details.flatMap((paragraph) => ['', ...wrap(paragraph, helpWidth)]),
    '',
    'Options:',
    ...optionLines([...command.options, ...globalOptions.filter((option) => option.name !== 'version')]),
    '',
    'Examples:',
    ...command.examples.flatMap((example) => [`  # ${example.says}`, `  ${example.line}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function commandsAsMarkdown(): string {
  const rows = commands.map((command) => {
    const call = ['hostward', command.name, command.operands].filter((word) => word !== '').join(' ');
    return `| [\`${call}\`](#hostward-${command.name.replaceAll(' ', '-')}) | ${command.summary} |`;
  });
  return ['| command | what it does |', '|---|---|', ...rows].join('\n');
}

function optionLines(options: readonly OptionSpec[]): string[] {
  const heads = options.map((option) => {
    const short = option.short === undefined ? '    ' : `-${option.short}, `;
    return `  ${short}--${option.name}${option.value === undefined ? '' : ` ${option.value}`}`;
  });
  const column = Math.min(34, Math.max(...heads.map((head) => head.length)) + 2);
  return options.flatMap((option, index) => {
    const head = heads[index] as string;
    const summary = option.repeats ? `${option.summary} (repeatable)` : option.summary;
    if (head.length + 2 <= column) return hanging(head.padEnd(column), summary);
    return [head, ...hanging(' '.repeat(column), summary)];
  });
}

/** Puts a head before a text; further lines of the text are indented under its first line. */
function hanging(head: string, text: string): string[] {
  const [first = '', ...more] = wrap(text, helpWidth - head.length);
  return [`${head}${first}`, ...more.map((line) => ' '.repeat(head.length) + line)];
}

export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
