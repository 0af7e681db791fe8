// `hostward keys reattach`: gives a name that was missing from the configuration for too long its old identity and its keys back.
import { counted } from '../../object/text/in-words.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { apiPrefix, type ManagementClient } from './client/management-client.ts';
import { withServer } from './client/reach-server.ts';

interface Identities {
  kind: string;
  name: string;
  uid: string;
  keys: number;
  retired: readonly { uid: string; until: string; keys: number }[];
}

const path = `${apiPrefix}/hostward/identities`;

export async function reattach(context: Context, options: Options): Promise<ExitCode> {
  const [, kind, name] = /^([A-Za-z]+)\/(.+)$/.exec(options.operands[0] ?? '') ?? [];
  if (kind === undefined || name === undefined)
    throw new CommandFault(exitCodes.usage, `want KIND/NAME, like user/alice, found "${options.operands[0] ?? ''}"`, {
      hint: 'KIND is user, team, project, cluster or virtualCluster; a virtual cluster is virtualCluster/PROJECT/NAME',
    });
  const now = await withServer(context, options, async (client) => {
    const uid = options.text('uid') ?? (await onlyFormer(client, kind, name));
    const { body } = await client.ask({ method: 'POST', path, body: { kind, name, uid } });
    return body as unknown as Identities;
  });
  if (options.choice('output') === 'json') context.stdout.write(`${JSON.stringify(now, undefined, 2)}\n`);
  else context.stdout.write(`${kind} ${name} is ${now.uid} again, with ${counted(now.keys, 'access key')}\n`);
  return exitCodes.fine;
}

async function onlyFormer(client: ManagementClient, kind: string, name: string): Promise<string> {
  const query = new URLSearchParams({ kind, name });
  const { body } = await client.ask({ method: 'GET', path: `${path}?${query}` });
  const { retired } = body as unknown as Identities;
  const [only, ...others] = retired;
  if (only === undefined)
    throw new CommandFault(exitCodes.input, `${kind} ${name} has no earlier identity, so there is nothing to undo`, {
      hint: 'hostward keys list shows the keys and their owners; keys of a missing owner come back with the owner',
    });
  if (others.length === 0) return only.uid;
  const lines = retired.map(({ uid, until, keys }) => `${uid} until ${until}, ${counted(keys, 'access key')}`);
  throw new CommandFault(exitCodes.input, `${kind} ${name} has several earlier identities: ${lines.join('; ')}`, {
    hint: 'say which one with --uid UID',
  });
}
