// The way from one replica to the host: a test cuts it, or holds every byte in it.
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Cable {
  readonly kubeconfigPath: string;
  readonly #target: URL;
  readonly #text: string;
  #server: Server | undefined;
  #sockets = new Set<Socket>();
  #state: 'open' | 'cut' | 'frozen' = 'open';

  /** Writes a kubeconfig that leads through the cable to `path`. */
  constructor(host: { kubeconfigPath: string; url: string }, path: string) {
    this.#target = new URL(host.url);
    this.kubeconfigPath = path;
    this.#text = readFileSync(host.kubeconfigPath, 'utf8');
  }

  async open(): Promise<void> {
    const server = createServer((socket) => this.#join(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    writeFileSync(this.kubeconfigPath, this.#text.replaceAll(this.#target.host, `127.0.0.1:${port}`), { mode: 0o600 });
  }

  set(state: 'open' | 'cut' | 'frozen'): void {
    this.#state = state;
    for (const socket of this.#sockets) {
      if (state === 'cut') socket.destroy();
      else if (state === 'frozen') socket.pause();
      else socket.resume();
    }
  }

  close(): void {
    this.set('cut');
    this.#server?.close();
  }

  #join(client: Socket): void {
    if (this.#state === 'cut') return void client.destroy();
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    const pair: [Socket, Socket][] = [
      [client, upstream],
      [upstream, client],
    ];
    for (const [from, to] of pair) {
      this.#sockets.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#state === 'frozen') from.pause();
    }
  }
}
