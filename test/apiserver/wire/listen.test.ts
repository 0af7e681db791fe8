import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { listen } from '../../../src/apiserver/wire/listen.ts';
import { createLog } from '../../../src/log.ts';

it('a server goes on when a connection cannot be accepted, and a port that is taken is reported at once', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  const [server, second] = [createServer(), createServer()];
  await listen(server, { host: '127.0.0.1', port: 0 }, log);
  const address = server.address() as { port: number };
  // Without a listener the event would be thrown.
  server.emit('error', new Error('accept ENFILE'));
  expect(lines.join()).toContain('accept ENFILE');
  await expect(listen(second, { host: '127.0.0.1', port: address.port }, log)).rejects.toThrow('EADDRINUSE');
  await new Promise((closed) => server.close(closed));
});
