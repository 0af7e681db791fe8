// Bounds what passes the proxy and is not read. Node takes bytes for sent when the system has them, which holds hundreds of kilobytes of
// each connection, also of an answer that has ended. So bytes count for their connection until the system says that they were taken,
// and beyond the bound everybody waits who has some to be taken, until they are; then what stands still is cut. Many answers at full
// speed are passed on a slice at a time, so that others get a turn. In: each piece that passes. Out: whether more may follow.
import type { Socket } from 'node:net';
import { memoryShare } from '../../../apiserver/limits/caller-limits.ts';
import { makeRoom } from '../../../apiserver/limits/give-way.ts';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { Gate } from '../../../object/text/small-chunks.ts';
import { type KernelQueues, kernelQueues, queueName } from './kernel-queues.ts';

const mostUntakenBytes = 64 * 1024 * 1024;
const shareOfMemory = 1 / 8;
/** What each connection may hold in any case: most answers and events are shorter, and must not wait for those of others. */
const freeBytes = 64 * 1024;
/** Of all connections in one turn of the loop: some milliseconds with TLS on both sides. */
const bytesOfTurn = 2 * 1024 * 1024;
/** Each of those that go on brings a piece of 64 KiB or so before it asks again. */
const goOnInTurn = 32;
/** Every answer stands still for a moment, behind a busy network or a busy loop. */
const stalledAfterMs = 250;
/** While somebody waits. Reading the table of a thousand connections takes a millisecond. */
const lookEveryMs = 50;

interface Passing {
  owner: string;
  /** Written, and not known to be taken. */
  bytes: number;
  /** Of them, those that were written since the last look began. */
  since: number;
  /** What the last look found. */
  waits: number;
  /** When a look last found that some were taken, or that none were waiting before. */
  movedMs: number;
}

export interface PassedBytesOptions {
  clock: Clock;
  log: Log;
  mostBytes?: number;
  queues?: KernelQueues;
}

export class PassedBytes {
  readonly #options: Required<PassedBytesOptions>;
  readonly #open = new Map<Socket, Passing>();
  #bytes = 0;
  readonly #waiting: (() => void)[] = [];
  #isLooking = false;
  #turnBytes = 0;
  #endsTurn = false;
  readonly #nextTurn: (() => void)[] = [];

  constructor(options: PassedBytesOptions) {
    this.#options = { mostBytes: memoryShare(shareOfMemory, mostUntakenBytes), queues: kernelQueues, ...options };
  }

  /** For what is written to the socket on behalf of this owner. */
  gate(socket: Socket, owner: string): Gate {
    return (bytes, goOn) => {
      const passing = this.#open.get(socket) ?? this.#opened(socket, owner);
      if (passing === undefined) return true;
      // A kept connection to a cluster serves one after the other.
      passing.owner = owner;
      passing.bytes += bytes;
      passing.since += bytes;
      this.#bytes += bytes;
      if (this.#bytes > this.#options.mostBytes && passing.bytes > freeBytes) {
        this.#waiting.push(goOn);
        void this.#look();
        return false;
      }
      this.#endTurnLater();
      this.#turnBytes += bytes;
      if (this.#turnBytes < bytesOfTurn) return true;
      this.#nextTurn.push(goOn);
      return false;
    };
  }

  #opened(socket: Socket, owner: string): Passing | undefined {
    if (socket.destroyed) return undefined;
    const passing = { owner, bytes: 0, since: 0, waits: 0, movedMs: this.#options.clock.now() };
    this.#open.set(socket, passing);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#bytes -= passing.bytes;
    });
    return passing;
  }

  #turnEnds(): void {
    this.#turnBytes = 0;
    for (const goOn of this.#nextTurn.splice(0, goOnInTurn)) goOn();
    if (this.#nextTurn.length > 0) this.#endTurnLater();
  }

  #endTurnLater(): void {
    if (this.#endsTurn) return;
    this.#endsTurn = true;
    setImmediate(() => {
      this.#endsTurn = false;
      this.#turnEnds();
    });
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const before = new Map<Passing, number>();
    for (const passing of this.#open.values()) {
      before.set(passing, passing.since);
      passing.since = 0;
    }
    const queues = await this.#options.queues().catch(() => undefined);
    this.#isLooking = false;
    this.#take(queues, before);
    const { clock, mostBytes } = this.#options;
    if (this.#bytes > mostBytes) this.#cut();
    if (this.#bytes <= mostBytes) {
      this.#nextTurn.push(...this.#waiting.splice(0));
      this.#endTurnLater();
    } else if (this.#waiting.length > 0) clock.after(lookEveryMs, () => void this.#look());
  }

  /** Where the system does not tell, it holds nothing. */
  #take(queues: ReadonlyMap<string, number> | undefined, before: ReadonlyMap<Passing, number>): void {
    const nowMs = this.#options.clock.now();
    this.#bytes = 0;
    for (const [socket, passing] of this.#open) {
      const { localPort = 0, remotePort = 0 } = socket;
      const waits = (queues?.get(queueName(localPort, remotePort)) ?? 0) + socket.writableLength;
      const hasTaken = passing.waits + (before.get(passing) ?? 0) > waits;
      if (passing.waits === 0 || hasTaken) passing.movedMs = nowMs;
      passing.waits = waits;
      passing.bytes = Math.min(passing.bytes, waits + passing.since);
      this.#bytes += passing.bytes;
    }
  }

  #cut(): void {
    const { clock, log, mostBytes } = this.#options;
    const nowMs = clock.now();
    const held = [...this.#open].map(([socket, { owner, bytes, movedMs }]) => ({
      ...{ owner, bytes, stalledSinceMs: nowMs - movedMs >= stalledAfterMs ? movedMs : undefined },
      end: () => socket.destroy(),
    }));
    const cut = makeRoom(held, mostBytes);
    if (cut > 0) log.warn({ connections: cut }, 'connections through the proxy cut that nobody reads');
  }
}
