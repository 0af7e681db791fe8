// Parses the command line. In: the arguments. Out: a command with its options and operands, or a usage fault that names the
// first mistake and the word that the user probably meant.
import { parseArgs } from 'node:util';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { shellWord } from '../../safe-text.ts';
import type { CommandSpec, OptionSpec } from './commands/command-spec.ts';
import { commandNamed, commands, commandsOfGroup } from './commands/command-table.ts';
import { globalOptions } from './commands/options.ts';
import { CommandFault, exitCodes } from './context.ts';

/** The options of a command, by their names in the command table; an unknown name is a bug and throws. */
export class Options {
  #specs: ReadonlyMap<string, OptionSpec>;
  #given: ReadonlyMap<string, readonly string[]>;
  readonly operands: readonly string[];

  constructor(
    specs: readonly OptionSpec[],
    given: ReadonlyMap<string, readonly string[]>,
    operands: readonly string[],
  ) {
    this.#specs = new Map(specs.map((spec) => [spec.name, spec]));
    this.#given = given;
    this.operands = operands;
  }

  /** Whether a switch was given. */
  has(name: string): boolean {
    return this.#valuesOf(name).length > 0;
  }

  text(name: string): string | undefined {
    return this.#valuesOf(name).at(-1);
  }

  texts(name: string): readonly string[] {
    return this.#valuesOf(name);
  }

  /** The value of an option with choices; its first choice is the default. */
  choice(name: string): string {
    return this.text(name) ?? (this.#specs.get(name)?.choices?.[0] as string);
  }

  #valuesOf(name: string): readonly string[] {
    if (!this.#specs.has(name)) throw new Error(`option "${name}" is not in the command table`);
    return this.#given.get(name) ?? [];
  }
}

export type CommandLine =
  | { kind: 'help'; command: CommandSpec | undefined }
  /** Of a group of commands, by its word. */
  | { kind: 'groupHelp'; group: string }
  | { kind: 'version' }
  | { kind: 'command'; command: CommandSpec; options: Options };

/** Throws a CommandFault with the usage exit code. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const [first, ...more] = argv;
  if (first === undefined || first === '--help' || first === '-h') return { kind: 'help', command: undefined };
  if (first === '--version') return { kind: 'version' };
  if (first === 'help') return helpOf(more);
  if (first.startsWith('-') && more.some((word) => commandNamed(word) !== undefined)) {
    throw usageFault(`wanted a command first, found the option "${first}"`, {
      hint: 'put options after the command',
    });
  }
  if (commandsOfGroup(first).length > 0 && (more[0] === undefined || asksForHelp(more[0])))
    return { kind: 'groupHelp', group: first };
  const { command, rest } = commandOf(first, more);
  const { given, operands } = readTokens(command, rest);
  if (given.has('help')) return { kind: 'help', command };
  if (given.has('version')) return { kind: 'version' };
  const extra = operands[command.maxOperands];
  if (extra !== undefined) {
    const message = `hostward ${command.name} takes ${atMost(command.maxOperands)}, found "${extra}"`;
    throw usageFault(message, { command, ...fileHint(command, extra) });
  }
  refuseSharedInput(given);
  return { kind: 'command', command, options: new Options(optionsOf(command), given, operands) };
}

/** Standard input can be read once, so a second reader would get the text that was meant for the first. */
function refuseSharedInput(given: ReadonlyMap<string, readonly string[]>): void {
  const askers = ['config', 'file', 'host-object', 'manifests'].flatMap((name) =>
    (given.get(name) ?? []).filter((value) => value === '-').map(() => `--${name} -`),
  );
  if (given.has('stdin')) askers.push('--stdin');
  if (askers.length < 2) return;
  const hint = 'put one of them into a file';
  throw usageFault(`standard input can be read once, found ${askers.join(' and ')}`, { hint });
}

export function optionsOf(command: CommandSpec): readonly OptionSpec[] {
  return [...command.options, ...globalOptions];
}

/** Whether the user wants stacks. Works without parsing, because parsing itself may fail. */
export function wantsVerbose(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const switchedOn = environment['HOSTWARD_DEBUG'] ?? '';
  return argv.includes('--verbose') || argv.includes('-v') || (switchedOn !== '' && switchedOn !== '0');
}

/** Whether the user wants JSON. Works without parsing, because parsing itself may fail. */
export function wantsJson(argv: readonly string[]): boolean {
  return argv.some((word, at) => {
    if (word === '-o' || word === '--output') return argv[at + 1] === 'json';
    return /^(?:-o=?|--output=)json$/.test(word);
  });
}

function helpOf([first, ...more]: readonly string[]): CommandLine {
  if (first === undefined) return { kind: 'help', command: undefined };
  if (commandsOfGroup(first).length > 0 && more.length === 0) return { kind: 'groupHelp', group: first };
  return { kind: 'help', command: commandOf(first, more).command };
}

function asksForHelp(word: string): boolean {
  return word === '--help' || word === '-h' || word === 'help';
}

/** A command of a group takes two words, every other one. */
function commandOf(first: string, more: readonly string[]): { command: CommandSpec; rest: readonly string[] } {
  const group = commandsOfGroup(first);
  if (group.length === 0) return { command: knownCommand(first), rest: more };
  const [second = '', ...rest] = more;
  const command = commandNamed(`${first} ${second}`);
  if (command !== undefined) return { command, rest };
  const known = group.map(({ name }) => name.slice(first.length + 1));
  const message = `hostward ${first} wants one of ${known.join(', ')}, found "${second}"`;
  throw usageFault(message, { word: second, known, hint: `see hostward ${first} --help` });
}

function knownCommand(name: string): CommandSpec {
  const command = commandNamed(name);
  if (command !== undefined) return command;
  const known = commands.map((other) => other.name.split(' ', 1)[0] as string);
  if (name.startsWith('-')) throw usageFault(`wanted a command, found the option "${name}"`, { word: name, known: [] });
  throw usageFault(`wanted a command, found "${name}"`, { word: name, known });
}

function readTokens(command: CommandSpec, words: readonly string[]) {
  const specs = optionsOf(command);
  const options: Record<string, { type: 'string' | 'boolean'; short?: string; multiple: true }> = Object.create(null);
  for (const spec of specs) {
    const type = spec.value === undefined ? 'boolean' : 'string';
    options[spec.name] = { type, multiple: true, ...(spec.short === undefined ? {} : { short: spec.short }) };
  }
  const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, string[]>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') {
      operands.push(token.value);
      const { operandsAre } = command;
      if (operandsAre !== undefined) given.set(operandsAre, [...(given.get(operandsAre) ?? []), token.value]);
    }
    if (token.kind !== 'option') continue;
    const spec = specs.find((candidate) => candidate.name === token.name);
    if (spec === undefined) {
      const known = specs.map((candidate) => `--${candidate.name}`);
      throw usageFault(`hostward ${command.name} has no option "${token.rawName}"`, {
        word: token.rawName,
        known,
        command,
        ...dashHint(command, words, token.rawName),
      });
    }
    const value = checkedValue(command, spec, token);
    given.set(spec.name, spec.repeats ? [...(given.get(spec.name) ?? []), value] : [value]);
  }
  return { given, operands };
}

