// `hostward backup`: copies what the management API keeps into a new folder. The process that has dataDir open writes the files, the
// daemon or this command, so that the copy is consistent.
import { resolve } from 'node:path';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { apiPrefix } from '../client/management-client.ts';
import { withLocalServer } from '../client/reach-server.ts';

/** A million keys are copied in a minute. */
const timeoutMs = 15 * 60_000;

interface BackupAnswer {
  madeAt: string;
  revision: number;
  files: readonly { name: string }[];
  leftOut: readonly string[];
}

export async function backup(context: Context, options: Options): Promise<ExitCode> {
  const [operand] = options.operands;
  if (operand === undefined)
    throw new CommandFault(exitCodes.usage, 'say where the backup goes', {
      hint: 'give a FOLDER that does not exist yet',
    });
  const folder = resolve(context.cwd, operand);
  const body = { folder, withSecrets: !options.has('without-secrets') };
  const made = await withLocalServer(context, options, async (client) => {
    const answer = await client.ask({ method: 'POST', path: `${apiPrefix}/hostward/backup`, body, timeoutMs });
    return answer.body as unknown as BackupAnswer;
  });
  if (options.choice('output') === 'json')
    context.stdout.write(`${JSON.stringify({ folder, ...made }, undefined, 2)}\n`);
  else context.stdout.write(textOf(folder, made));
  return exitCodes.fine;
}

function textOf(folder: string, { files, leftOut }: BackupAnswer): string {
  const names = files.map(({ name }) => name);
  const lines = [`backed up to ${folder}: ${names.join(', ')}`];
  const secrets = names.length > 1 ? 'it holds the secrets of the server: keep it like the server itself' : '';
  const missing =
    leftOut.length === 0 ? '' : `not in it: ${leftOut.join(', ')}; without secrets.json no key can be proved`;
  lines.push(...[secrets, missing].filter((line) => line !== ''));
  lines.push(
    'not in it: the audit log, and revocations.log, which lists the revocations from now on: copy it away often',
  );
  return `${lines.join('\n')}\n`;
}
