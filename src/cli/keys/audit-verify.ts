// `hostward audit verify`: whether the audit log of the management API, or of a direct endpoint, is as it was written. In: the files,
// oldest first, and for the management API the secret that proves them. Out: what is whole, and the first line that is not.
import { join, resolve } from 'node:path';
import { type KubernetesStoreSettings, secretsFolder } from '../../config/settings/management-settings.ts';
import {
  beginning,
  type ChainHead,
  type Digest,
  keyedDigest,
  lostEnd,
  plainDigest,
} from '../../management/audit/chain/chain.ts';
import { chainFiles } from '../../management/audit/chain/chain-file.ts';
import {
  type Before,
  type LossNoted,
  linesBefore,
  type VerifiedChain,
  verifyFiles,
} from '../../management/audit/chain/verify.ts';
import { auditName, readSecrets, replicaOf, revocationsName } from '../../management/keys/folder/data-folder.ts';
import { knownReplicas } from '../../management/server/host/known-replicas.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { requireManagement } from '../line/load-settings.ts';
import type { Options } from '../line/parse-arguments.ts';
import { configuredServer } from './client/reach-server.ts';

export async function auditVerify(context: Context, options: Options): Promise<ExitCode> {
  const log = await logOf(context, options);
  // First what the store has seen: a daemon may write on.
  const heads = await headsOf(context, options, log);
  const folders = [log.folder, ...options.texts('replica').map((folder) => resolve(context.cwd, folder))];
  const chains = options.operands.length > 0 ? [log.folder] : folders;
  const found: Found[] = [];
  const lines: string[] = [];
  const json: object[] = [];
  let isWhole = true;
  for (const folder of chains) {
    const chain = await chainIn(context, { options, log, folder, heads: heads?.audit });
    const journal = heads && (await journalIn(context, { log, folder, heads: heads.journal }));
    const both = [chain, ...(journal === undefined ? [] : [journal])];
    found.push(...both.flatMap((one) => one.found));
    isWhole &&= both.every((one) => one.isWhole);
    lines.push(...beforeText(chain.before, log.removedBecause));
    for (const { found, lost, seen } of both)
      lines.push(...found.map(fileText), ...lost.map(lostText), ...(seen === undefined ? [] : [seen.text]));
    const told = journal === undefined ? {} : { journal: chainJson(journal) };
    json.push({ ...chainJson(chain), before: chain.before, ...told });
  }
  const isDamaged = !isWhole;
  const missing = missingIn(heads?.audit, await Promise.all(chains.map(replicaOf)));
  lines.push(...missing.map(({ text }) => text));
  isWhole &&= missing.length === 0;
  if (options.choice('output') === 'json') {
    const [only] = json;
    const missed = heads === undefined ? {} : { missing: missing.map(({ replica, line }) => ({ replica, line })) };
    print(context, json.length === 1 ? { ...only, isWhole, ...missed } : { isWhole, chains: json, ...missed });
  } else for (const line of lines) context.stdout.write(`${line}\n`);
  if (log.note !== undefined) context.stderr.write(`${log.note}\n`);
  if (isDamaged) context.stderr.write(`${afterDamage}\n`);
  return isWhole ? exitCodes.fine : exitCodes.input;
}

interface Chain {
  isWhole: boolean;
  before: Before;
  found: Found[];
  /** What lines of the log say of lines that a start has missed. */
  lost: readonly LossNoted[];
  /** What the store says of it. */
  seen: { text: string; json: object } | undefined;
}

async function chainIn(
  context: Context,
  { options, log, folder, heads }: { options: Options; log: Log; folder: string; heads: Heads | undefined },
): Promise<Chain> {
  const names = options.operands.length === 0 ? await filesIn(folder) : options.operands;
  return verified(context, { names, log, folder, heads, last: options.text('last'), what: 'log' });
}

async function journalIn(
  context: Context,
  { log, folder, heads }: { log: Log; folder: string; heads: Heads },
): Promise<Chain> {
  const names = (await chainFiles(folder, revocationsName)).map((name) => join(folder, name));
  return verified(context, { names, log, folder, heads, last: undefined, what: 'journal of revocations' });
}

async function verified(
  context: Context,
  { names, log, folder, heads, last, what }: Checked & { what: string },
): Promise<Chain> {
  const files = names.map((name) => ({ name, read: () => context.files.read(resolve(context.cwd, name)) }));
  const replica = heads && (await replicaOf(folder));
  const known = replica === undefined ? undefined : heads?.get(replica);
  const found = await verifyFiles(files, { digest: log.digest, known, ...(last === undefined ? {} : { last }) });
  const results = found.map(({ result }) => result);
  const isUnbroken = results.every(({ kind }) => kind === 'whole');
  const end = results.at(-1) ?? { kind: 'whole', state: beginning };
  const head = end.kind === 'whole' ? { line: end.state.next - 1, digest: end.state.previous } : undefined;
  const isCut = head !== undefined && lostEnd(what, head, known) !== undefined;
  const seen =
    known === undefined
      ? undefined
      : {
          text: isCut
            ? `replica ${replica}: the ${what} ends with line ${head.line}, and the store has seen line ${known.line}: its end was cut off`
            : `replica ${replica}: the store has seen line ${known.line} of the ${what}`,
          json: { replica, seenLine: known.line, isCut },
        };
  const lost = results.flatMap((result) => (result.kind === 'whole' ? result.losses : []));
  return { isWhole: isUnbroken && !isCut && lost.length === 0, before: linesBefore(results), found, seen, lost };
}

