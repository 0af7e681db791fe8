// What a replica does when the record of the store is deleted: nobody deletes it but by hand, and it is the first one that goes when
// somebody deletes all records or their namespace. Then the deletions that follow revoke nothing, or the journals would say that every
// key was revoked, and no backup could bring one back. In: the host. Out: whether changes count.
import type { Clock, Timer } from '../../clock.ts';
import type { HostRecords } from './records/host-records.ts';
import { replicaName } from './records/record-format.ts';

export interface EmptyingOptions {
  host: HostRecords;
  replica: string;
  clock: Clock;
  /** The other records are there. */
  goOn(): Promise<void>;
  emptied(message: string): void;
}

/** By then a deletion of everything has reached the record of this replica, which is among the first too. */
const lookAfterMs = 2_000;

export class Emptying {
  readonly #options: EmptyingOptions;
  #isHalted = false;
  #timer: Timer | undefined;

  constructor(options: EmptyingOptions) {
    this.#options = options;
  }

  /** Changes do not count: nobody knows what they mean. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  storeDeleted(): void {
    if (this.#isHalted) return;
    this.#isHalted = true;
    this.#lookLater();
  }

  /** A whole list has come. */
  settled(): void {
    this.#isHalted = false;
    this.stop();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #lookLater(): void {
    this.#timer = this.#options.clock.after(lookAfterMs, () => {
      this.#look().catch(() => this.#lookLater());
    });
  }

  async #look(): Promise<void> {
    const { host, replica, goOn, emptied } = this.#options;
    if ((await host.get(replicaName(replica))) !== undefined) await goOn();
    else emptied('its records were deleted: bring them back from a backup');
  }
}
