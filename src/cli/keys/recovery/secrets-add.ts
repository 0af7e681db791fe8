// `hostward secrets add`: a further version of a secret, so that nobody has to edit the file by hand.
import { CommandFault, type Context, type ExitCode, exitCodes } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { configuredServer } from '../client/reach-server.ts';
import { tried } from './restore.ts';

export async function secretsAdd(context: Context, options: Options): Promise<ExitCode> {
  const { addedSecrets, addSecret } = await import('../../../management/server/moving/add-secret.ts');
  const what = addedSecrets.find((one) => one === options.operands[0]);
  if (what === undefined)
    throw new CommandFault(exitCodes.usage, 'say which secret gets a further version', {
      hint: `give one of ${addedSecrets.join(', ')}`,
    });
  const { server } = await configuredServer(context, options);
  const inUse = {
    message: `the database in ${server.dataDir} is in use`,
    hint: 'stop the daemon, and start it again afterwards',
  };
  const run = () => addSecret({ server, what, clock: context.clock });
  const added = await tried('nothing was added', run, (code) => (code === 'STORE_LOCKED' ? inUse : undefined));
  const { file, version, kept } = added;
  if (options.choice('output') === 'json')
    context.stdout.write(`${JSON.stringify({ what, ...added }, undefined, 2)}\n`);
  else {
    const isShared = server.store?.kubernetes !== undefined;
    const before = kept.length === 0 ? '' : `, beside ${kept.join(', ')}`;
    context.stdout.write(
      `added ${names[what]} ${version} to ${file}${before}\n${isShared ? shared[what] : alone[what]}\n`,
    );
  }
  return exitCodes.fine;
}

const names = { pepper: 'pepper', 'token-key': 'token key', 'seal-key': 'seal key' };

const sealAgain = 'stop every server, run "hostward store seal", and start them; keep the older keys';

const shared = {
  pepper:
    'new keys are made with it when every replica has had it for ten seconds: see "hostward status". Keep the older ones while keys of them are left',
  'token-key':
    'it signs in ten minutes at the earliest, five minutes after the last replica has it: see "hostward status". Older ones go when their last token has ended',
  'seal-key': sealAgain,
};

const alone = {
  pepper: 'start the server: new keys are made with it. Keep the older ones while keys of them are left',
  'token-key': 'start the server: it signs in ten minutes. Older ones go when their last token has ended',
  'seal-key': 'only the records of a store in a cluster are sealed; it is there when the records move to one',
};
