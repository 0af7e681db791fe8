import type { Answer } from '../../src/cluster/answer.ts';
import type { ResourceRef } from '../../src/cluster/wire/scope.ts';
import type { Writer } from '../../src/cluster/write/writer.ts';
import type { FakeWorld } from './fake-sync.ts';

/** The moment of a crash: before the request is sent, or after the server has executed it and before its answer arrives. */
export type Moment = 'before' | 'after';

/**
 * Kills the daemon at its n-th write, counted over both clusters and all restarts. Events do not count, because they change
 * no synced object. A dead daemon sends no request and receives no answer.
 */
export class Fuse {
  readonly written: string[] = [];
  readonly #blows: (nth: number) => Moment | undefined;
  isBlown = false;

  constructor(blows: (nth: number) => Moment | undefined) {
    this.#blows = blows;
  }

  wrap(side: 'virtual' | 'host', writer: Writer): Writer {
    return {
      inFlight: 0,
      stop: async () => {},
      get: (ref, place) => (this.isBlown ? never() : writer.get(ref, place)),
      create: (ref, object) =>
        this.#pass(`${side} create ${object.metadata.name}`, ref, () => writer.create(ref, object)),
      patch: (ref, place, body) => this.#pass(`${side} patch ${place.name}`, ref, () => writer.patch(ref, place, body)),
      remove: (ref, place, conditions) =>
        this.#pass(`${side} remove ${place.name}`, ref, () => writer.remove(ref, place, conditions)),
    };
  }

  async #pass(what: string, ref: ResourceRef, send: () => Promise<Answer>): Promise<Answer> {
    if (this.isBlown) return never();
    if (ref.resource === 'events') return send();
    const moment = this.#blows(this.written.length + 1);
    this.isBlown = moment !== undefined;
    if (moment === 'before') {
      this.written.push('');
      return never();
    }
    this.written.push(what);
    const answer = await send();
    return moment === 'after' ? never() : answer;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** Starts the daemon with the fuse in its writers. */
export async function live(world: FakeWorld, fuse: Fuse): Promise<void> {
  fuse.isBlown = false;
  await world.run({
    virtualWriter: fuse.wrap('virtual', world.virtual.writer()),
    hostWriter: fuse.wrap('host', world.host.writer()),
  });
}

/** Stops a killed daemon without draining it: only its listeners must be gone before the next start. */
export async function bury(world: FakeWorld): Promise<void> {
  void world.sync.stop(0);
  await world.clock.advance(1);
}
