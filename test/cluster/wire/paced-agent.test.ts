import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { PacedAgent } from '../../../src/cluster/wire/paced-agent.ts';

it('opens a few connections in each turn of the loop, and all of them in the end', async () => {
  // Says nothing: the handshakes wait.
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new PacedAgent();
  const opened: Duplex[] = [];
  const keep = (socket: Duplex | null | undefined) => {
    socket?.on('error', () => undefined);
    if (socket) opened.push(socket);
  };
  for (let at = 0; at < 11; at++)
    keep(agent.createConnection({ host: '127.0.0.1', port }, (_error, socket) => keep(socket as Duplex)));
  const counts = [opened.length];
  while (opened.length < 11) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(opened.length);
  }
  for (const socket of opened) socket.destroy();
  server.close();
  const steps = counts.map((count, at) => count - (counts[at - 1] ?? 0));
  expect(Math.max(...steps)).toBe(4);
  expect(steps.reduce((sum, step) => sum + step, 0)).toBe(11);
});
