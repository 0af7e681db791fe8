// `hostward completion SHELL`: completion for a shell, made from the table of commands, so that a new option is completed at
// once. In: the name of the shell. Out: a script that the shell reads; it starts no program while somebody types.
import type { CommandSpec, OptionSpec } from '../line/commands/command-spec.ts';
import { commands } from '../line/commands/command-table.ts';
import { globalOptions } from '../line/commands/options.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';

const scripts: Readonly<Record<string, (pages: readonly string[]) => string>> = { bash, zsh, fish };

export async function completion(context: Context, options: Options): Promise<ExitCode> {
  const [shell] = options.operands;
  const script = shell !== undefined && Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) {
    const found = shell === undefined ? 'nothing' : `"${shell}"`;
    const hint = 'for example: source <(hostward completion bash)';
    throw new CommandFault(exitCodes.usage, `wanted a shell, ${Object.keys(scripts).join(', ')}, found ${found}`, {
      hint,
    });
  }
  const files = await context.files.list(`${context.packageFolder}/docs`);
  const pages = files.filter((file) => file.endsWith('.md')).map((file) => file.slice(0, -'.md'.length));
  context.stdout.write(script(pages));
  return exitCodes.fine;
}

/** What may follow the words of a command line that has come so far. */
interface WordsAt {
  command: CommandSpec;
  flags: readonly string[];
  /** Options whose value is one of few words. */
  choices: readonly { flags: readonly string[]; words: readonly string[] }[];
  /** Options whose value is a file or folder. */
  files: readonly string[];
  /** Options with a value that no shell can know. */
  others: readonly string[];
  /** What the operands may be; undefined for files. */
  operands: readonly string[] | undefined;
}

function placesOf(pages: readonly string[]): WordsAt[] {
  return commands.map((command) => {
    const options = [...command.options, ...globalOptions];
    const valued = options.filter(({ value }) => value !== undefined);
    const isFile = ({ value = '' }: OptionSpec) => /FILE|FOLDER|DIR/.test(value);
    return {
      command,
      flags: options.flatMap(flagsOf),
      choices: valued.flatMap((one) =>
        one.choices === undefined ? [] : [{ flags: flagsOf(one), words: one.choices }],
      ),
      files: valued.filter((one) => one.choices === undefined && isFile(one)).flatMap(flagsOf),
      others: valued.filter((one) => one.choices === undefined && !isFile(one)).flatMap(flagsOf),
      operands: operandsOf(command, pages),
    };
  });
}

const flagsOf = ({ name, short }: OptionSpec) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];

function operandsOf(command: CommandSpec, pages: readonly string[]): readonly string[] | undefined {
  if (command.name === 'docs') return pages;
  if (command.operandChoices !== undefined) return command.operandChoices;
  return /FILE|FOLDER|DIR/.test(command.operands) ? undefined : [];
}

const groups = () => [...new Set(commands.filter(({ name }) => name.includes(' ')).map(({ name }) => firstWord(name)))];
const firstWords = () => [...new Set(commands.map(({ name }) => firstWord(name))), 'help'];
const firstWord = (name: string) => name.split(' ', 1)[0] as string;
const secondWords = (group: string) =>
  commands.filter(({ name }) => name.startsWith(`${group} `)).map(({ name }) => name.slice(group.length + 1));

function bash(pages: readonly string[]): string {
  const words = (list: readonly string[]) => `COMPREPLY=($(compgen -W '${list.join(' ')}' -- "$word"))`;
  const lines = [
    '# Completion of hostward for bash.',
    '_hostward() {',
    // Bash cuts --output=json at the sign into three words.
    `  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]} at=2`,
    `  if [[ $word == '=' ]]; then word=''; elif [[ $before == '=' ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi`,
    '  COMPREPLY=()',
    `  if ((COMP_CWORD == 1)); then ${words([...firstWords(), '--help', '--version'])}; return; fi`,
    '  case $command in',
    `    help) if ((COMP_CWORD == 2)); then ${words(firstWords())}; fi; return ;;`,
    ...groups().map(
      (group) =>
        `    ${group}) if ((COMP_CWORD == 2)); then ${words(secondWords(group))}; return; fi; command="$command \${COMP_WORDS[2]}" at=3 ;;`,
    ),
    '  esac',
    '  case "$command|$before" in',
    ...placesOf(pages).flatMap(({ command: { name }, choices, files, others }) => [
      ...choices.map((one) => `    ${oneOf(name, one.flags)}) ${words(one.words)}; return ;;`),
      ...(files.length > 0 ? [`    ${oneOf(name, files)}) compopt -o default 2>/dev/null; return ;;`] : []),
      ...(others.length > 0 ? [`    ${oneOf(name, others)}) return ;;`] : []),
    ]),
    '  esac',
    '  case $command in',
    ...placesOf(pages).map(({ command: { name }, flags, operands }) => {
      const operand = operands === undefined ? 'compopt -o default 2>/dev/null' : words(operands);
      return `    '${name}') if [[ $word == -* ]]; then ${words(flags)}; elif ((COMP_CWORD >= at)); then ${operand}; fi ;;`;
    }),
    '  esac',
    '}',
    'complete -F _hostward hostward',
  ];
  return `${lines.join('\n')}\n`;
}

