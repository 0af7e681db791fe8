// `hostward direct`: serves a direct endpoint beside a cluster until it is told to stop. In: the configuration. Out: a log on standard
// output, and an exit code.
import { type ClusterFault, messageOf } from '../../cluster/errors.ts';
import { createLog } from '../../log.ts';
import { clusterFault } from '../line/cluster-fault.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { requireManagement } from '../line/load-settings.ts';
import type { Options } from '../line/parse-arguments.ts';

export async function direct(context: Context, options: Options): Promise<ExitCode> {
  const paths = options.texts('config');
  if (paths.length === 0)
    throw new CommandFault(exitCodes.usage, 'say which direct endpoint is meant', {
      hint: 'give --config FILE with the block hostward.direct',
    });
  const { direct: settings, logLevel } = await requireManagement(context, paths);
  if (settings === undefined)
    throw new CommandFault(exitCodes.input, 'the configuration has no hostward.direct', {
      hint: 'see docs/direct-endpoints.md for the block that configures a direct endpoint',
    });
  const log = createLog({ level: logLevel, destination: { write: (line) => context.stdout.write(line) } });
  const [{ DirectEndpoint }, { FailedLogins }] = await Promise.all([
    import('../../management/direct/direct-endpoint.ts'),
    import('../../management/server/failed-logins.ts'),
  ]);
  const { clock, environment } = context;
  const { failed } = new FailedLogins(clock);
  const endpoint = new DirectEndpoint({ settings, environment, clock, log, failedLogin: failed });
  // Listens before the start, because a pod may be told to stop while it starts.
  const stopped = new Promise<void>((resolve) => context.onSignal('stop', resolve));
  try {
    await Promise.race([endpoint.start(), stopped]);
    await stopped;
  } catch (error) {
    throw clusterFault([startFault(error)]);
  } finally {
    await endpoint.stop();
  }
  log.info({ component: 'direct' }, 'stopped');
  return exitCodes.fine;
}

function startFault(error: unknown): ClusterFault {
  const message = `starting the direct endpoint: ${messageOf(error)}`;
  const fix = 'check hostward.direct.listen, hostward.direct.tls and hostward.direct.dataDir';
  return { code: 'DIRECT_NOT_STARTED', message, fix };
}
