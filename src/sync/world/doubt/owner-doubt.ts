// Asks the host for the owner Service when a sign suggests that it is gone, because its watch may lag behind the watch of the
// copies. The host's garbage collector deletes a copy whose owner is gone, sync would create it again, and so on forever.
// Therefore no copy is created until the host has answered.
import { type Clock, pause } from '../../../clock.ts';
import { servicesResource } from '../../../cluster/wire/scope.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import { keyOf } from '../../../object/meta/object.ts';
import type { World } from '../world.ts';

export interface OwnerDoubtOptions {
  world: World;
  hostWriter: Writer;
  clock: Clock;
  /** Called after the answer, so that waiting keys are looked at again. */
  settled: () => void;
}

/** Pause before the question is repeated to an API server that did not answer. */
const retryMs = 1_000;

export class OwnerDoubt {
  readonly #options: OwnerDoubtOptions;
  readonly #stop = new AbortController();
  /** Counts the signs: an answer does not cover signs that came after its question. */
  #raised = 0;
  #asking: Promise<void> | undefined;

  constructor(options: OwnerDoubtOptions) {
    this.#options = options;
  }

  /** Called when a copy vanished that sync did not remove, or when the host namespace refused one. */
  raise(): void {
    const { world } = this.#options;
    if (world.knownOwner().kind !== 'present' || this.#stop.signal.aborted) return;
    this.#raised++;
    world.isOwnerInDoubt = true;
    this.#asking ??= this.#ask();
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
    // In the same turn as the last look at the signs: a sign that comes next must begin a new question.
    this.#asking = undefined;
    world.isOwnerInDoubt = false;
    settled();
  }

  /** Shows the answer of the host to the window. Returns false when the host did not answer. */
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
        // Without the right to read Services, the watch is the only source.
        return true;
      default:
        return false;
    }
  }
}
