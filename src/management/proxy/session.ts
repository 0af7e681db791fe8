// Joins the two sockets of an upgraded connection. After the upstream's 101, bytes pass both ways unread, at the pace of the
// slower side, until one side closes or the credential of the session ends.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { responseLines } from './headers.ts';

export interface StreamEnd {
  /** Bytes from the client. */
  bytesIn: number;
  /** Bytes to the client. */
  bytesOut: number;
  reason: string;
}

export interface Session {
  readonly done: Promise<StreamEnd>;
  close(reason: string): void;
}

/** Interval of the system's probes on a silent connection. */
const keepAliveMs = 30_000;
/** Time to deliver the last bytes of a side that has closed; after it they are lost. */
const lastBytesMs = 5_000;

export function joined(
  client: { socket: Socket; head: Buffer },
  upgraded: { response: IncomingMessage; socket: Duplex; head: Buffer },
  { clock, auditId }: { clock: Clock; auditId: string },
): Session {
  const near = client.socket;
  // Connections of node:http and node:https are sockets, although the type of the event is Duplex.
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
  // In both protocols, one side cannot go on alone.
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
