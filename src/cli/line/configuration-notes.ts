// What an operator must know of the configuration while the daemon runs: warnings, a newer version that was refused, settings
// that wait for a restart. In: every reading of the files. Out: log lines, series, and what status and its verdict add. None of
// it changes readiness: the configuration in force is a good one.
import { Counter, Gauge } from 'prom-client';
import { type Fault, formatFault } from '../../config/fault.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';

export interface NotesInStatus {
  newConfigurationIsInvalid?: readonly string[];
  settingsWaitForRestart?: readonly string[];
  warnings?: readonly string[];
}

export class ConfigurationNotes {
  readonly #log: Log;
  readonly #reloads: Counter<'result'>;
  /** Warnings that the log has already. */
  readonly #told = new Set<string>();
  #warnings: readonly string[] = [];
  #refused: readonly string[] = [];
  #waitsForRestart: readonly string[] = [];

  constructor(log: Log, metrics: Metrics) {
    this.#log = log;
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

  /** Of the configuration in force; each warning is told once in the log, and stands in status for as long as it is true. */
  warn(warnings: readonly Fault[]): void {
    this.#warnings = warnings.map((warning) => formatFault(warning));
    for (const warning of this.#warnings) {
      if (this.#told.has(warning)) continue;
      this.#told.add(warning);
      this.#log.warn({ component: 'config', warning }, 'configuration warning');
    }
  }

  accepted(change: { changed: readonly string[]; needsRestart: readonly string[] }): void {
    this.#reloads.inc({ result: 'accepted' });
    this.#refused = [];
    const isNews = change.needsRestart.some((setting) => !this.#waitsForRestart.includes(setting));
    this.#waitsForRestart = change.needsRestart;
    this.#log.info({ component: 'config', ...change }, 'configuration taken over');
    if (isNews) this.#log.warn({ component: 'config', settings: change.needsRestart }, 'settings wait for a restart');
  }

  /** The same settings as before, whatever was refused in between. */
  unchanged(): void {
    this.#reloads.inc({ result: 'accepted' });
    this.#refused = [];
    this.#log.info({ component: 'config' }, 'configuration unchanged');
  }

  /** `texts`: with the lines that are at fault. */
  rejected(faults: readonly Fault[], texts: Parameters<typeof formatFault>[1]): void {
    this.#reloads.inc({ result: 'rejected' });
    this.#refused = faults.map((fault) => formatFault(fault));
    const shown = faults.map((fault) => formatFault(fault, texts));
    this.#log.error({ component: 'config', faults: shown }, 'new configuration is invalid, the old one stays');
  }

  /** The daemon's own status, with the verdict first and what must be said of the configuration behind it. */
  addTo(status: object): object {
    const { verdict, ...rest } = status as { verdict?: { isWell: boolean; sentence: string } };
    const sentences = [
      ...(this.#refused.length > 0 ? ['the new configuration is invalid and the old one is in force'] : []),
      ...(this.#waitsForRestart.length > 0 ? [`waiting for a restart: ${this.#waitsForRestart.join(', ')}`] : []),
    ];
    const added = verdict && {
      ...verdict,
      isWell: verdict.isWell && sentences.length === 0,
      sentence: [verdict.sentence, ...sentences].join('; '),
    };
    return { ...(added && { verdict: added }), ...rest, ...this.#notes() };
  }

  #notes(): NotesInStatus {
    return {
      ...(this.#refused.length > 0 && { newConfigurationIsInvalid: this.#refused }),
      ...(this.#waitsForRestart.length > 0 && { settingsWaitForRestart: this.#waitsForRestart }),
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
    };
  }
}
