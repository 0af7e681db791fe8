// `hostward store migrate`, `store recover` and `store seal`: what is done to a store while no server runs on it.
import { resolve } from 'node:path';
import type { ManagementServerSettings } from '../../../config/settings/management-settings.ts';
import { silentLog } from '../../../log.ts';
import type { Recovered } from '../../../management/server/moving/recover.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../../line/context.ts';
import { requireManagement } from '../../line/load-settings.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { configuredServer } from '../client/reach-server.ts';
import { doubtedLines, tried } from './restore.ts';

type Done = Extract<Recovered, { kind: 'done' }>;

export async function storeMigrate(context: Context, options: Options): Promise<ExitCode> {
  const [from, to] = [await serverIn(context, options, 'from'), await serverIn(context, options, 'to')];
  const { clock, environment } = context;
  const progress = progressOf(context);
  const run = async () => {
    const { migrate } = await import('../../../management/server/moving/migrate.ts');
    return migrate({ from, to, clock, log: silentLog, environment, progress });
  };
  const migrated = await tried('nothing may be served yet', run, storeFault);
  const { records, digest, revision } = migrated;
  if (options.choice('output') === 'json') context.stdout.write(`${JSON.stringify(migrated, undefined, 2)}\n`);
  else
    context.stdout.write(
      `moved ${records} records, sha256 ${digest}; every resourceVersion is above ${revision}\nthe old store is marked as moved; start the servers with the new configuration\n`,
    );
  return exitCodes.fine;
}

/** A line every few seconds. */
const sayEvery = 5_000;

export async function storeRecover(context: Context, options: Options): Promise<ExitCode> {
  const { server } = await configuredServer(context, options);
  const others = options.texts('journals').map((folder) => resolve(context.cwd, folder));
  const { clock, environment } = context;
  const run = async () => {
    const { recover } = await import('../../../management/server/moving/recover.ts');
    const asked = {
      trustsKeys: options.has('trust-keys'),
      isForced: options.has('force'),
      isDryRun: options.has('dry-run'),
    };
    return recover({ server, others, ...asked, clock, log: silentLog, environment });
  };
  const recovered = await tried('nothing was recovered', run, storeFault);
  if (options.choice('output') === 'json') context.stdout.write(`${JSON.stringify(recovered, undefined, 2)}\n`);
  else {
    const { foundAt, journals, missing, knowsAll } = recovered;
    const lines = [
      ...(recovered.kind === 'judged'
        ? [`nothing was changed; the cluster is at ${foundAt}`]
        : doneLines(recovered, foundAt)),
      ...journals.map(({ folder, journal, until }) =>
        journal.kind === 'whole'
          ? `the journal in ${folder} reaches until ${until}; what was revoked later is not in it`
          : `the journal in ${folder} is ${journal.kind === 'cut' ? 'cut off, or an old copy: the store has seen later lines' : journal.kind}, so revocations may be unknown`,
      ),
      ...missing.map(
        (replica) =>
          `the journal of replica ${replica} is in none of these folders, so revocations may be unknown: give its dataDir with --journals and run this again for what it knows, or delete the Secret hostward-replica-${replica} of one that is gone for good`,
      ),
      ...(knowsAll || options.has('trust-keys') ? [] : disabledLines(recovered.kind)),
    ];
    context.stdout.write(`${lines.join('\n')}\n`);
  }
  return exitCodes.fine;
}

function doneLines({ keys, deleted, changed, disabled, doubted, revision }: Done, foundAt: number): string[] {
  return [
    `${keys} access keys; the cluster was at ${foundAt}, the next resourceVersion is above ${revision}`,
    `revoked again: ${deleted} deleted, ${changed} changed, ${disabled} disabled`,
    ...doubtedLines(doubted),
  ];
}

/** Also a second time with every journal: it cannot be told from a key that somebody has disabled. */
function disabledLines(kind: Recovered['kind']): string[] {
  const what = 'and stay so until an administrator enables them one by one, also when this is run again';
  if (kind === 'judged') return [`so without --dry-run all keys are disabled, ${what}`];
  return [`so all keys are disabled, ${what}`, 'make a key to begin with: hostward keys create NAME --admin'];
}

export async function storeSeal(context: Context, options: Options): Promise<ExitCode> {
  const { server } = await configuredServer(context, options);
  const { clock, environment } = context;
  const run = async () => {
    const { sealStore } = await import('../../../management/server/moving/seal.ts');
    return sealStore({ server, clock, log: silentLog, environment, progress: progressOf(context) });
  };
  const outcome = 'the store is not sealed yet, and no server starts on it if some records are';
  const sealed = await tried(outcome, run, storeFault);
  if (options.choice('output') === 'json') context.stdout.write(`${JSON.stringify(sealed, undefined, 2)}\n`);
  else
    context.stdout.write(
      `sealed ${sealed.records} records; start the servers, all of this version or a newer one\n${sealed.aside === 0 ? '' : `${sealed.aside} records that nobody can read were left as they are\n`}`,
    );
  return exitCodes.fine;
}

function progressOf({ stderr }: Context): (done: number) => void {
  let said = 0;
  return (done) => {
    if (done - said < sayEvery) return;
    said = done;
    stderr.write(`${done} records\n`);
  };
}

async function serverIn(context: Context, options: Options, name: 'from' | 'to'): Promise<ManagementServerSettings> {
  const file = options.text(name);
  if (file === undefined)
    throw new CommandFault(exitCodes.usage, `--${name} is missing`, {
      hint: 'give --from FILE and --to FILE, the configurations of the two stores',
    });
  const { managementServer } = await requireManagement(context, [file]);
  if (managementServer === undefined)
    throw new CommandFault(exitCodes.input, `${file} has no hostward.management`, {
      hint: 'hostward docs settings shows the block that configures the management API',
    });
  return managementServer;
}

function storeFault(code: string, message: string): { message: string; hint: string } | undefined {
  const hint = 'stop every server that uses the store, and look whether the cluster answers';
  return code.startsWith('STORE_') ? { message, hint } : undefined;
}