interface OptionToken {
  rawName: string;
  value: string | undefined;
  inlineValue: boolean | undefined;
}

function checkedValue(command: CommandSpec, spec: OptionSpec, token: OptionToken): string {
  const name = `--${spec.name}`;
  if (spec.value === undefined) {
    if (token.value === undefined) return 'true';
    throw usageFault(`${name} is a switch and takes no value, found "${token.value}"`, { command });
  }
  // A lone dash is standard input, and a dash before a digit is a number; any other dash begins the next option.
  const isNextOption = token.inlineValue !== true && /^-[^\d.]/.test(token.value ?? '');
  const isEmpty = token.value === '' && spec.mayBeEmpty !== true;
  if (token.value === undefined || isEmpty || isNextOption) {
    const found = token.value === undefined ? 'found nothing' : `found "${token.value}"`;
    throw usageFault(`${name} wants a value (${spec.value}), ${found}`, { command });
  }
  if (spec.choices !== undefined && !spec.choices.includes(token.value)) {
    throw usageFault(`${name} is one of ${spec.choices.join(', ')}, found "${token.value}"`, {
      command,
      word: token.value,
      known: spec.choices,
    });
  }
  return token.value;
}

/** An expression may begin with a minus, and then looks like options: `-1`, `-value`. */
function dashHint(command: CommandSpec, words: readonly string[], option: string): { hint?: string } {
  // `-value` is read as four options of one letter.
  const word = words.find((one) => /^-[^-]/.test(one) && one.includes(option.slice(1)));
  if (word === undefined || command.maxOperands === 0 || command.operandsAre !== undefined) return {};
  if (!command.operands.includes('EXPRESSION')) return {};
  return {
    hint: `write -- before an expression that begins with a minus: hostward ${command.name} [OPTIONS] -- ${shellWord(word)}`,
  };
}

/** Many users give the file without an option, as other tools allow. */
function fileHint(command: CommandSpec, word: string): { hint?: string } {
  const options = optionsOf(command).filter(({ name }) => name === 'config' || name === 'file');
  if (options.length === 0 || !/\.(ya?ml|json)$/.test(word)) return {};
  return { hint: `did you mean ${options.map(({ name }) => `--${name} ${word}`).join(' or ')}?` };
}

function atMost(count: number): string {
  return count === 0 ? 'no operands' : `at most ${count} operand${count === 1 ? '' : 's'}`;
}

function usageFault(
  message: string,
  about: { command?: CommandSpec; word?: string; known?: readonly string[]; hint?: string },
): CommandFault {
  const meant = about.word === undefined ? undefined : nearestKey(about.word, about.known ?? []);
  const help = about.command === undefined ? 'hostward --help' : `hostward ${about.command.name} --help`;
  const hint = about.hint ?? (meant === undefined ? `see ${help}` : `did you mean "${meant}"? See ${help}`);
  return new CommandFault(exitCodes.usage, message, { hint });
}
