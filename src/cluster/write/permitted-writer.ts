// A writer for one part of the program: it sends through a shared writer, which limits the requests of all parts together, and
// refuses to write while its own part may not.
import type { Answer } from '../answer.ts';
import type { Writer } from './writer.ts';

const notPermitted: Answer = { kind: 'notSent', reason: 'noLease' };

/** stop() leaves the shared writer to its owner. */
export function permittedWriter(writer: Writer, permit: () => boolean): Writer {
  return {
    get: (ref, place) => writer.get(ref, place),
    create: async (...asked) => (permit() ? writer.create(...asked) : notPermitted),
    patch: async (...asked) => (permit() ? writer.patch(...asked) : notPermitted),
    remove: async (...asked) => (permit() ? writer.remove(...asked) : notPermitted),
    stop: async () => {},
    get inFlight() {
      return writer.inFlight;
    },
  };
}
