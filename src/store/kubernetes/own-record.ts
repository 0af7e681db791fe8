// The record of this replica on the host, which every beat changes. Nobody else writes it, so a record that is older than the last
// acknowledged beat shows that the host was set back, even if its versions have risen above all former ones again since.
import { StoreFault } from '../errors.ts';
import type { HostRecords, RecordWrite } from './host-records.ts';
import { readRecord, replicaData, replicaName } from './record-format.ts';

export interface OwnRecordOptions {
  host: HostRecords;
  replica: string;
  /** What the other replicas and `status` read about this one. */
  about: () => string;
  wentBack(message: string): void;
}

export class OwnRecord {
  readonly #options: OwnRecordOptions;
  /** As the host has acknowledged it. */
  #known: { version: number; beat: number } | undefined;

  constructor(options: OwnRecordOptions) {
    this.#options = options;
  }

  /** The host's version of the change. */
  async write(beat: number): Promise<number> {
    const { host, replica, about } = this.#options;
    const name = replicaName(replica);
    const data = replicaData(replica, beat, about());
    let done = await host.replace(name, data, this.#known?.version);
    if (done.kind === 'conflict') done = await this.#writeOver(name, data);
    if (done.kind === 'absent') done = await host.create(name, data);
    if (done.kind !== 'written')
      throw new StoreFault('STORE_HOST_FAILED', `Cannot write the record of this replica: ${done.kind}`);
    this.#known = { version: done.version, beat };
    return done.version;
  }

  /** The answer to the last beat may have been lost, or somebody has edited the record by hand. */
  async #writeOver(name: string, data: Readonly<Record<string, string>>): Promise<RecordWrite> {
    const { host, wentBack } = this.#options;
    const found = await host.get(name);
    if (found === undefined) return { kind: 'absent' };
    const read = readRecord(found, 0);
    const { beat: last = 0 } = this.#known ?? {};
    if (read.kind === 'replica' && read.beat < last) {
      const message = `it was set back: the record of this replica there is its beat ${read.beat}, and beat ${last} was acknowledged`;
      wentBack(message);
      throw new StoreFault('STORE_ROLLED_BACK', message);
    }
    return host.replace(name, data, found.version);
  }
}
