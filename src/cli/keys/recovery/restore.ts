// `hostward restore`: puts a backup in place of what lies in dataDir, and says which keys are not as they were in the backup.
import { resolve } from 'node:path';
import { secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Restored } from '../../../management/audit/recovery/restore.ts';
import { RestoreFault } from '../../../management/audit/recovery/restore-fault.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { configuredServer } from '../client/reach-server.ts';

export async function restore(context: Context, options: Options): Promise<ExitCode> {
  const [operand] = options.operands;
  if (operand === undefined)
    throw new CommandFault(exitCodes.usage, 'say which backup to restore', {
      hint: 'give the FOLDER that `hostward backup` has made',
    });
  const { server } = await configuredServer(context, options);
  if (server.store?.kubernetes !== undefined)
    throw new CommandFault(
      exitCodes.input,
      'a backup is restored into a database file, and this configuration has its store in a cluster',
      {
        hint: 'give a configuration without hostward.management.store.kubernetes, then move the records with "hostward store migrate"; a cluster that was set back wants "hostward store recover"',
      },
    );
  const journal = options.texts('journal').map((file) => resolve(context.cwd, file));
  const { dataDir } = server;
  const inUse = {
    message: `the database in ${dataDir} is in use`,
    hint: 'stop the daemon, restore, and start it again',
  };
  const run = async () => {
    const { restore: restoreFrom } = await import('../../../management/audit/recovery/restore.ts');
    return restoreFrom({
      from: resolve(context.cwd, operand),
      dataDir,
      secretsDir: secretsFolder(server),
      journal: journal.length === 0 ? undefined : journal,
      trustsKeys: options.has('trust-keys'),
      clock: context.clock,
    });
  };
  const restored = await tried('nothing was restored', run, (code) => (code === 'STORE_LOCKED' ? inUse : undefined));
  if (options.choice('output') === 'json') context.stdout.write(`${JSON.stringify(restored, undefined, 2)}\n`);
  else context.stdout.write(textOf(restored, options.has('trust-keys')));
  return exitCodes.fine;
}

/** Runs what a command does to a store. A fault of the store ends the command with a sentence that begins with the outcome. */
export async function tried<T>(
  outcome: string,
  run: () => Promise<T>,
  storeFault: (code: string, message: string) => { message: string; hint: string } | undefined,
): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof RestoreFault) {
      const hint = cause.hint === undefined ? {} : { hint: cause.hint };
      throw new CommandFault(exitCodes[cause.side], cause.saysAll ? cause.message : `${outcome}: ${cause.message}`, {
        cause,
        ...hint,
      });
    }
    const { code = '', message = '' } = cause as { code?: string; message?: string };
    const found = storeFault(code, message);
    if (found === undefined) throw cause;
    throw new CommandFault(exitCodes.environment, `${outcome}: ${found.message}`, { cause, hint: found.hint });
  }
}

function textOf(restored: Restored, trustsKeys: boolean): string {
  const { keys, madeAt, deleted, changed, disabled, doubted, revision, movedAside, broughtBack } = restored;
  const lines = [`restored ${keys} access keys as of ${madeAt}; the next resourceVersion is above ${revision}`];
  lines.push(`since the backup ${deleted} of them were deleted and ${changed} changed: they are as they were at last`);
  lines.push(...doubtedLines(doubted));
  const doubt = doubtIn(restored);
  if (doubt !== undefined) {
    const keysNow = trustsKeys
      ? 'the keys are as in the backup, because of --trust-keys'
      : `all keys are disabled, ${disabled} of them by this restore, until an administrator enables them`;
    lines.push(`${doubt}, so revocations may be unknown: ${keysNow}`);
    if (!trustsKeys) lines.push('make a key to begin with: hostward keys create NAME --admin');
  }
  if (broughtBack.length > 0) lines.push(`brought back too: ${broughtBack.join(', ')}`);
  if (movedAside !== undefined) lines.push(`the database that was there before is kept as ${movedAside}`);
  return `${lines.join('\n')}\n`;
}

/** One may have many, as after a backup program has put old records back. */
const mostNamed = 20;

export function doubtedLines(doubted: readonly string[]): string[] {
  if (doubted.length === 0) return [];
  const more = doubted.length > mostNamed ? ` and ${doubted.length - mostNamed} others` : '';
  return [
    `disabled until an administrator enables them, because somebody had edited their records by hand when a replica saw them last: ${doubted.slice(0, mostNamed).join(', ')}${more}`,
  ];
}

function doubtIn({ journal }: Restored): string | undefined {
  switch (journal.kind) {
    case 'whole':
      return undefined;
    case 'absent':
      return journal.file === undefined
        ? 'there is no journal of revocations'
        : `there is no line of a journal of revocations in ${journal.file}`;
    case 'late':
      return `the journal of revocations begins after the backup, at revision ${journal.from}`;
    case 'broken':
      return `the journal of revocations is damaged (${journal.file}:${journal.line}: ${journal.reason})`;
    default:
      return journal satisfies never;
  }
}
