// Keeps the gauges of the syncs current while the daemon runs.
import type { Timer } from '../clock.ts';
import type { Lease } from '../cluster/write/lease.ts';
import type { Sync } from '../sync/loop/sync.ts';
import { isRelieved, objectCounts } from '../sync/report/object-list.ts';
import type { Outages } from './clusters/outages.ts';
import type { DaemonOptions } from './options/daemon-options.ts';
import { wantsWrites } from './report.ts';

/** A gauge must be current before the next scrape. */
const gaugeIntervalMs = 1000;

export interface GaugeSources {
  syncs: () => readonly Sync[];
  /** Those whose objects are written. */
  switchedOn: () => readonly Sync[];
  lease: () => Lease | undefined;
  outages: Outages;
  /** Called with each look at the gauges. */
  tick: () => void;
}

export class Gauges {
  readonly #options: DaemonOptions;
  readonly #sources: GaugeSources;
  #timer: Timer | undefined;

  constructor(options: DaemonOptions, sources: GaugeSources) {
    this.#options = options;
    this.#sources = sources;
  }

  /** Again without harm: a sync may begin later than the management API. */
  start(): void {
    this.#timer?.cancel();
    const { clock, isDryRun } = this.#options;
    const lease = this.#sources.lease();
    const isLeader = !isDryRun && (lease === undefined || lease.isHeld());
    const syncs = this.#sources.syncs();
    this.#sources.tick();
    for (const sync of syncs) setGauges(sync, { isLeader });
    if (syncs.length > 0) {
      const areWritesWanted = this.#sources.switchedOn().some((sync) => wantsWrites({ sync, lease }));
      this.#sources.outages.update({ areWritesWanted });
    }
    this.#timer = clock.after(gaugeIntervalMs, () => this.start());
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

export function setGauges(sync: Sync, { isLeader }: { isLeader: boolean }): void {
  const { metrics, ledger } = sync;
  // People sum over pods: the leader counts each object, and a standby none.
  const isCounted = !isRelieved(sync);
  const own = (count: number): number => (isCounted ? count : 0);
  metrics.leader.set(isLeader ? 1 : 0);
  metrics.contested.set(own(sync.contest.contested().length));
  metrics.backflowFailed.set(own(ledger.backflowFailures.size));
  metrics.deletesWithheld.set(own(sync.massDelete.guard.size));
  metrics.differences.set(ledger.differences.size);
  const { virtual: _, retrying: retry = 0, ...counts } = objectCounts(sync);
  for (const [state, count] of Object.entries({ ...counts, retry })) metrics.objects.set({ state }, own(count));
  for (const [name, count] of ledger.counts()) {
    const [state, reason] = name.split('/');
    if (state === 'refused' && reason !== undefined) metrics.refused.set({ reason }, own(count));
  }
  sync.options.references?.setGauges({ isCounted });
}
