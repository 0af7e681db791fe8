// Runs one command line. In: the arguments, and the context from the front door. Out: text on the two streams and an exit code.
// Only this file turns faults into sentences. It must never know what a command does.

import { safeText } from '../safe-text.ts';
import type { CommandSpec } from './line/commands/command-spec.ts';
import { globalOptions } from './line/commands/options.ts';
import { CommandFault, type Context, type ExitCode, exitCodes, type ReportedFault, type Sink } from './line/context.ts';
import { commandHelp, generalHelp, groupHelp, wrap } from './line/help.ts';
import { type Options, parseCommandLine, wantsJson, wantsVerbose } from './line/parse-arguments.ts';
import { systemFault } from './line/system-fault.ts';

export type Command = (context: Context, options: Options) => Promise<ExitCode>;

/** Each command loads its own code, so that `check` need not load the daemon, nor the daemon the demo. */
const loaders: Record<string, () => Promise<Command>> = {
  run: async () => (await import('./run.ts')).run,
  demo: async () => (await import('./demo.ts')).demo,
  check: async () => (await import('./check.ts')).check,
  render: async () => (await import('./render.ts')).render,
  test: async () => (await import('./test.ts')).test,
  playground: async () => (await import('./offline/playground/playground.ts')).playground,
  eval: async () => (await import('./eval.ts')).evaluate,
  doctor: async () => (await import('./doctor/doctor.ts')).doctor,
  status: async () => (await import('./running/status.ts')).status,
  release: async () => (await import('./running/release.ts')).release,
  devcluster: async () => (await import('./devcluster.ts')).devcluster,
  'keys create': async () => (await import('./keys/create.ts')).createKey,
  'keys list': async () => (await import('./keys/list.ts')).listKeys,
  'keys get': async () => (await import('./keys/list.ts')).getKey,
  'keys disable': async () => (await import('./keys/disable.ts')).disableKey,
  'keys enable': async () => (await import('./keys/disable.ts')).enableKey,
  'keys extend': async () => (await import('./keys/extend.ts')).extendKey,
  'keys rotate': async () => (await import('./keys/rotate.ts')).rotateKey,
  'keys revoke': async () => (await import('./keys/revoke.ts')).revokeKey,
  'keys reattach': async () => (await import('./keys/reattach.ts')).reattach,
  'keys explain': async () => (await import('./keys/explain.ts')).explainKey,
  kubeconfig: async () => (await import('./keys/kubeconfig.ts')).kubeconfig,
  backup: async () => (await import('./keys/recovery/backup.ts')).backup,
  restore: async () => (await import('./keys/recovery/restore.ts')).restore,
  'secrets add': async () => (await import('./keys/recovery/secrets-add.ts')).secretsAdd,
  'store migrate': async () => (await import('./keys/recovery/store.ts')).storeMigrate,
  'store seal': async () => (await import('./keys/recovery/store.ts')).storeSeal,
  'store recover': async () => (await import('./keys/recovery/store.ts')).storeRecover,
  'audit verify': async () => (await import('./keys/audit-verify.ts')).auditVerify,
  'upstream-rbac': async () => (await import('./keys/upstream-rbac.ts')).upstreamRbac,
  direct: async () => (await import('./keys/direct.ts')).direct,
  install: async () => (await import('./about/install.ts')).install,
  schema: async () => (await import('./about/schema.ts')).schema,
  docs: async () => (await import('./about/docs.ts')).docs,
  completion: async () => (await import('./about/completion.ts')).completion,
  version: async () => (await import('./about/version.ts')).version,
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
    return reportFault(context, thrown, { isVerbose, isJson: wantsJson(argv) });
  }
}

async function commandOf(spec: CommandSpec): Promise<Command> {
  const load = loaders[spec.name];
  if (load === undefined) throw new Error(`command "${spec.name}" is in the table but has no code`);
  return load();
}

/** Escapes control characters in everything that a command prints, because a tenant may have written them. */
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

export interface ReportForm {
  isVerbose: boolean;
  /** One line of JSON on standard error, for programs that read the output of the command as JSON. */
  isJson: boolean;
}

/** Prints the fault and returns its exit code. The front door sends uncaught errors here too. */
export function reportFault(given: Context, thrown: unknown, { isVerbose, isJson }: ReportForm): ExitCode {
  const context = { ...given, stderr: safeSink(given.stderr) };
  const fault = thrown instanceof CommandFault ? thrown : systemFault(thrown);
  if (fault === undefined) return reportBug(context, thrown, { isVerbose, isJson });
  notifyListeners(context, { sentence: fault.message, details: fault.details, exitCode: fault.exitCode });
  if (isJson) {
    const { message, hint, exitCode, details } = fault;
    writeJson(context, { message, hint, exitCode, ...(details.length > 0 && { details }) });
    return fault.exitCode;
  }
  for (const text of fault.shown) context.stderr.write(`${text}\n`);
  context.stderr.write(`hostward: ${fault.message}\n`);
  if (fault.hint !== undefined) context.stderr.write(`${wrap(fault.hint, 100).join('\n')}\n`);
  if (isVerbose) context.stderr.write(causesOf(fault.cause));
  return fault.exitCode;
}

function reportBug(context: Context, thrown: unknown, { isVerbose, isJson }: ReportForm): ExitCode {
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const firstLine = message.split('\n', 1)[0] as string;
  const option = globalOptions.find((candidate) => candidate.name === 'verbose');
  const next = isVerbose ? '' : `; please report it with the output of --${option?.name}`;
  const sentence = `a bug of ours: ${firstLine}${next}`;
  notifyListeners(context, { sentence, details: [], exitCode: exitCodes.bug });
  if (isJson) {
    writeJson(context, { message: sentence, exitCode: exitCodes.bug });
    return exitCodes.bug;
  }
  context.stderr.write(`hostward ${context.version}: ${sentence}\n`);
  if (isVerbose && thrown instanceof Error) context.stderr.write(`${thrown.stack}\n${causesOf(thrown.cause)}`);
  return exitCodes.bug;
}

function writeJson(context: Context, error: object): void {
  context.stderr.write(`${JSON.stringify({ error })}\n`);
}

function notifyListeners({ faultListeners }: Context, said: ReportedFault): void {
  for (const listener of faultListeners) listener(said);
}

function causesOf(cause: unknown): string {
  // Stops after five causes, because causes may form a ring.
  let text = '';
  for (let depth = 0, link = cause; link instanceof Error && depth < 5; depth++, link = link.cause) {
    text += `caused by ${link.stack ?? link.message}\n`;
  }
  return text;
}
