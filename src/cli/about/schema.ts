// `hostward schema`: the JSON Schema of the configuration, for editors and other programs.
import { configurationSchema } from '../../config/settings/table/schema.ts';
import { type Context, type ExitCode, exitCodes } from '../line/context.ts';

export async function schema(context: Context): Promise<ExitCode> {
  context.stdout.write(`${JSON.stringify(configurationSchema(), undefined, 2)}\n`);
  return exitCodes.fine;
}
