// Everything that passes through at the moment, by whom: so that it ends within a second when the credential behind it ends or
// changes, and so that neither one caller nor all together open more than the process can carry.
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import { serviceUnavailable, tooManyRequests } from '../../object/meta/status.ts';
import type { Passage } from './forward.ts';

/** Two sockets and their buffers each: about half a gigabyte in all. */
const maxPassages = 10_000;
/** Of one key: a controller with a watch on every kind there is has a few hundred. */
const maxOfOne = 2_000;
const retrySeconds = 1;

interface Live<Of> {
  passage: Passage;
  of: Of;
  owner: string;
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

  /** Until it is done. `owner` is the name that its requests are counted by. */
  async follow(of: Of, owner: string, passage: Passage): Promise<void> {
    const live = { of, owner, passage };
    this.#live.add(live);
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
    await passage.done;
    this.#live.delete(live);
    const left = (this.#counts.get(owner) ?? 1) - 1;
    if (left === 0) this.#counts.delete(owner);
    else this.#counts.set(owner, left);
  }

  /** Ends those that must not go on. */
  closeUnless(mayGoOn: (of: Of) => boolean, reason: string): void {
    for (const live of [...this.#live]) if (!mayGoOn(live.of)) live.passage.close(reason);
  }

  /** Resolves when the last of them is written down as ended. */
  async closeAll(reason: string): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#live].map(({ passage }) => passage.done);
    this.closeUnless(() => false, reason);
    await Promise.all(open);
  }
}

function tooMany(message: string): StatusFault {
  return new StatusFault(tooManyRequests(`${message}; close some and try again`, retrySeconds));
}
