// A balancer that knows nothing of what stands behind it: it gives each connection to the next port.
import { connect, createServer, type Server } from 'node:net';

export function balancer(ports: () => readonly number[]): Server {
  let turn = 0;
  return createServer((client) => {
    const all = ports();
    const upstream = connect(all[turn++ % all.length] as number, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
}
