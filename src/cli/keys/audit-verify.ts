// `hostward audit verify`: whether the audit log of the management API, or of a direct endpoint, is as it was written. In: the files,
// oldest first, and for the management API the secret that proves them. Out: what is whole, and the first line that is not.
import { join, resolve } from 'node:path';
import { type Digest, keyedDigest, plainDigest } from '../../management/audit/chain/chain.ts';
import { chainFiles } from '../../management/audit/chain/chain-file.ts';
import { type Before, linesBefore, type VerifiedChain, verifyFiles } from '../../management/audit/chain/verify.ts';
import { auditName, readSecrets } from '../../management/keys/folder/data-folder.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { requireManagement } from '../line/load-settings.ts';
import type { Options } from '../line/parse-arguments.ts';
import { configuredServer } from './client/reach-server.ts';

export async function auditVerify(context: Context, options: Options): Promise<ExitCode> {
  const { folder, digest, removedBecause, note } = await logOf(context, options);
  const names = options.operands.length === 0 ? await filesIn(folder) : options.operands;
  const files = names.map((name) => ({ name, read: () => context.files.read(resolve(context.cwd, name)) }));
  const last = options.text('last');
  const found = await verifyFiles(files, { digest, ...(last === undefined ? {} : { last }) });
  const before = linesBefore(found.map(({ result }) => result));
  const isWhole = found.every(({ result }) => result.kind === 'whole');
  if (options.choice('output') === 'json') print(context, { isWhole, before, files: found.map(fileJson) });
  else
    for (const line of [...beforeText(before, removedBecause), ...found.map(fileText)])
      context.stdout.write(`${line}\n`);
  if (note !== undefined) context.stderr.write(`${note}\n`);
  if (!isWhole) context.stderr.write(`${afterDamage}\n`);
  return isWhole ? exitCodes.fine : exitCodes.input;
}

const afterDamage =
  'keep the files as they are, and compare them with the copies in your log storage: somebody changed them, or the disk did';

interface Log {
  folder: string;
  digest: Digest;
  removedBecause: string;
  note?: string;
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
  const digest = keyedDigest(await auditKeyIn(server.dataDir));
  return { folder: server.dataDir, digest, removedBecause: 'as hostward.management.audit.keepFiles wants' };
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

function fileJson({ name, result }: Found): object {
  if (result.kind === 'broken') return { name, isWhole: false, line: result.line, reason: result.reason };
  const { lines, torn, state } = result;
  return { name, isWhole: true, lines, isTorn: torn, last: state.previous };
}

function print(context: Context, value: object): void {
  context.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
