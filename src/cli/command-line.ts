// Runs one command line to its exit code. In: the words after the program's name and what the front door provides. Out: text
// on the two streams and a number. Every fault becomes a sentence here and nowhere else; must never know what a command does.

import { safeText } from '../safe-text.ts';
import type { CommandSpec } from './line/command-spec.ts';
import { globalOptions } from './line/command-table.ts';
import { CommandFault, type Context, type ExitCode, exitCodes, type SaidFault, type Sink } from './line/context.ts';
import { commandHelp, generalHelp, groupHelp, wrap } from './line/help.ts';
import { type Options, parseCommandLine, wantsVerbose } from './line/parse-arguments.ts';
import { systemFault } from './line/system-fault.ts';

export type Command = (context: Context, options: Options) => Promise<ExitCode>;

/** Loaded when called: `check` must not pay for the daemon, nor the daemon for the demo. */
const loaders: Record<string, () => Promise<Command>> = {
  run: async () => (await import('./run.ts')).run,
  demo: async () => (await import('./demo.ts')).demo,
  check: async () => (await import('./check.ts')).check,
  render: async () => (await import('./render.ts')).render,
  test: async () => (await import('./test.ts')).test,
  eval: async () => (await import('./eval.ts')).evaluate,
  status: async () => (await import('./status.ts')).status,
  release: async () => (await import('./release.ts')).release,
  devcluster: async () => (await import('./devcluster.ts')).devcluster,
  'keys create': async () => (await import('./keys/create.ts')).createKey,
  'keys list': async () => (await import('./keys/list.ts')).listKeys,
  'keys rotate': async () => (await import('./keys/rotate.ts')).rotateKey,
  'keys revoke': async () => (await import('./keys/revoke.ts')).revokeKey,
  'keys reattach': async () => (await import('./keys/reattach.ts')).reattach,
  'keys explain': async () => (await import('./keys/explain.ts')).explainKey,
  'audit verify': async () => (await import('./keys/audit-verify.ts')).auditVerify,
  schema: async () => (await import('./schema.ts')).schema,
};

export async function runCommandLine(given: Context, argv: readonly string[]): Promise<ExitCode> {
  const context = { ...given, stdout: safeSink(given.stdout), stderr: safeSink(given.stderr) };
  const isVerbose = wantsVerbose(argv, context.environment);
  try {
    const line = parseCommandLine(argv);
    switch (line.kind) {
      case 'help':
        context.stdout.write(line.command === undefined ? generalHelp() : commandHelp(line.command));
        return exitCodes.fine;
      case 'groupHelp':
        context.stdout.write(groupHelp(line.group));
        return exitCodes.fine;
      case 'version':
        context.stdout.write(`hostward ${context.version}${isVerbose ? ` (Node ${context.runtime})` : ''}\n`);
        return exitCodes.fine;
      case 'command':
        return await (await commandOf(line.command))(context, line.options);
      default:
        return line satisfies never;
    }
  } catch (thrown) {
    return sayFault(context, thrown, isVerbose);
  }
}

async function commandOf(spec: CommandSpec): Promise<Command> {
  const load = loaders[spec.name];
  if (load === undefined) throw new Error(`command "${spec.name}" stands in the table and has no code`);
  return load();
}

/** Nothing that a tenant wrote reaches a terminal as it is, whichever command prints it. */
function safeSink(sink: Sink): Sink {
  return {
    write: (text) => sink.write(safeText(text)),
    control: (text) => sink.control(text),
    get isTerminal() {
      return sink.isTerminal;
    },
    get columns() {
      return sink.columns;
    },
    get rows() {
      return sink.rows;
    },
  };
}

/** Also for errors that no code catches: the front door sends them here. */
export function sayFault(given: Context, thrown: unknown, isVerbose: boolean): ExitCode {
  const context = { ...given, stderr: safeSink(given.stderr) };
  const fault = thrown instanceof CommandFault ? thrown : systemFault(thrown);
  if (fault === undefined) return sayBug(context, thrown, isVerbose);
  tellListeners(context, { sentence: fault.message, details: fault.details, exitCode: fault.exitCode });
  context.stderr.write(`hostward: ${fault.message}\n`);
  if (fault.hint !== undefined) context.stderr.write(`${wrap(fault.hint, 100).join('\n')}\n`);
  if (isVerbose) context.stderr.write(causesOf(fault.cause));
  return fault.exitCode;
}

function sayBug(context: Context, thrown: unknown, isVerbose: boolean): ExitCode {
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const firstLine = message.split('\n', 1)[0] as string;
  const option = globalOptions.find((candidate) => candidate.name === 'verbose');
  const next = isVerbose ? '' : `; please report it with what --${option?.name} prints`;
  const sentence = `a bug of ours: ${firstLine}${next}`;
  tellListeners(context, { sentence, details: [], exitCode: exitCodes.bug });
  context.stderr.write(`hostward ${context.version}: ${sentence}\n`);
  if (isVerbose && thrown instanceof Error) context.stderr.write(`${thrown.stack}\n${causesOf(thrown.cause)}`);
  return exitCodes.bug;
}

function tellListeners({ faultListeners }: Context, said: SaidFault): void {
  for (const listener of faultListeners) listener(said);
}

function causesOf(cause: unknown): string {
  // Five links explain everything seen so far; a ring of causes would never end.
  let text = '';
  for (let depth = 0, link = cause; link instanceof Error && depth < 5; depth++, link = link.cause) {
    text += `caused by ${link.stack ?? link.message}\n`;
  }
  return text;
}
