// Opens a socket in the folder of the management API, for commands on the same machine. Only the owner of the folder can open the
// socket, so a request through it needs no other proof of its sender. In: the handler of the API. Out: whether a request came
// through the socket. Knows no key.

import { chmod, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { listen } from '../../../apiserver/wire/listen.ts';
import type { Log } from '../../../log.ts';

/** The system keeps the path of a socket in so many bytes: 104 with the closing zero where there are fewest. */
export const longestSocketPath = 103;

/** `daemon`: for every command on the machine. `command`: for the one command that has opened the folder for itself. */
export type SocketOwner = 'daemon' | 'command';

export function localSocketPath(folder: string, owner: SocketOwner = 'daemon'): string {
  return join(folder, owner === 'daemon' ? 'hostward.sock' : 'command.sock');
}

export function isSocketPathTooLong(path: string): boolean {
  return Buffer.byteLength(path) > longestSocketPath;
}

/** A command says here for which user of the machine it runs. */
export const osUserHeader = 'hostward-os-user';
const plainName = /^[\w.@$+-]{1,64}$/;

export interface LocalSocketOptions {
  folder: string;
  owner: SocketOwner;
  handler: RequestListener;
  maxHeaderBytes: number;
}

export class LocalSocket {
  readonly #options: LocalSocketOptions;
  readonly #sockets = new WeakSet<Socket>();
  #server: Server | undefined;
  /** For a request that says no name. */
  #owner = '';

  constructor(options: LocalSocketOptions) {
    this.#options = options;
  }

  /** Not when the path is too long for the system: the server works without the socket. */
  async openIfShort(log: Log): Promise<void> {
    const { folder, owner } = this.#options;
    const path = localSocketPath(folder, owner);
    if (isSocketPathTooLong(path)) {
      const advice = 'the path of dataDir is too long for a socket: use keys with --server';
      return log.warn({ component: 'management', path }, advice);
    }
    await this.open();
  }

  /** Only for a process that has locked the folder: a socket that is there already was left by a process that has ended. */
  async open(): Promise<void> {
    const { folder, owner, handler, maxHeaderBytes } = this.#options;
    const path = localSocketPath(folder, owner);
    if (isSocketPathTooLong(path))
      throw new Error(`listen on ${path}: want at most ${longestSocketPath} bytes, the path is longer`);
    await rm(path, { force: true });
    const server = createServer({ maxHeaderSize: maxHeaderBytes }, handler);
    server.on('connection', (socket: Socket) => this.#sockets.add(socket));
    await listen(server, { path });
    this.#server = server;
    // The folder is its owner's alone already.
    await chmod(path, 0o600);
    this.#owner = `uid-${(await stat(path)).uid}`;
  }

  /**
   * For whom the request came through; undefined = it came another way. Only the owner of the folder and root can open the socket,
   * and both can do here what they like: the name tells people apart, and proves no more than that.
   */
  osUserOf({ socket, headers }: IncomingMessage): string | undefined {
    if (!this.#sockets.has(socket)) return undefined;
    const name = headers[osUserHeader];
    return typeof name === 'string' && plainName.test(name) ? name : this.#owner;
  }

  /** Commands ask one thing and wait for the answer, so that what is open here now is cut off. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }
}
