// The record of this replica on the host, which every beat changes. Nobody else writes it, so a record that is older than the last
// acknowledged beat shows that the host was set back, even if its versions have risen above all former ones again since.
import { StoreFault } from '../errors.ts';
import type { HostRecords, RecordWrite } from './records/host-records.ts';
import { readRecord, replicaData, replicaName, type Sight } from './records/record-format.ts';
import type { Seals } from './trust/seals.ts';

export interface OwnRecordOptions {
  host: HostRecords;
  replica: string;
  /** What the other replicas and `status` read about this one. */
  about: () => string;
  /** What a replica that starts reads. */
  sight: () => Sight;
  seals: () => Seals;
  /** Of the process that wrote the record before, as the first list had it. */
  lastBeat: () => number;
  /** False while it is unknown why records are gone. */
  mayMake: () => boolean;
  wentBack(message: string): void;
}

export class OwnRecord {
  readonly #options: OwnRecordOptions;
  /** How far this replica had read, as the host knows it. */
  told = 0;
  /** The last beat of the process that wrote the record before: beats count on, so that a copy from before a restart is older too. */
  #base: number | undefined;
  /** As the host has acknowledged it. */
  #known: { version: number; beat: number } | undefined;

  constructor(options: OwnRecordOptions) {
    this.#options = options;
  }

  /** The host's version of the change. */
  async write(beat: number): Promise<number> {
    const { host, replica, about, sight, seals, lastBeat, mayMake } = this.#options;
    const name = replicaName(replica);
    const seen = sight();
    this.#base ??= lastBeat();
    const count = this.#base + beat;
    const data = seals().applied(name, replicaData({ replica, beat: count, about: about() }, seen));
    let done = await host.replace(name, data, this.#known?.version);
    if (done.kind === 'conflict') done = await this.#writeOver(name, data, seen);
    if (done.kind === 'absent' && mayMake()) done = await host.create(name, data);
    if (done.kind !== 'written')
      throw new StoreFault('STORE_HOST_FAILED', `Cannot write the record of this replica: ${done.kind}`);
    this.#known = { version: done.version, beat: count };
    this.told = seen.reached;
    return done.version;
  }

  /**
   * The answer to the last beat may have been lost, or somebody has edited the record by hand. In a host that was set back the record tells
   * others of it.
   */
  async #writeOver(name: string, data: Readonly<Record<string, string>>, seen: Sight): Promise<RecordWrite> {
    const { host, seals, wentBack } = this.#options;
    const found = await host.get(name);
    if (found === undefined) return { kind: 'absent' };
    const read = readRecord(found, 0);
    const { beat: last = 0 } = this.#known ?? {};
    const isOurs = seals().fault(found) === undefined;
    if (isOurs && read.kind === 'replica' && read.beat < last && !seen.isSetBack) {
      const message = `it was set back: the record of this replica there is its beat ${read.beat}, and beat ${last} was acknowledged`;
      wentBack(message);
      throw new StoreFault('STORE_ROLLED_BACK', message);
    }
    return host.replace(name, data, found.version);
  }
}

/** Of a replica that does not run: what it has said stays. */
export async function sealRecordOf(
  host: HostRecords,
  { replica, seals }: { replica: string; seals: Seals },
): Promise<void> {
  const found = await host.get(replicaName(replica));
  if (found !== undefined) await host.replace(found.name, seals.applied(found.name, found.data), found.version);
}

/** A record that is damaged says nothing, and the next beat writes it anew. */
export async function wordsOf(host: HostRecords, replica: string): Promise<string> {
  const found = await host.get(replicaName(replica)).catch((error: unknown) => {
    if (error instanceof StoreFault && error.code === 'STORE_RECORD_ASIDE') return undefined;
    throw error;
  });
  const read = found && readRecord(found, 0);
  return read?.kind === 'replica' ? read.about : '';
}
