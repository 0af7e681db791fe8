// `hostward direct`: serves a direct endpoint next to a cluster until it is told to stop. In: the configuration. Out: a log on standard
// output, and an exit code.

import type { FailedLogins } from '../../apiserver/limits/failed-logins.ts';
import { NamedFileFault } from '../../apiserver/tls/secret-files.ts';
import { fromSetting, isListenFault } from '../../apiserver/wire/listen.ts';
import { type ClusterFault, messageOf } from '../../cluster/errors.ts';
import type { DirectSettings } from '../../config/settings/management-settings.ts';
import { settingNaming } from '../../config/settings/table/named-files.ts';
import { parseListen } from '../../config/settings/text-rules.ts';
import { OperationsServer } from '../../daemon/operations/operations-server.ts';
import { keepMemorySmall } from '../../daemon/process/keep-memory-small.ts';
import { createLog, textLine, wantsText } from '../../log.ts';
import type { DirectEndpoint } from '../../management/proxy/direct/direct-endpoint.ts';
import { declareDirectMetrics } from '../../management/proxy/direct/direct-metrics.ts';
import { createMetrics } from '../../metrics.ts';
import { clusterFault } from '../line/cluster-fault.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { requireManagement } from '../line/load-settings.ts';
import type { Options } from '../line/parse-arguments.ts';
import { declareProcessMetrics } from '../line/process-metrics.ts';

export async function direct(context: Context, options: Options): Promise<ExitCode> {
  const paths = options.texts('config');
  if (paths.length === 0)
    throw new CommandFault(exitCodes.usage, 'say which direct endpoint is meant', {
      hint: 'give --config FILE with the block hostward.direct',
    });
  const { direct: settings, logLevel, logFormat, listen, listenNames } = await requireManagement(context, paths);
  if (settings === undefined)
    throw new CommandFault(exitCodes.input, 'the configuration has no hostward.direct', {
      hint: 'hostward docs direct-endpoints shows the block that configures a direct endpoint',
    });
  const isText = wantsText(logFormat, context.stdout);
  const write = (line: string) => context.stdout.write(isText ? textLine(line) : line);
  const log = createLog({ level: logLevel, destination: { write } });
  const [direct, logins] = await Promise.all([
    import('../../management/proxy/direct/direct-endpoint.ts'),
    import('../../apiserver/limits/failed-logins.ts'),
  ]);
  const { clock, environment } = context;
  const failedLogins = new logins.FailedLogins(clock);
  const endpoint = new direct.DirectEndpoint({ settings, environment, clock, log, failedLogin: failedLogins.failed });
  const operations = openOperations(context, { endpoint, failedLogins, listen, listenNames, settings });
  const memory = keepMemorySmall(clock, globalThis.gc);
  // Listens before the start, because a pod may be told to stop while it starts.
  const stopped = new Promise<void>((resolve) => context.onSignal('stop', resolve));
  try {
    await operations.start().catch(fromSetting('hostward.listen'));
    await Promise.race([endpoint.start(), stopped]);
    await stopped;
  } catch (error) {
    // The command line names the address, its setting and the cause.
    throw isListenFault(error) ? error : clusterFault([startFault(error, settings)]);
  } finally {
    await operations.stop();
    await endpoint.stop();
    memory.stop();
  }
  log.info({ component: 'direct' }, 'stopped');
  return exitCodes.fine;
}

interface Opened {
  endpoint: DirectEndpoint;
  failedLogins: FailedLogins;
  listen: string;
  listenNames: readonly string[];
  settings: DirectSettings;
}

/** The port of the daemon, with the same paths: probes, metrics and a status for programs on this machine. */
function openOperations(
  context: Context,
  { endpoint, failedLogins, listen, listenNames, settings }: Opened,
): OperationsServer {
  const metrics = createMetrics();
  declareProcessMetrics(metrics, context);
  declareDirectMetrics(metrics, {
    proxied: () => endpoint.proxied,
    feedAgeSeconds: () => endpoint.feedAgeSeconds,
    failedLogins: () => failedLogins.count,
    auditLines: () => endpoint.auditLines,
    connections: () => endpoint.connections,
    isReady: () => endpoint.trouble === undefined,
  });
  const sentence = () => endpoint.trouble ?? `the direct endpoint of ${settings.cluster} accepts tokens`;
  const part = () => ({ name: 'direct', isReady: endpoint.trouble === undefined, lines: [`direct: ${sentence()}`] });
  const answers = {
    health: () => ({ isHealthy: true, lines: [] }),
    readiness: () => ({ ...part(), parts: [part()] }),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.metrics() }),
    status: () => ({
      verdict: { isWell: endpoint.trouble === undefined, sentence: sentence() },
      version: context.version,
      cluster: settings.cluster,
      platform: settings.platform,
      proxied: endpoint.proxied,
      feedHeardSecondsAgo: Math.round(endpoint.feedAgeSeconds * 10) / 10,
      failedAuthentications: failedLogins.count,
    }),
    objects: () => [],
    objectStatus: () => undefined,
  };
  return new OperationsServer(parseListen(listen) as { host: string; port: number }, answers, { names: listenNames });
}

function startFault(error: unknown, settings: DirectSettings): ClusterFault {
  const setting =
    error instanceof NamedFileFault && settingNaming(error.file, settings, ['hostward', 'direct'], error.member);
  const message = `starting the direct endpoint: ${setting ? `${setting}: ` : ''}${messageOf(error)}`;
  const fix = setting
    ? `correct ${setting}, or what it names`
    : 'check hostward.direct.tls and hostward.direct.dataDir';
  return { code: 'DIRECT_NOT_STARTED', message, fix };
}
