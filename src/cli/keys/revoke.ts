// `hostward keys revoke`: deletes an access key, and with --tree every key that came of it. A maker goes before what it has made,
// so that it can make no more until then.
import { firstFew } from '../../object/text/in-words.ts';
import { isRecord, textsIn } from '../../object/text/json.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { apiPrefix, keysPath, type ManagementClient } from './client/management-client.ts';
import { keyName, textAt } from './client/print-key.ts';
import { isDistant, withServer } from './client/reach-server.ts';
import { noKeysOf } from './client/unknown-maker.ts';
import { itemsIn, makerIn, pagesOf } from './list.ts';

interface MadeKey {
  name: string;
  uid: string;
}

/** As many uids as a URL holds without trouble. */
const uidsAtOnce = 100;
const reviewsPath = `${apiPrefix}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
const shownNames = 20;
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
    // The calling key goes last: without it nothing more can be revoked.
    const own = isDistant(options) ? await callingKey(client) : '';
    return isTree ? revokeTree(client, roots, { said, own }) : revokeAll(client, ownLast(roots, own), said);
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
  { said, own }: { said: (key: MadeKey) => void; own: string },
): Promise<MadeKey[]> {
  const revoked: MadeKey[] = [];
  const last: MadeKey[] = [];
  let generation = roots;
  for (let depth = 0; depth < mostGenerations && generation.length > 0; depth++) {
    last.push(...generation.filter(({ name }) => name === own));
    revoked.push(
      ...(await revokeAll(
        client,
        generation.filter(({ name }) => name !== own),
        said,
      )),
    );
    const makers = [...revoked, ...last];
    const seen = new Set(makers.map(({ uid }) => uid));
    // Of all that are gone, not of the last ones alone: one may have been made just before its maker went.
    generation = (await madeBy(client, makers)).filter(({ uid }) => !seen.has(uid));
  }
  return [...revoked, ...(await revokeAll(client, last, said))];
}

/** The name of the key that asks. */
async function callingKey(client: ManagementClient): Promise<string> {
  const type = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { body } = await client.ask({ method: 'POST', path: reviewsPath, body: { ...type, metadata: {} } });
  const status = isRecord(body['status']) ? body['status'] : {};
  const userInfo = isRecord(status['userInfo']) ? status['userInfo'] : {};
  const extra = isRecord(userInfo['extra']) ? userInfo['extra'] : {};
  return textsIn(extra['hostward.dev/key'])[0] ?? '';
}

function ownLast(keys: readonly MadeKey[], own: string): MadeKey[] {
  return [...keys.filter(({ name }) => name !== own), ...keys.filter(({ name }) => name === own)];
}

async function revokeAll(
  client: ManagementClient,
  keys: readonly MadeKey[],
  said: (key: MadeKey) => void,
): Promise<MadeKey[]> {
  for (const [at, key] of keys.entries()) {
    await revokeOne(client, key).catch((fault: unknown) => {
      throw withLeft(fault, keys.slice(at));
    });
    said(key);
  }
  return [...keys];
}

/** Who revokes many keys must know which of them are still valid. */
function withLeft(fault: unknown, left: readonly MadeKey[]): unknown {
  if (!(fault instanceof CommandFault) || left.length < 2) return fault;
  const names = firstFew(
    left.map(({ name }) => name),
    shownNames,
  );
  const { exitCode, message, hint } = fault;
  return new CommandFault(exitCode, `${message}; not revoked: ${names}`, {
    cause: fault,
    ...(hint !== undefined && { hint }),
  });
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
