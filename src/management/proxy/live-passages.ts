// Keeps every open request of the proxy with its caller. So all requests of a credential end within a second after it ends or
// changes, and the number of open requests stays limited, for one key and for all.
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import { type Status, serviceUnavailable, tooManyRequests } from '../../object/meta/status.ts';
import type { Passage } from './forward.ts';

/** Each has two sockets and their buffers: together about half a gigabyte. */
const maxPassages = 10_000;
/** Limit for one key. A controller that watches every kind has a few hundred. */
const maxOfOne = 2_000;
const retrySeconds = 1;

interface Live<Of> {
  passage: Passage;
  of: Of;
  owner: string;
  whyNot: () => Status | undefined;
}

export class LivePassages<Of> {
  readonly #live = new Set<Live<Of>>();
  readonly #counts = new Map<string, number>();
  #isClosed = false;

  get count(): number {
    return this.#live.size;
  }

  /** Throws a 429 for an owner that has too many, and a 503 when the server stops, before anything is sent upstream. */
  admit(owner: string): void {
    if (this.#isClosed) throw new StatusFault(serviceUnavailable('the server is stopping'));
    if (this.#live.size >= maxPassages) throw tooMany(`this server passes on ${maxPassages} requests at a time`);
    if ((this.#counts.get(owner) ?? 0) >= maxOfOne) throw tooMany(`one key has ${maxOfOne} open requests at a time`);
  }

  /** Resolves when the passage is done. It is counted under the name `owner`, and may go on until `whyNot` has a reason. */
  async follow(of: Of, owner: string, passage: Passage, whyNot: () => Status | undefined): Promise<void> {
    const live = { of, owner, passage, whyNot };
    this.#live.add(live);
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
    await passage.done;
    this.#live.delete(live);
    const left = (this.#counts.get(owner) ?? 1) - 1;
    if (left === 0) this.#counts.delete(owner);
    else this.#counts.set(owner, left);
  }

  /** Closes the passages for which there is a reason. */
  closeWhere(whyNot: (of: Of) => Status | undefined): void {
    for (const live of [...this.#live]) {
      const because = whyNot(live.of) ?? live.whyNot();
      if (because !== undefined) live.passage.close(because);
    }
  }

  /** Resolves when the end of the last passage is in the audit log. */
  async closeAll(message: string): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#live].map(({ passage }) => passage.done);
    const because = serviceUnavailable(message);
    this.closeWhere(() => because);
    await Promise.all(open);
  }
}

function tooMany(message: string): StatusFault {
  return new StatusFault(tooManyRequests(`${message}; close some and try again`, retrySeconds));
}
