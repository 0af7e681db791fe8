// Every command and option as data. The parser, --help, the usage faults and the table in the README come from this table, so
// that a command cannot exist without its help.
import { aboutCommands } from './about-commands.ts';
import type { CommandSpec } from './command-spec.ts';
import { doctorCommand, releaseCommand, runCommand, statusCommand } from './daemon-commands.ts';
import { demoCommand, devclusterCommand } from './embedded-commands.ts';
import { keysCommands, kubeconfigCommand } from './keys-commands.ts';
import { directCommand, managementCommands } from './management-commands.ts';
import { offlineCommands } from './offline-commands.ts';

/** In the order of `hostward --help`. */
export const commands: readonly CommandSpec[] = [
  runCommand,
  demoCommand,
  ...offlineCommands,
  doctorCommand,
  statusCommand,
  releaseCommand,
  devclusterCommand,
  ...keysCommands,
  ...managementCommands,
  kubeconfigCommand,
  directCommand,
  ...aboutCommands,
];

export function commandNamed(name: string): CommandSpec | undefined {
  return commands.find((command) => command.name === name);
}

/** The commands whose names begin with this word; none when it is a command of its own. */
export function commandsOfGroup(word: string): readonly CommandSpec[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `));
}
