// Opens TLS connections a few in each turn of the event loop. A handshake takes a millisecond of it, and hundreds that begin together
// end together too: whoever asks for a probe in that turn would wait for all of them.
import { Agent } from 'node:https';

const openedInTurn = 4;

type Create = Agent['createConnection'];

/** For servers that no proxy stands before. */
export class PacedAgent extends Agent {
  #opened = 0;
  readonly #waiting: (() => void)[] = [];

  override createConnection(...[options, callback]: Parameters<Create>): ReturnType<Create> {
    if (callback === undefined || this.#opened < openedInTurn) {
      this.#opens();
      return super.createConnection(options, callback);
    }
    this.#waiting.push(() => {
      const socket = super.createConnection(options, callback);
      if (socket) callback(null, socket);
    });
    return undefined;
  }

  #opens(): void {
    if (this.#opened++ === 0) setImmediate(() => this.#turnEnds());
  }

  #turnEnds(): void {
    this.#opened = 0;
    for (const open of this.#waiting.splice(0, openedInTurn)) {
      this.#opens();
      open();
    }
  }
}
