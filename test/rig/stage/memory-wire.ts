// A connection in memory: two sockets that carry bytes to each other in this process, so that a run needs no port and repeats
// itself. It can do what a bad network does: reset, swallow, cut to pieces, delay.
import { Duplex } from 'node:stream';

export type Towards = 'server' | 'client';

export class MemorySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  peer: MemorySocket | undefined;
  readonly #wire: MemoryWire;
  readonly #towards: Towards;

  constructor(wire: MemoryWire, towards: Towards) {
    super({ allowHalfOpen: false });
    this.#wire = wire;
    this.#towards = towards;
    // A reset reaches whoever holds the socket; without a listener it would end the process.
    this.on('error', () => {});
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#wire.carry(this.#towards, chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#wire.end(this.#towards);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#wire.gone(this.#towards, error);
    done(error);
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

export class MemoryWire {
  readonly client: MemorySocket;
  readonly server: MemorySocket;
  readonly #note: () => void;
  /** Bytes in these directions wait, as behind a firewall that drops everything. */
  readonly #held = new Map<Towards, (() => void)[]>();
  /** Chunks of at most so many bytes reach the other end. */
  sliceBytes: number | undefined;

  constructor(note: () => void) {
    this.#note = note;
    this.client = new MemorySocket(this, 'server');
    this.server = new MemorySocket(this, 'client');
  }

  get isOpen(): boolean {
    return !this.client.destroyed && !this.server.destroyed;
  }

  carry(towards: Towards, chunk: Buffer, done: () => void): void {
    this.#note();
    this.#later(towards, () => {
      this.#push(towards, chunk);
      done();
    });
  }

  end(towards: Towards): void {
    this.#note();
    this.#later(towards, () => {
      const socket = this.#at(towards);
      if (!socket.destroyed) socket.push(null);
    });
  }

  gone(towards: Towards, error: Error | null): void {
    this.#note();
    this.#later(towards, () => {
      const socket = this.#at(towards);
      if (socket.destroyed) return;
      if (error === null) socket.push(null);
      else socket.destroy(resetError());
    });
  }

  /** Both ends see a reset; what has not arrived is lost. */
  reset(): void {
    this.#note();
    this.#held.clear();
    for (const socket of [this.client, this.server]) if (!socket.destroyed) socket.destroy(resetError());
  }

  get isHeld(): boolean {
    return this.#held.has('client');
  }

  hold(towards: Towards): void {
    if (!this.#held.has(towards)) this.#held.set(towards, []);
  }

  release(towards: Towards): void {
    const waiting = this.#held.get(towards);
    this.#held.delete(towards);
    for (const run of waiting ?? []) this.#later(towards, run);
  }

  #later(towards: Towards, run: () => void): void {
    const waiting = this.#held.get(towards);
    if (waiting !== undefined) waiting.push(run);
    else process.nextTick(run);
  }

  #at(towards: Towards): MemorySocket {
    return towards === 'server' ? this.server : this.client;
  }

  #push(towards: Towards, chunk: Buffer): void {
    const socket = this.#at(towards);
    if (socket.destroyed || socket.readableEnded) return;
    this.#note();
    if (this.sliceBytes === undefined) return void socket.push(chunk);
    for (let at = 0; at < chunk.length; at += this.sliceBytes) socket.push(chunk.subarray(at, at + this.sliceBytes));
  }
}

export function resetError(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}
