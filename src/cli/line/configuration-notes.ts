// Reports on the configuration while the daemon runs: warnings, a rejected new version, settings that wait for a restart. In:
// the result of every reload. Out: log lines, series, and additions to the status and to the lines of the readiness. Whether the daemon
// is ready does not change, because the configuration in force is valid.
import { Counter, Gauge } from 'prom-client';
import type { Clock } from '../../clock.ts';
import { type Fault, formatFault } from '../../config/fault.ts';
import type { Readiness } from '../../daemon/operations/operations-server.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { StartedAs } from '../../sync/report/attention/own-commands.ts';
import type { DatedVerdict } from '../../sync/report/verdict.ts';

export interface NotesInStatus {
  startedAs: StartedAs;
  newConfigurationIsInvalid?: readonly string[];
  settingsWaitForRestart?: readonly string[];
  warnings?: readonly string[];
}

export class ConfigurationNotes {
  readonly #log: Log;
  readonly #reloads: Counter<'result'>;
  /** Warnings that are in the log already. */
  readonly #logged = new Set<string>();
  #warnings: readonly string[] = [];
  /** Those that anybody may read. */
  #open: readonly string[] = [];
  #refused: readonly string[] = [];
  #waitsForRestart: readonly string[] = [];
  readonly #clock: Clock;
  readonly #startedAs: StartedAs;
  /** When the present notes were made, RFC 3339. */
  readonly #since = { refused: '', waits: '' };

  constructor(log: Log, metrics: Metrics, { clock, startedAs }: { clock: Clock; startedAs: StartedAs }) {
    this.#log = log;
    this.#clock = clock;
    this.#startedAs = startedAs;
    const registers = [metrics];
    this.#reloads = new Counter({
      name: 'hostward_config_reloads_total',
      help: 'Changed or reloaded configurations, by whether they were accepted',
      labelNames: ['result'],
      registers,
    });
    for (const result of ['accepted', 'rejected']) this.#reloads.inc({ result }, 0);
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    gauge('hostward_config_rejected', '1 while the files hold a configuration that was rejected', () =>
      this.#refused.length > 0 ? 1 : 0,
    );
    gauge(
      'hostward_config_settings_waiting_for_restart',
      'Settings that have changed and take effect with the next start',
      () => this.#waitsForRestart.length,
    );
  }

  /** Takes the warnings of the configuration in force. The log gets each warning once; status shows it while it is true. */
  warn(warnings: readonly Fault[]): void {
    this.#warnings = warnings.map((warning) => formatFault(warning));
    this.#open = warnings.filter(({ path = '' }) => !/patches/i.test(path)).map((warning) => formatFault(warning));
    for (const warning of this.#warnings) {
      if (this.#logged.has(warning)) continue;
      this.#logged.add(warning);
      this.#log.warn({ component: 'config', warning }, 'configuration warning');
    }
  }

  /** `inForce` as the daemon gives it; a change that does not come into force is told by the daemon. */
  accepted(change: { changed: readonly string[]; needsRestart: readonly string[] }, inForce: Promise<boolean>): void {
    this.#reloads.inc({ result: 'accepted' });
    this.#refused = [];
    const isNews = change.needsRestart.some((setting) => !this.#waitsForRestart.includes(setting));
    if (this.#waitsForRestart.length === 0) this.#since.waits = this.#now();
    this.#waitsForRestart = change.needsRestart;
    this.#log.info({ component: 'config', ...change }, 'configuration accepted');
    if (isNews) this.#log.warn({ component: 'config', settings: change.needsRestart }, 'settings wait for a restart');
    void inForce.then(
      (isIt) => isIt && this.#log.info({ component: 'config', changed: change.changed }, 'configuration applied'),
    );
  }

  /** The files hold the settings in force again, perhaps after a rejected version. */
  unchanged(): void {
    this.#reloads.inc({ result: 'accepted' });
    this.#refused = [];
    this.#log.info({ component: 'config' }, 'configuration unchanged');
  }

  /** `texts` are the contents of the files, for the lines under each fault. */
  rejected(faults: readonly Fault[], texts: Parameters<typeof formatFault>[1]): void {
    this.#reloads.inc({ result: 'rejected' });
    if (this.#refused.length === 0) this.#since.refused = this.#now();
    this.#refused = faults.map((fault) => formatFault(fault));
    const shown = faults.map((fault) => formatFault(fault, texts));
    this.#log.error({ component: 'config', faults: shown }, 'new configuration is invalid, the old one stays');
  }

  #now(): string {
    return this.#clock
      .wallTime()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  }

  /** Adds the notes to the daemon's own status, and to its verdict. */
  addTo(status: object): object {
    const { verdict, ...rest } = status as { verdict?: DatedVerdict };
    return { ...(verdict && { verdict: this.#worsened(verdict) }), ...rest, ...this.#notes() };
  }

  /** What is not well comes before what is. */
  #worsened(verdict: DatedVerdict): DatedVerdict {
    const { refused, waits } = this.#since;
    const notes = [
      ...(this.#refused.length > 0 ? [{ part: this.#refusal(), since: refused }] : []),
      ...(this.#waitsForRestart.length > 0
        ? [{ part: `waiting for a restart: ${this.#waitsForRestart.join(', ')}`, since: waits }]
        : []),
    ];
    if (notes.length === 0) return verdict;
    const own = verdict.parts ?? [{ part: verdict.sentence, since: verdict.since }];
    const parts = verdict.isWell ? [...notes, ...own] : [...own, ...notes];
    const sentence = parts.map(({ part }) => part).join('; ');
    return { ...verdict, isWell: false, sentence, since: (parts[0] as (typeof parts)[0]).since, parts };
  }

  /**
   * Whoever asks why nothing happens looks at the readiness first. What concerns patches is left to the status, which only programs on
   * this machine may read: other pods reach the port too, and patches hold what people hide.
   */
  addToReadiness(readiness: Readiness): Readiness {
    const lines = [
      ...(this.#refused.length > 0 ? ['configuration: the new one is invalid and the old one is in force'] : []),
      ...this.#open.map((warning) => `configuration: ${warning}`),
    ];
    return { ...readiness, lines: [...readiness.lines, ...lines] };
  }

  #refusal(): string {
    const [first, ...others] = this.#refused;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    return `the new configuration is invalid and the old one is in force: ${first}${more}`;
  }

  #notes(): NotesInStatus {
    return {
      ...(this.#refused.length > 0 && { newConfigurationIsInvalid: this.#refused }),
      ...(this.#waitsForRestart.length > 0 && { settingsWaitForRestart: this.#waitsForRestart }),
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
      startedAs: this.#startedAs,
    };
  }
}
