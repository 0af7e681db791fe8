// A writer for one part of the program: it sends through a shared writer, which limits the requests of all parts together, and
// refuses to write while its own part may not.
import type { Answer } from '../answer.ts';
import type { Writer } from './writer.ts';

const notPermitted: Answer = { kind: 'notSent', reason: 'noLease' };

/** stop() leaves the shared writer to its owner. */
export function permittedWriter(writer: Writer, permit: () => boolean): Writer {
  return {
    get: (ref, place) => writer.get(ref, place),
    create: async (ref, object) => (permit() ? writer.create(ref, object) : notPermitted),
    patch: async (ref, place, mergePatch) => (permit() ? writer.patch(ref, place, mergePatch) : notPermitted),
    remove: async (ref, place, preconditions) => (permit() ? writer.remove(ref, place, preconditions) : notPermitted),
    stop: async () => {},
    get inFlight() {
      return writer.inFlight;
    },
  };
}
