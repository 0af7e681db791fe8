// Refuses a body in a transfer encoding other than chunks: the parser of HTTP takes "gzip, chunked" and leaves the rest undone, so
// that two readers would see two bodies.
import type { IncomingMessage } from 'node:http';
import { badRequest } from '../request/status-fault.ts';

export function refuseEncodedBody({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const { 'transfer-encoding': encoding = 'chunked' } = headers;
  if (encoding.toLowerCase() === 'chunked') return;
  throw badRequest(
    `send the body with "Transfer-Encoding: chunked" or with its length, found "${encoding.slice(0, 60)}"`,
  );
}
