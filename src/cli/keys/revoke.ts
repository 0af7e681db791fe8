// `hostward keys revoke`: deletes an access key, and with --tree every key that came of it. A maker goes before what it has made,
// so that it can make no more until then.
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { apiPrefix, keysPath, type ManagementClient } from './client/management-client.ts';
import { keyName, textAt } from './client/print-key.ts';
import { withServer } from './client/reach-server.ts';
import { noKeysOf } from './client/unknown-maker.ts';
import { itemsIn, makerIn, pagesOf } from './list.ts';

interface MadeKey {
  name: string;
  uid: string;
}

/** As many uids as a URL holds without trouble. */
const uidsAtOnce = 100;
/** Keys that make keys that make keys: more generations than that is a server that does not tell the truth. */
const mostGenerations = 1_000;

export async function revokeKey(context: Context, options: Options): Promise<ExitCode> {
  const maker = makerIn(options);
  if (maker !== undefined && options.operands.length > 0)
    throw new CommandFault(exitCodes.usage, 'want either the NAME of an access key or --made-by, found both', {
      hint: 'hostward keys list --made-by USER shows which keys --made-by means',
    });
  const name = maker === undefined ? keyName(options) : '';
  const isTree = options.has('tree');
  const isJson = options.choice('output') === 'json';
  const revoked = await withServer(context, options, async (client) => {
    const roots = maker === undefined ? [await namedKey(client, name)] : await keysOf(client, maker);
    const said = (key: MadeKey) => {
      if (!isJson) context.stdout.write(`revoked ${key.name}\n`);
    };
    // Before anything is deleted: who may not ask for the tree should not be left with half of it.
    const [root] = roots;
    if (isTree && root !== undefined) await mayAskForTree(client, root);
    return isTree ? revokeTree(client, roots, said) : revokeAll(client, roots, said);
  });
  if (revoked.length === 0 && maker !== undefined) context.stderr.write(`${await noKeysOf(context, options, maker)}\n`);
  if (isJson) context.stdout.write(`${JSON.stringify({ revoked: revoked.map((key) => key.name) }, undefined, 2)}\n`);
  return exitCodes.fine;
}

async function namedKey(client: ManagementClient, name: string): Promise<MadeKey> {
  const { body } = await client.ask({ method: 'GET', path: `${keysPath}/${name}` });
  return { name, uid: textAt(body, 'metadata', 'uid') };
}

const onlyMetadata = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** Everything that the caller sees of this maker. */
async function keysOf(client: ManagementClient, maker: string): Promise<MadeKey[]> {
  const items = itemsIn(await pagesOf(client, onlyMetadata), maker);
  return items.map((item) => ({ name: textAt(item, 'metadata', 'name'), uid: textAt(item, 'metadata', 'uid') }));
}

async function mayAskForTree(client: ManagementClient, root: MadeKey): Promise<void> {
  const { code } = await client.send({ method: 'GET', path: madeByPath([root]) });
  if (code !== 403) return void (await madeBy(client, [root]));
  const message = `--tree needs an administrator's key without a scope; nothing was revoked`;
  const hint = `hostward keys revoke ${root.name} revokes this key, and the keys that a key with a scope has made stop with it; ask an administrator for the others`;
  throw new CommandFault(exitCodes.environment, message, { hint });
}

async function revokeTree(
  client: ManagementClient,
  roots: readonly MadeKey[],
  said: (key: MadeKey) => void,
): Promise<MadeKey[]> {
  const revoked: MadeKey[] = [];
  let generation = roots;
  for (let depth = 0; depth < mostGenerations && generation.length > 0; depth++) {
    revoked.push(...(await revokeAll(client, generation, said)));
    const seen = new Set(revoked.map(({ uid }) => uid));
    // Of all that are gone, not of the last ones alone: one may have been made just before its maker went.
    generation = (await madeBy(client, revoked)).filter(({ uid }) => !seen.has(uid));
  }
  return revoked;
}

async function revokeAll(
  client: ManagementClient,
  keys: readonly MadeKey[],
  said: (key: MadeKey) => void,
): Promise<MadeKey[]> {
  for (const key of keys) {
    await revokeOne(client, key);
    said(key);
  }
  return [...keys];
}

async function revokeOne(client: ManagementClient, { name, uid }: MadeKey): Promise<void> {
  // Another key of the same name is not the one that was meant.
  const body = { preconditions: { uid }, gracePeriodSeconds: 0 };
  try {
    await client.ask({ method: 'DELETE', path: `${keysPath}/${name}`, body });
  } catch (fault) {
    if (fault instanceof CommandFault && (await isGone(client, { name, uid }))) return;
    throw fault;
  }
}

async function isGone(client: ManagementClient, { name, uid }: MadeKey): Promise<boolean> {
  const { code, body } = await client.send({ method: 'GET', path: `${keysPath}/${name}` });
  return code === 404 || (code === 200 && textAt(body, 'metadata', 'uid') !== uid);
}

async function madeBy(client: ManagementClient, makers: readonly MadeKey[]): Promise<MadeKey[]> {
  const found = new Map<string, MadeKey>();
  for (let from = 0; from < makers.length; from += uidsAtOnce) {
    const { body } = await client.ask({ method: 'GET', path: madeByPath(makers.slice(from, from + uidsAtOnce)) });
    for (const key of body['keys'] as MadeKey[]) found.set(key.uid, key);
  }
  return [...found.values()];
}

function madeByPath(makers: readonly MadeKey[]): string {
  return `${apiPrefix}/hostward/made-by?${new URLSearchParams(makers.map(({ uid }) => ['uid', uid]))}`;
}