interface Checked {
  names: readonly string[];
  log: Log;
  folder: string;
  heads: Heads | undefined;
  last: string | undefined;
}

/** By replica. */
type Heads = ReadonlyMap<string, ChainHead>;

async function headsOf(
  context: Context,
  options: Options,
  { store }: Log,
): Promise<{ audit: Heads; journal: Heads } | undefined> {
  if (!options.has('store')) return undefined;
  if (store === undefined)
    throw new CommandFault(exitCodes.input, 'the configuration has no store in a cluster, which would know the end', {
      hint: 'leave --store out, and give the digest of the last line with --last',
    });
  const { clock, environment } = context;
  const replicas = await knownReplicas(store, { clock, environment }).catch((cause: Error) => {
    throw new CommandFault(exitCodes.environment, cause.message, { cause });
  });
  const of = (chain: 'audit' | 'journal'): Heads =>
    new Map([...replicas].flatMap(([replica, { [chain]: head }]) => (head === undefined ? [] : [[replica, head]])));
  return { audit: of('audit'), journal: of('journal') };
}

function missingIn(heads: Heads = new Map(), given: readonly (string | undefined)[]) {
  return [...heads]
    .filter(([replica, { line }]) => line > 0 && !given.includes(replica))
    .map(([replica, { line }]) => ({
      ...{ replica, line },
      text: `replica ${replica}: its log of ${line} lines is in none of these folders: name its dataDir with --replica, or delete the Secret hostward-replica-${replica} of a replica that is gone for good`,
    }));
}

const afterDamage =
  'keep the files as they are, and compare them with the copies in your log storage: somebody changed them, or the disk did';

interface Log {
  folder: string;
  digest: Digest;
  removedBecause: string;
  note?: string;
  store?: KubernetesStoreSettings | undefined;
}

const noteOfDirect =
  'this is the log of a direct endpoint, which holds no secret: the check finds damage, but not lines that somebody has written again with their digests; compare with the lines that the platform has in its own log';

async function logOf(context: Context, options: Options): Promise<Log> {
  const paths = options.texts('config');
  const { direct, management } =
    paths.length === 0 ? { direct: undefined, management: undefined } : await requireManagement(context, paths);
  if (options.has('direct') && direct === undefined)
    throw new CommandFault(paths.length === 0 ? exitCodes.usage : exitCodes.input, 'there is no hostward.direct', {
      hint: 'give --config FILE with the block hostward.direct',
    });
  if (direct !== undefined && (options.has('direct') || management === undefined))
    return {
      folder: direct.dataDir,
      digest: plainDigest,
      removedBecause: 'because an endpoint keeps ten full files',
      note: noteOfDirect,
    };
  const { server } = await configuredServer(context, options);
  const digest = keyedDigest(await auditKeyIn(secretsFolder(server)));
  const removedBecause = 'as hostward.management.audit.keepFiles wants';
  return { folder: server.dataDir, digest, removedBecause, store: server.store?.kubernetes };
}

/** Full files are in the folder of the one that is written now. */
async function filesIn(folder: string): Promise<string[]> {
  const names = await chainFiles(folder, auditName);
  return (names.length === 0 ? [`${auditName}.log`] : names).map((name) => join(folder, name));
}

async function auditKeyIn(folder: string): Promise<Uint8Array> {
  const secrets = await readSecrets(folder).catch((cause: Error) => {
    throw new CommandFault(exitCodes.environment, cause.message, { cause });
  });
  if (secrets !== undefined) return secrets.auditKey;
  throw new CommandFault(exitCodes.environment, `there are no secrets in ${folder}, so that nothing can be proved`, {
    hint: 'run the command where the management API keeps its dataDir',
  });
}

interface Found {
  name: string;
  result: VerifiedChain;
}

function beforeText(before: Before, removedBecause: string): string[] {
  switch (before.kind) {
    case 'nothing':
      return [];
    case 'removed':
      return [`lines 1 to ${before.through} were removed on ${before.time}, ${removedBecause}`];
    case 'elsewhere':
      return [
        `lines 1 to ${before.through} are in other files: name these files too, or note that somebody moved them away`,
      ];
    default:
      return before satisfies never;
  }
}

function fileText({ name, result }: Found): string {
  if (result.kind === 'broken') return `${name}:${result.line}: ${result.reason}`;
  const torn = result.torn ? '; the end of the last line is missing, as after a crash or in the middle of a write' : '';
  return `${name}: ${result.lines} lines, whole${torn}; last ${result.state.previous}`;
}

/** For as long as the file with this line is kept. */
function lostText({ of, after, seen, time }: LossNoted): string {
  return `the start at ${time} has found the end of the ${of} cut off: it ended with line ${after}, and the store had seen line ${seen}`;
}

function chainJson({ isWhole, found, lost, seen }: Chain): object {
  return { isWhole, files: found.map(fileJson), ...(lost.length > 0 && { lost }), ...seen?.json };
}

function fileJson({ name, result }: Found): object {
  if (result.kind === 'broken') return { name, isWhole: false, line: result.line, reason: result.reason };
  const { lines, torn, state } = result;
  return { name, isWhole: true, lines, isTorn: torn, last: state.previous };
}

function print(context: Context, value: object): void {
  context.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
