// The reader of long streams and the partner of upgraded sessions, in a process of its own.
import { request as httpsRequest } from 'node:https';
import { answerCommands } from './answering.ts';
import type { Target } from './management-client.ts';

export type StreamCommand =
  /** Reads an answer to its end. */
  | { kind: 'download'; to: Target; path: string; bearer: string }
  /** Sends so many bytes through an upgraded connection whose other side sends each byte back. */
  | { kind: 'echo'; to: Target; path: string; bearer: string; bytes: number };

export interface Streamed {
  bytes: number;
  /** From the first byte to the last. */
  tookMs: number;
}

const chunk = Buffer.alloc(64 * 1024, 'x');

function asked({ to, path, bearer }: StreamCommand, method: string, headers: Record<string, string> = {}) {
  return httpsRequest({
    ...{ host: '127.0.0.1', port: to.port, ca: to.caPem, servername: 'localhost', agent: false as const },
    ...{ method, path, headers: { authorization: `Bearer ${bearer}`, ...headers } },
  });
}

function download(command: StreamCommand): Promise<Streamed> {
  return new Promise((resolve, reject) => {
    const sent = asked(command, 'GET');
    sent.on('error', reject);
    sent.on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`wanted 200, got ${response.statusCode}`));
      const beganMs = performance.now();
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ bytes, tookMs: performance.now() - beganMs }));
    });
    sent.end();
  });
}

function echo(command: Extract<StreamCommand, { kind: 'echo' }>): Promise<Streamed> {
  return new Promise((resolve, reject) => {
    const sent = asked(command, 'POST', { connection: 'Upgrade', upgrade: 'SPDY/3.1' });
    sent.on('error', reject);
    sent.on('response', ({ statusCode }) => reject(new Error(`wanted 101, got ${statusCode}`)));
    sent.on('upgrade', (_response, socket) => {
      const beganMs = performance.now();
      let toSend = command.bytes;
      let bytes = 0;
      const push = () => {
        while (toSend > 0) {
          const part = toSend < chunk.length ? chunk.subarray(0, toSend) : chunk;
          toSend -= part.length;
          if (!socket.write(part)) return void socket.once('drain', push);
        }
      };
      socket.on('error', reject);
      socket.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes < command.bytes) return;
        resolve({ bytes, tookMs: performance.now() - beganMs });
        socket.destroy();
      });
      push();
    });
    sent.end();
  });
}

answerCommands<StreamCommand>((command) => (command.kind === 'download' ? download(command) : echo(command)));
