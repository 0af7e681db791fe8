// `hostward run`: starts, reloads and stops the daemon. In: options and signals. Out: a log on standard output, the local HTTP
// port, and an exit code. This file must never know what the daemon syncs.

import { fromSetting } from '../apiserver/wire/listen.ts';
import { type ConfigurationWatch, watchConfiguration } from '../config/load/watch-files.ts';
import type { Settings } from '../config/settings/settings.ts';
import { parseListen } from '../config/settings/text-rules.ts';
import { OperationsServer } from '../daemon/operations/operations-server.ts';
import type { CreateManagement, Daemon, DaemonOptions } from '../daemon/options/daemon-options.ts';
import { measureEventLoopDelay } from '../daemon/process/event-loop-delay.ts';
import { keepMemorySmall } from '../daemon/process/keep-memory-small.ts';
import { createLog, type Log, type LogFormat, type LogLevel, textLine, wantsText } from '../log.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { Assets } from '../pages/frame/assets.ts';
import { Pages } from '../pages/pages.ts';
import { newToken, Playground, playgroundPath } from '../pages/playground/playground.ts';
import type { ObjectFilter } from '../sync/report/object-list.ts';
import { auditSpaceWarnings } from './line/audit-space.ts';
import { clusterFault } from './line/cluster-fault.ts';
import { ConfigurationNotes } from './line/configuration-notes.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import { durationMs } from './line/duration.ts';
import { LineBatch } from './line/line-batch.ts';
import { type LoadedAll, prepareLoad, requireGood } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';
import { declareProcessMetrics } from './line/process-metrics.ts';
import { Evaluations } from './offline/playground/evaluations.ts';
import { startedAsOf } from './running/started-as.ts';

export async function run(context: Context, options: Options): Promise<ExitCode> {
  const { log, lines, forgetEnd, useFormat } = openLog(context);
  try {
    const code = await runDaemon(context, options, { log, useFormat });
    // Not after a fault, which is logged later: the last line gives the reason for the end.
    log.info({ component: 'main' }, 'stopped');
    return code;
  } finally {
    lines.flush();
    forgetEnd();
  }
}

async function runDaemon(context: Context, options: Options, { log, useFormat }: OpenLog): Promise<ExitCode> {
  const waitMs = durationMs('wait', options.text('wait') ?? '0');
  const prepared = await prepareLoad(context, options);
  const loaded = requireGood(prepared.loaded);
  const { settings } = loaded;
  refuseDirectAlone(settings);
  log.level = logLevelOf(settings.logLevel, options);
  useFormat(settings.logFormat);
  const metrics = createMetrics();
  declareProcessMetrics(metrics, context);
  const startedAs = startedAsOf(context, options, { settings, podNamespace: prepared.podNamespace });
  const notes = new ConfigurationNotes(log, metrics, { clock: context.clock, startedAs });
  notes.warn([...loaded.warnings, ...(await auditSpaceWarnings(context, loaded))]);
  const eventLoop = measureEventLoopDelay(metrics);
  const memory = keepMemorySmall(context.clock, globalThis.gc);
  const isDryRun = options.has('dry-run');
  const daemon = await assemble(context, loaded, { isDryRun, waitMs, log, metrics });
  const playground = settings.playground ? openPlayground(context, log) : undefined;
  const operations = openOperations(context, daemon, { settings, metrics, notes, playground });
  const watch = watchFiles(context, prepared, { options, daemon, settings, log, useFormat, notes });
  // Listens before the start, because a pod may be told to stop while it starts.
  const stopped = stopRequested(context);
  const forgetReload = context.onSignal('reload', () => {
    daemon.rereadKubeconfigs();
    void watch.reload();
  });
  try {
    await operations.start().catch(fromSetting('hostward.listen'));
    log.info({ component: 'main', version: context.version, isDryRun, listen: settings.listen }, 'starting');
    return await untilStopped(daemon, stopped, () => watch.start());
  } finally {
    forgetReload();
    await watch.stop();
    await daemon.stop();
    await operations.stop();
    await playground?.stop();
    eventLoop.stop();
    memory.stop();
  }
}

async function assemble(
  { loadDaemon, clock, random, environment, version, nodePath }: Context,
  { settings, compiled }: Extract<LoadedAll, { kind: 'ok' }>,
  how: Pick<DaemonOptions, 'isDryRun' | 'waitMs' | 'log' | 'metrics'>,
): Promise<Daemon> {
  const { assembleDaemon } = await loadDaemon();
  return assembleDaemon({
    ...how,
    settings,
    patches: compiled,
    clock,
    random,
    environment,
    version,
    nodePath,
    createManagement,
  });
}

function openOperations(
  { clock }: Context,
  daemon: Daemon,
  {
    settings,
    metrics,
    notes,
    playground,
  }: { settings: Settings; metrics: Metrics; notes: ConfigurationNotes; playground: OpenPlayground | undefined },
): OperationsServer {
  const { listen, listenNames } = settings;
  const address = parseListen(listen) as { host: string; port: number };
  const status = (): unknown => notes.addTo(daemon.status() as object);
  const answers = {
    health: () => daemon.health(),
    readiness: () => notes.addToReadiness(daemon.readiness()),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.metrics() }),
    status,
    objects: (filter: ObjectFilter) => daemon.objects(filter),
    objectStatus: (key: string) => daemon.objectStatus(key),
    unread: () => daemon.pageFacts.unread(),
  };
  return new OperationsServer(address, answers, {
    pages: new Pages(
      { clock, status, facts: daemon.pageFacts, port: () => address.port, links: playground?.links ?? [] },
      playground?.assets,
    ),
    playground: playground?.routes,
    names: listenNames,
  });
}