const oneOf = (name: string, flags: readonly string[]) => flags.map((flag) => `'${name}|${flag}'`).join('|');

function zsh(pages: readonly string[]): string {
  const described = (list: readonly CommandSpec[], from: number) =>
    list.map(({ name, summary }) => quoted(`${name.slice(from)}:${summary}`)).join(' ');
  const plain = commands.filter(({ name }) => !name.includes(' '));
  const lines = [
    '#compdef hostward',
    '# Completion of hostward for zsh.',
    '_hostward() {',
    '  local command=$words[2] before=$words[CURRENT-1]',
    '  local -a found',
    '  if ((CURRENT == 2)); then',
    `    found=(${described(plain, 0)} ${groups()
      .map((group) => quoted(`${group}:${secondWords(group).join(', ')}`))
      .join(' ')} 'help:Explain a command')`,
    "    _describe -t commands 'command' found; return",
    '  fi',
    '  case $command in',
    `    help) compadd -- ${firstWords().join(' ')}; return ;;`,
    ...groups().map((group) => {
      const own = commands.filter(({ name }) => name.startsWith(`${group} `));
      return `    ${group}) if ((CURRENT == 3)); then found=(${described(own, group.length + 1)}); _describe -t commands 'command' found; return; fi; command="$command $words[3]" ;;`;
    }),
    '  esac',
    '  case "$command|$before" in',
    ...placesOf(pages).flatMap(({ command: { name }, choices, files, others }) => [
      ...choices.map((one) => `    ${oneOf(name, one.flags)}) compadd -- ${one.words.join(' ')}; return ;;`),
      ...(files.length > 0 ? [`    ${oneOf(name, files)}) _files; return ;;`] : []),
      ...(others.length > 0 ? [`    ${oneOf(name, others)}) return ;;`] : []),
    ]),
    '  esac',
    '  case $command in',
    ...placesOf(pages).map(({ command, operands }) => {
      const options = [...command.options, ...globalOptions];
      const flags = options.flatMap((one) => flagsOf(one).map((flag) => quoted(`${flag}:${one.summary}`))).join(' ');
      const operand = operands === undefined ? '_files' : `compadd -- ${operands.join(' ')}`;
      return `    '${command.name}') if [[ $words[CURRENT] == -* ]]; then found=(${flags}); _describe -o 'option' found; else ${operand}; fi ;;`;
    }),
    '  esac',
    '}',
    // Read by a shell at its start, the function has to be registered; in a folder of fpath it is called.
    'if [[ $funcstack[1] == _hostward ]]; then _hostward "$@"; else compdef _hostward hostward; fi',
  ];
  return `${lines.join('\n')}\n`;
}

function fish(pages: readonly string[]): string {
  const lines = ['# Completion of hostward for fish.', 'complete -c hostward -f'];
  const add = (condition: string, rest: string) => lines.push(`complete -c hostward -n ${quoted(condition)} ${rest}`);
  const plain = commands.filter(({ name }) => !name.includes(' '));
  for (const { name, summary } of plain) add('__fish_use_subcommand', `-a ${name} -d ${quoted(summary)}`);
  for (const group of groups()) {
    add('__fish_use_subcommand', `-a ${group} -d ${quoted(secondWords(group).join(', '))}`);
    const isOpen = `__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${secondWords(group).join(' ')}`;
    for (const { name, summary } of commands.filter((one) => one.name.startsWith(`${group} `)))
      add(isOpen, `-a ${name.slice(group.length + 1)} -d ${quoted(summary)}`);
  }
  for (const { command, operands } of placesOf(pages)) {
    const is = command.name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
    if (operands === undefined) add(is, '-F');
    else if (operands.length > 0) add(is, `-a ${quoted(operands.join(' '))}`);
    for (const option of [...command.options, ...globalOptions]) {
      const short = option.short === undefined ? '' : ` -s ${option.short}`;
      const isFile = /FILE|FOLDER|DIR/.test(option.value ?? '');
      const value = option.value === undefined ? '' : isFile ? ' -r -F' : ' -x';
      const words = option.choices === undefined ? '' : ` -a ${quoted(option.choices.join(' '))}`;
      add(is, `-l ${option.name}${short}${value}${words} -d ${quoted(option.summary)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** For all three shells; texts of the table hold no backslash. */
const quoted = (text: string) => `'${text.replaceAll("'", '’')}'`;
