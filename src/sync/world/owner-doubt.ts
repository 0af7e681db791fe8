// Asks the host for the owner Service when something shows that the one in the window may be gone: its watch and that of the
// copies are two, and either may be behind. A copy made with the uid of an owner that is gone is garbage from its first
// moment: the host deletes it, it is made again, and so on. While the answer is awaited nothing is created.
import { type Clock, pause } from '../../clock.ts';
import { servicesResource } from '../../cluster/wire/scope.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import { keyOf } from '../../object/meta/object.ts';
import type { World } from './world.ts';

export interface OwnerDoubtOptions {
  world: World;
  hostWriter: Writer;
  clock: Clock;
  /** Called when the answer is in: keys that waited for it may go on. */
  settled: () => void;
}

/** An API server that does not answer is asked again after this. */
const retryMs = 1_000;

export class OwnerDoubt {
  readonly #options: OwnerDoubtOptions;
  readonly #stop = new AbortController();
  /** Counts what was seen, since an answer says nothing about what was seen after its question. */
  #raised = 0;
  #asking: Promise<void> | undefined;

  constructor(options: OwnerDoubtOptions) {
    this.#options = options;
  }

  /** A copy vanished that we did not remove, or the host namespace refused one. */
  raise(): void {
    const { world } = this.#options;
    if (world.knownOwner().kind !== 'present' || this.#stop.signal.aborted) return;
    this.#raised++;
    world.isOwnerInDoubt = true;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#asking;
  }

  async #ask(): Promise<void> {
    const { world, clock, settled } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      const upTo = this.#raised;
      const isAnswered = await this.#askOnce();
      if (signal.aborted) return;
      if (!isAnswered) await pause(clock, retryMs, signal);
      else if (upTo === this.#raised) break;
    }
    world.isOwnerInDoubt = false;
    settled();
  }

  /** Tells the window what the host answered. False = the host did not answer. */
  async #askOnce(): Promise<boolean> {
    const { world, hostWriter } = this.#options;
    const { hostNamespace: namespace, virtualCluster: name } = world.rules.translation.placement;
    const { owner } = world.windows;
    const seen = owner?.get(keyOf(namespace, name))?.resourceVersion;
    const answer = await hostWriter.get(servicesResource, { namespace, name });
    switch (answer.kind) {
      case 'ok':
        owner?.remember(answer.object);
        return true;
      case 'notFound':
        if (seen !== undefined) owner?.forget(keyOf(namespace, name), seen);
        return true;
      case 'forbidden':
      case 'refused':
        // Without the right to read Services, only the watch can tell of the owner.
        return true;
      default:
        return false;
    }
  }
}
