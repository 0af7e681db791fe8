// `hostward run`: the daemon from its configuration to its last word. In: options and signals. Out: a log on standard output,
// the local HTTP port, and an exit code. Must never know what is synced, nor how.

import { type Fault, formatFault } from '../config/fault.ts';
import { watchConfiguration } from '../config/load/watch-files.ts';
import { parseListen } from '../config/settings/text-rules.ts';
import type { Daemon } from '../daemon/daemon-options.ts';
import { measureEventLoopDelay, measureUtilization } from '../daemon/event-loop-delay.ts';
import { giveBackMemory, heapOf } from '../daemon/give-back-memory.ts';
import { OperationsServer } from '../daemon/operations-server.ts';
import { createLog, type Log, type LogLevel } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { clusterFault } from './line/cluster-fault.ts';
import { type Context, type ExitCode, exitCodes } from './line/context.ts';
import { durationMs } from './line/duration.ts';
import { LineBatch } from './line/line-batch.ts';
import { prepareLoad, requireGood } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';

export async function run(context: Context, options: Options): Promise<ExitCode> {
  const waitMs = durationMs('wait', options.text('wait') ?? '0');
  const prepared = await prepareLoad(context, options);
  const loaded = requireGood(context, prepared.loaded);
  const { settings, warnings, compiled } = loaded;
  const lines = new LineBatch((text) => context.stdout.write(text));
  // Whatever ends the process: the lines that explain it are out before.
  const forgetEnd = context.onEnd(() => lines.flush());
  const log = createLog({
    level: logLevelOf(settings.logLevel, options),
    destination: { write: (line) => lines.add(line) },
  });
  const notes = new ConfigurationNotes(log);
  notes.take(warnings);
  const metrics = createMetrics();
  const eventLoop = measureEventLoopDelay(metrics);
  const memory = giveBackMemory({ clock: context.clock, busy: measureUtilization(), heap: heapOf(globalThis.gc) });
  const rooms = await context.loadRooms();
  const isDryRun = options.has('dry-run');
  const { clock, random, environment, version, nodePath } = context;
  const daemon = rooms.assembleDaemon({
    settings,
    patches: compiled,
    isDryRun,
    waitMs,
    log,
    clock,
    random,
    metrics,
    environment,
    version,
    nodePath,
  });
  const operations = new OperationsServer(parseListen(settings.listen) as { host: string; port: number }, {
    health: () => daemon.health(),
    readiness: () => daemon.readiness(),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.metrics() }),
    status: () => ({ ...(daemon.status() as object), ...notes.status() }),
    objectStatus: (key) => daemon.objectStatus(key),
  });
  const watch = watchConfiguration({
    paths: prepared.paths,
    initial: { files: prepared.files, settings },
    clock,
    read: context.files.readConfiguration,
    load: prepared.loadInTurns,
    onChange: (change) => {
      switch (change.kind) {
        case 'changed': {
          log.level = logLevelOf(change.loaded.settings.logLevel, options);
          notes.refused = undefined;
          notes.take(change.loaded.warnings);
          const { needsRestart } = daemon.apply(change.loaded.settings, change.loaded.compiled);
          const changed = change.changes.flatMap(({ paths }) => paths);
          log.info({ component: 'config', changed, needsRestart }, 'configuration taken over');
          return;
        }
        case 'unchanged':
          notes.refused = undefined;
          return log.info({ component: 'config' }, 'configuration unchanged');
        case 'invalid':
          notes.refused = change.faults.map((fault) => formatFault(fault));
          return sayInvalid(
            log,
            change.faults.map((fault) => formatFault(fault, change.texts)),
          );
        default:
          return change satisfies never;
      }
    },
  });
  // Listened to before anything is begun: a pod may be told to stop while it starts.
  const stopped = stopAsked(context);
  const forgetReload = context.onSignal('reload', () => void watch.reload());
  try {
    await operations.start();
    log.info({ component: 'main', version, isDryRun, listen: settings.listen }, 'starting');
    return await untilStopped(daemon, stopped, { log, begun: () => watch.start() });
  } finally {
    forgetReload();
    await watch.stop();
    await daemon.stop();
    await operations.stop();
    eventLoop.stop();
    memory.stop();
    log.info({ component: 'main' }, 'stopped');
    lines.flush();
    forgetEnd();
  }
}

/** Warnings of the configuration in force: each told once in the log, all of them in status, with the faults of a newer one. */
class ConfigurationNotes {
  /** Why the files as they are now are not what is running. */
  refused: readonly string[] | undefined;
  readonly #log: Log;
  readonly #told = new Set<string>();
  #now: readonly string[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  take(warnings: readonly Fault[]): void {
    this.#now = warnings.map((warning) => formatFault(warning));
    for (const warning of this.#now) {
      if (this.#told.has(warning)) continue;
      this.#told.add(warning);
      this.#log.warn({ component: 'config', warning }, 'configuration warning');
    }
  }

  status(): { newConfigurationIsInvalid?: readonly string[]; warnings?: readonly string[] } {
    return {
      ...(this.refused && { newConfigurationIsInvalid: this.refused }),
      ...(this.#now.length > 0 && { warnings: this.#now }),
    };
  }
}

async function untilStopped(
  daemon: Daemon,
  stopped: Promise<void>,
  on: { log: Log; begun(): void },
): Promise<ExitCode> {
  const started = await Promise.race([daemon.start(), stopped]);
  if (started === undefined) return exitCodes.fine;
  if (started.kind === 'faults') throw clusterFault(started.faults);
  on.begun();
  const why = await Promise.race([stopped, daemon.ended]);
  if (why === undefined) return exitCodes.fine;
  on.log.error({ component: 'main', why }, 'the daemon cannot go on');
  return exitCodes.environment;
}

/** The listener stays: a second Ctrl-C must not cut short a drain that is bounded anyway. */
function stopAsked(context: Context): Promise<void> {
  return new Promise((resolve) => context.onSignal('stop', resolve));
}

function logLevelOf(level: LogLevel, options: Options): LogLevel {
  return options.has('verbose') && level === 'info' ? 'debug' : level;
}

function sayInvalid(log: Log, faults: readonly string[]): void {
  log.error({ component: 'config', faults }, 'new configuration is invalid, the old one stays');
}