interface OpenPlayground {
  routes: Playground;
  assets: Assets;
  links: readonly { path: string; words: string }[];
  stop(): Promise<void>;
}

/** Its thread starts with the first evaluation. The token goes to programs on this machine alone, as the status does. */
function openPlayground(context: Context, log: Log): OpenPlayground {
  const [token, assets, evaluations] = [newToken(), new Assets(), new Evaluations({ ...context, isSecond: true })];
  log.info(
    { component: 'main', path: playgroundPath },
    'the playground is served; its link with the token is on the status page',
  );
  return {
    routes: new Playground({ evaluate: evaluations.evaluate, token, isAlone: false, assets }),
    assets,
    links: [{ path: `${playgroundPath}#token=${token}`, words: 'Playground' }],
    stop: () => evaluations.stop(),
  };
}

interface Watched extends OpenLog {
  options: Options;
  daemon: Daemon;
  settings: Settings;
  notes: ConfigurationNotes;
}

/** Brings every valid new version of the files into the daemon, and notes the others. */
function watchFiles(
  { clock, files }: Context,
  prepared: Awaited<ReturnType<typeof prepareLoad>>,
  { options, daemon, settings, log, useFormat, notes }: Watched,
): ConfigurationWatch {
  return watchConfiguration({
    paths: prepared.paths,
    initial: { files: prepared.files, settings },
    clock,
    read: files.readConfiguration,
    load: prepared.loadInTurns,
    onChange: (change) => {
      switch (change.kind) {
        case 'changed': {
          log.level = logLevelOf(change.loaded.settings.logLevel, options);
          useFormat(change.loaded.settings.logFormat);
          notes.warn(change.loaded.warnings);
          const { needsRestart, inForce } = daemon.apply(change.loaded.settings, change.loaded.compiled);
          return notes.accepted({ changed: change.changes.flatMap(({ paths }) => paths), needsRestart }, inForce);
        }
        case 'unchanged':
          return notes.unchanged();
        case 'invalid':
          return notes.rejected(change.faults, change.texts);
        default:
          return change satisfies never;
      }
    },
  });
}

interface OpenLog {
  log: Log;
  useFormat(format: LogFormat): void;
}

/** Opens the log before anything can fail, so that the log holds the reason for every exit in the words of standard error. */
function openLog(context: Context): OpenLog & { lines: LineBatch; forgetEnd(): void } {
  const lines = new LineBatch((text) => context.stdout.write(text));
  let isText = wantsText('auto', context.stdout);
  const write = (line: string) => lines.add(isText ? textLine(line) : line);
  const log = createLog({ level: 'info', destination: { write } });
  const useFormat = (format: LogFormat) => {
    isText = wantsText(format, context.stdout);
  };
  context.faultListeners.add(({ sentence, details, exitCode }) => {
    const faults = details.length > 0 && { faults: details };
    log.fatal({ component: 'main', why: sentence, ...faults, exitCode }, 'the daemon cannot go on');
    lines.flush();
  });
  // The last lines must be written before the process ends, because they explain the exit.
  return { log, lines, useFormat, forgetEnd: context.onEnd(() => lines.flush()) };
}

async function untilStopped(daemon: Daemon, stopped: Promise<void>, onStarted: () => void): Promise<ExitCode> {
  const started = await Promise.race([daemon.start(), stopped]);
  if (started === undefined) return exitCodes.fine;
  if (started.kind === 'faults') throw clusterFault(started.faults);
  onStarted();
  const why = await Promise.race([stopped, daemon.ended]);
  if (why === undefined) return exitCodes.fine;
  throw new CommandFault(exitCodes.environment, why);
}

/** The listener stays, so that a second Ctrl-C does not cut the drain short; the drain has a limit of its own. */
function stopRequested(context: Context): Promise<void> {
  return new Promise((resolve) => context.onSignal('stop', resolve));
}

/** Such a file is for another command. This one would do nothing with it, and nobody would notice. */
function refuseDirectAlone({ direct, management, virtualClusterName }: Settings): void {
  if (direct === undefined || management !== undefined || virtualClusterName !== '') return;
  throw new CommandFault(exitCodes.input, 'the configuration has only hostward.direct, and nothing to sync or serve', {
    hint: 'hostward direct --config FILE serves a direct endpoint',
  });
}

function logLevelOf(level: LogLevel, options: Options): LogLevel {
  return options.has('verbose') && level === 'info' ? 'debug' : level;
}

/** Loads the management API on demand: a daemon that only syncs does without the memory of a server and a database. */
const createManagement: CreateManagement = async (options) => {
  const { ManagementApi } = await import('../management/server/server.ts');
  return new ManagementApi(options);
};
