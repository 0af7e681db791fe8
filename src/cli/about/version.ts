// `hostward version`: the version of the program and of the Node that runs it. In: the context. Out: a line, or JSON.
import { type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';

export async function version(context: Context, options: Options): Promise<ExitCode> {
  const { version, runtime } = context;
  const said = { version, node: runtime.replace(/^v/, '') };
  const isJson = options.choice('output') === 'json';
  context.stdout.write(
    isJson ? `${JSON.stringify(said, undefined, 2)}\n` : `hostward ${version} (Node ${said.node})\n`,
  );
  return exitCodes.fine;
}
