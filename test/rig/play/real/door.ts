// The way from real daemons to an API server of a run, over TLS and TCP: the server knows by the token which daemon asks, and the way can be cut,
// closed, frozen, or cut in the middle of an answer. In: connections. Out: requests for the cluster, with their author.
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { ServingCertificate } from '../../../../src/apiserver/tls/certificates.ts';
import { author } from '../../stage/replayed-store.ts';
import type { RigCluster } from '../../stage/rig-cluster.ts';

export interface DoorOptions {
  cluster: RigCluster;
  certificate: ServingCertificate;
  /** Names of daemons by token. */
  daemons: ReadonlyMap<string, string>;
}

export class Door {
  readonly #api: Server;
  readonly #relay: Server;
  readonly #sockets = new Set<Socket>();
  #isShut = false;
  #isFrozen = false;
  /** Of the next answers: what still passes before the connection is cut. */
  #cutsAfterBytes: number | undefined;
  /** When nothing passed that had been sent. */
  readonly frozenMs: { fromMs: number; toMs: number }[] = [];
  port = 0;

  constructor({ cluster, certificate, daemons }: DoorOptions) {
    let requests = 0;
    const tls = { cert: certificate.certPem, key: certificate.keyPem };
    this.#api = createHttpsServer(tls, (request, response) => {
      const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
      author.run({ daemon: daemons.get(token), request: ++requests }, () =>
        cluster.cluster.server.handler(request, response),
      );
    });
    this.#relay = createServer((socket) => this.#join(socket));
  }

  async open(): Promise<void> {
    for (const server of [this.#api, this.#relay])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.port = (this.#relay.address() as AddressInfo).port;
  }

  /** Every connection ends with a reset. */
  cut(): void {
    for (const socket of [...this.#sockets]) socket.resetAndDestroy();
  }

  shut(): void {
    this.#isShut = true;
    this.cut();
  }

  /** Connections stay open, and no byte passes. */
  freeze(nowMs: number): void {
    this.#isFrozen = true;
    this.frozenMs.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
    for (const socket of this.#sockets) socket.pause();
  }

  mend(nowMs: number): void {
    this.#isShut = false;
    this.#cutsAfterBytes = undefined;
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    for (const one of this.frozenMs) one.toMs = Math.min(one.toMs, nowMs);
    for (const socket of this.#sockets) socket.resume();
  }

  cutAnswerAfter(bytes: number): void {
    this.#cutsAfterBytes = bytes;
  }

  #join(client: Socket): void {
    if (this.#isShut) return void client.resetAndDestroy();
    const upstream = connect((this.#api.address() as AddressInfo).port, '127.0.0.1');
    const pass = (from: Socket, to: Socket, isAnswer: boolean) => {
      this.#sockets.add(from);
      from.on('data', (bytes: Buffer) => {
        const left = isAnswer ? this.#cutsAfterBytes : undefined;
        if (left === undefined || bytes.length < left) {
          if (left !== undefined) this.#cutsAfterBytes = left - bytes.length;
          to.write(bytes);
          return;
        }
        this.#cutsAfterBytes = undefined;
        to.end(bytes.subarray(0, left));
        from.destroy();
      });
      from.on('error', () => to.destroy());
      from.on('end', () => to.end());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isFrozen) from.pause();
    };
    pass(client, upstream, false);
    pass(upstream, client, true);
  }

  async close(): Promise<void> {
    this.cut();
    await Promise.all([this.#relay, this.#api].map((server) => new Promise((resolve) => server.close(resolve))));
  }
}
