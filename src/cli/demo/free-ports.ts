// Ports for programs that listen a little later, and whose address must be known before: of the demo, and of tests.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

// The system gives a program that asks for any port one of 32768 and above (Linux) or of 49152 and above (macOS). A port from below is still free
// when the program asks for it a second later, although a hundred other programs asked for any port meanwhile.
const lowest = 20_000;
const highest = 32_000;

/** Ports on which nobody listens. All are reserved at once, so that no port is returned twice. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, reserve));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}

async function reserve(): Promise<Server> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(lowest, highest);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (free) return server;
  }
  throw new Error(`100 ports between ${lowest} and ${highest}, chosen at random, were all taken`);
}
