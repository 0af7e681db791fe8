// An upgraded connection: after the upstream's 101 the bytes of both sides go through unread, both ways, with back-pressure, until one
// side closes or the credential that opened it ends.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { responseLines } from './headers.ts';

export interface StreamEnd {
  /** From the client. */
  bytesIn: number;
  /** To the client. */
  bytesOut: number;
  reason: string;
}

export interface Session {
  readonly done: Promise<StreamEnd>;
  close(reason: string): void;
}

/** So often the system asks whether the other side of a silent connection is still there. */
const keepAliveMs = 30_000;
/** What one side sent before it closed is delivered within this time, or is lost. */
const lastBytesMs = 5_000;

export function joined(
  client: { socket: Socket; head: Buffer },
  upgraded: { response: IncomingMessage; socket: Duplex; head: Buffer },
  { clock, auditId }: { clock: Clock; auditId: string },
): Session {
  const near = client.socket;
  // Connections of node:http and node:https are sockets, which the type of the event does not say.
  const far = upgraded.socket as Socket;
  for (const socket of [near, far]) {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
  }
  let bytesIn = client.head.length;
  let bytesOut = upgraded.head.length;
  let reason = '';
  const settled = new Promise<StreamEnd>((resolve) => {
    let open = 2;
    const closed = (why: string, other: Socket) => () => {
      if (reason === '') reason = why;
      other.destroySoon();
      const timer = clock.after(lastBytesMs, () => other.destroy());
      other.once('close', () => timer.cancel());
      if (other.destroyed) timer.cancel();
      if (--open === 0) resolve({ bytesIn, bytesOut, reason });
    };
    near.once('close', closed('ended by the client', far));
    far.once('close', closed('ended by the upstream', near));
  });
  near.on('error', () => near.destroy());
  far.on('error', () => far.destroy());
  // Neither protocol goes on after one side has ended.
  near.once('end', () => far.destroySoon());
  far.once('end', () => near.destroySoon());
  near.write(head(upgraded.response, auditId), 'latin1');
  if (upgraded.head.length > 0) near.write(upgraded.head);
  if (client.head.length > 0) far.write(client.head);
  near.on('data', (chunk: Buffer) => {
    bytesIn += chunk.length;
  });
  far.on('data', (chunk: Buffer) => {
    bytesOut += chunk.length;
  });
  near.pipe(far);
  far.pipe(near);
  return {
    done: settled,
    close(why) {
      reason = why;
      near.destroy();
      far.destroy();
    },
  };
}

function head({ rawHeaders, headers }: IncomingMessage, auditId: string): string {
  const kept = responseLines(rawHeaders);
  const lines = [...kept, 'Audit-Id', auditId, 'Connection', 'Upgrade', 'Upgrade', headers.upgrade ?? ''];
  const text = lines.map((part, at) => (at % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
  return `HTTP/1.1 101 Switching Protocols\r\n${text}\r\n`;
}
