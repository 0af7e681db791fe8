// `hostward keys disable` and `hostward keys enable`: whether an access key is accepted, without losing it.
import { type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { keysPath } from './client/management-client.ts';
import { keyName, sayWarnings } from './client/print-key.ts';
import { withServer } from './client/reach-server.ts';

export const disableKey = (context: Context, options: Options) => setDisabled(context, options, true);
export const enableKey = (context: Context, options: Options) => setDisabled(context, options, false);

async function setDisabled(context: Context, options: Options, disabled: boolean): Promise<ExitCode> {
  const name = keyName(options);
  const { warnings } = await withServer(context, options, (client) =>
    client.ask({ method: 'PATCH', path: `${keysPath}/${name}`, body: { spec: { disabled } } }),
  );
  if (options.choice('output') === 'json') {
    context.stdout.write(`${JSON.stringify({ name, disabled, warnings }, undefined, 2)}\n`);
    return exitCodes.fine;
  }
  sayWarnings(context, warnings);
  context.stdout.write(`${disabled ? 'disabled' : 'enabled'} ${name}\n`);
  return exitCodes.fine;
}
