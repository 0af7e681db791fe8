import type { Answer } from '../../src/cluster/answer.ts';
import type { ResourceRef } from '../../src/cluster/wire/scope.ts';
import type { Writer } from '../../src/cluster/write/writer.ts';
import type { FakeWorld } from './fake-sync.ts';

/** Where in a write the process dies: nothing was sent yet, or the server has done it and the answer is lost. */
export type Moment = 'before' | 'after';

/**
 * Kills the daemon at its n-th write, counted over both clusters and over all of its lives; events are not counted, they
 * change nothing that is synced. A dead daemon sends nothing more and hears no answer.
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

/** The next life of the daemon, with the fuse in its writers. */
export async function live(world: FakeWorld, fuse: Fuse): Promise<void> {
  fuse.isBlown = false;
  await world.run({
    virtualWriter: fuse.wrap('virtual', world.virtual.writer()),
    hostWriter: fuse.wrap('host', world.host.writer()),
  });
}

/** Nobody drains a process that was killed; only its listeners must be gone before the next one comes. */
export async function bury(world: FakeWorld): Promise<void> {
  void world.sync.stop(0);
  await world.clock.advance(1);
}
