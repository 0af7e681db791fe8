// Runs the garbage collector on one replica of several: on the one that sweeps, for as long as it does. Two of them would write the same
// changes twice. A replica that begins to sweep reads all objects, so it finds what the one before it left unfinished.
import { type Chore, GarbageCollector } from '../../../apiserver/owners/garbage-collector.ts';
import { type Clock, pause, type Timer } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { TokenBucket } from '../../../pace/token-bucket.ts';
import type { Sweeping } from '../../keys/key-chores.ts';

export interface SweepingCollectorOptions {
  kit: ConstructorParameters<typeof GarbageCollector>[0];
  chore: Chore & { stop(): void };
  /** Absent = nobody else has the store. */
  sweeping: Sweeping | undefined;
  clock: Clock;
  log: Log;
}

/** A lease is lost long before another replica may have it. */
const lookEveryMs = 1_000;

export class SweepingCollector {
  readonly #parts: SweepingCollectorOptions;
  #collector: GarbageCollector | undefined;
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: SweepingCollectorOptions) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    if (this.#parts.sweeping !== undefined) return this.#look();
    this.#collector = this.#made();
    await this.#collector.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#looking;
    await this.#end();
  }

  async #look(): Promise<void> {
    this.#looking = this.#follow().catch((error: unknown) => {
      this.#parts.log.error({ component: 'management', error: String(error) }, 'garbage collector not started');
    });
    await this.#looking;
    if (!this.#isStopped) this.#timer = this.#parts.clock.after(lookEveryMs, () => void this.#look());
  }

  async #follow(): Promise<void> {
    const mayAct = this.#parts.sweeping?.mayAct() === true;
    if (!mayAct) return this.#end();
    if (this.#collector !== undefined) return;
    const collector = this.#made();
    await collector.start();
    this.#collector = collector;
  }

  async #end(): Promise<void> {
    const collector = this.#collector;
    this.#collector = undefined;
    this.#parts.chore.stop();
    await collector?.stop();
  }

  #made(): GarbageCollector {
    const { kit, chore, sweeping, clock } = this.#parts;
    const perSecond = sweeping?.deletesPerSecond;
    if (perSecond === undefined) return new GarbageCollector(kit, [chore]);
    const bucket = new TokenBucket({ burst: 1, perSecond }, clock.now());
    return new GarbageCollector(kit, [chore], async () => {
      for (let waitMs = bucket.take(clock.now()); waitMs > 0; waitMs = bucket.take(clock.now()))
        await pause(clock, waitMs);
      if (sweeping?.mayAct() !== true) throw new Error('another replica sweeps now');
    });
  }
}
