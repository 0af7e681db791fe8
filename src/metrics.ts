// The registry for the metrics of all rooms. A room declares its series in its own metrics.ts, as a function of this registry,
// and sets every known label value at start, so that an event that never happened reads 0 instead of being absent.
import { Counter, Gauge, Registry } from 'prom-client';

export type Metrics = Registry;

export function createMetrics(): Metrics {
  return new Registry();
}

export interface ReadSeries {
  name: string;
  help: string;
  labels: Record<string, string>;
  /** The value only grows while the process runs. The name of such a series ends in `_total`, and no other name does. */
  isCounter?: boolean;
  /** Called at each scrape, because updating the series with every object would cost too much. */
  read: () => number;
}

/** Declares one series that is read at each scrape; the same name may be declared again with other label values. */
export function readSeries(metrics: Metrics, { name, help, labels, isCounter = false, read }: ReadSeries): void {
  const known = metrics.getSingleMetric(name);
  const given = { name, help, labelNames: Object.keys(labels), metrics };
  const metric =
    known instanceof ReadGauge || known instanceof ReadCounter
      ? known
      : isCounter
        ? new ReadCounter(given)
        : new ReadGauge(given);
  metric.series.set(JSON.stringify(labels), { labels, read });
}

export interface Tally {
  /** The sum for one value of the label. */
  of(value: string): TallySum;
}

export interface TallySum {
  /** Raised by the caller; set back to 0 at each scrape. */
  sum: number;
}

/** A counter for hot code, by one label: callers raise a plain number, and each scrape adds the number to the series. */
export function openTally(metrics: Metrics, options: { name: string; help: string; label: string }): Tally {
  return tallyCounter(metrics, options);
}

/** A tally without a label. */
export function openSum(metrics: Metrics, options: { name: string; help: string }): TallySum {
  return tallyCounter(metrics, { ...options, label: undefined }).of('');
}

function tallyCounter(metrics: Metrics, options: { name: string; help: string; label: string | undefined }) {
  const known = metrics.getSingleMetric(options.name);
  return known instanceof TallyCounter ? known : new TallyCounter({ ...options, metrics });
}

class TallyCounter extends Counter implements Tally {
  readonly #sums: Map<string, TallySum>;

  constructor(options: { name: string; help: string; label: string | undefined; metrics: Metrics }) {
    const { name, help, label, metrics } = options;
    const sums = new Map<string, TallySum>();
    super({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [metrics],
      collect() {
        for (const [value, one] of sums) {
          this.inc(label === undefined ? {} : { [label]: value }, one.sum);
          one.sum = 0;
        }
      },
    });
    this.#sums = sums;
  }

  of(value: string): TallySum {
    const known = this.#sums.get(value);
    if (known !== undefined) return known;
    const sum = { sum: 0 };
    this.#sums.set(value, sum);
    return sum;
  }
}

type SeriesByLabels = Map<string, Pick<ReadSeries, 'labels' | 'read'>>;

interface ReadOptions {
  name: string;
  help: string;
  labelNames: string[];
  metrics: Metrics;
}

class ReadGauge extends Gauge {
  readonly series: SeriesByLabels;

  constructor({ name, help, labelNames, metrics }: ReadOptions) {
    const series: SeriesByLabels = new Map();
    super({
      name,
      help,
      labelNames,
      registers: [metrics],
      collect() {
        for (const { labels, read } of series.values()) this.set(labels, read());
      },
    });
    this.series = series;
  }
}

class ReadCounter extends Counter {
  readonly series: SeriesByLabels;

  constructor({ name, help, labelNames, metrics }: ReadOptions) {
    const series: SeriesByLabels = new Map();
    super({
      name,
      help,
      labelNames,
      registers: [metrics],
      collect() {
        this.reset();
        for (const { labels, read } of series.values()) this.inc(labels, read());
      },
    });
    this.series = series;
  }
}
