// Keeps every open request of the proxy with its caller, so that all requests of a credential end within a second after it ends or
// changes.
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import { type Status, serviceUnavailable, soonSeconds } from '../../object/meta/status.ts';
import type { ProxiedStream } from './forward/forward.ts';

interface Live<Of> {
  stream: ProxiedStream;
  of: Of;
  whyNot: () => Status | undefined;
}

export class LiveStreams<Of> {
  readonly #live = new Set<Live<Of>>();
  #isClosed = false;

  get count(): number {
    return this.#live.size;
  }

  /** Throws a 503 when the server stops, before anything is sent upstream. */
  checkOpen(): void {
    if (this.#isClosed) throw new StatusFault(serviceUnavailable('the server is stopping', soonSeconds));
  }

  /** Resolves when the stream is done. It may go on until `whyNot` has a reason. */
  async follow(of: Of, stream: ProxiedStream, whyNot: () => Status | undefined): Promise<void> {
    const live = { of, stream, whyNot };
    this.#live.add(live);
    await stream.done;
    this.#live.delete(live);
  }

  /** Closes the streams for which there is a reason. */
  closeWhere(whyNot: (of: Of) => Status | undefined): void {
    for (const live of [...this.#live]) {
      const because = whyNot(live.of) ?? live.whyNot();
      if (because !== undefined) live.stream.close(because);
    }
  }

  /** Resolves when the end of the last stream is in the audit log. */
  async closeAll(message: string): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#live].map(({ stream }) => stream.done);
    const because = serviceUnavailable(message);
    this.closeWhere(() => because);
    await Promise.all(open);
  }
}
