// Answers what Node would answer itself, or not at all: connections that do not speak HTTP or that send too large headers, CONNECT,
// and an Expect header that asks for something else than 100-continue. Each answer is a Status like every other refusal. Where Node
// has no response object yet, this file writes the answer by hand.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { badRequest, type Status } from '../../object/meta/status.ts';
import { methodNotAllowed } from './status-fault.ts';

export function answerClientErrors(server: Server, maxHeaderBytes: number): void {
  const answering = new WeakSet<Socket>();
  server.on('request', ({ socket }, response) => {
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
  });
  server.on('clientError', (error, stream) => {
    const socket = stream as Socket;
    answer(error, socket, { maxHeaderBytes, isAnswering: answering.has(socket) });
  });
  server.on('connect', (_request, stream) => {
    const socket = stream as Socket;
    // Node no longer listens to this socket, and a fault without a listener would end the process.
    socket.on('error', () => socket.destroy());
    if (answering.has(socket)) socket.destroy();
    // Node's time limits no longer hold here, and a client that keeps its end open must not keep the socket.
    else write(socket, { line: '405 Method Not Allowed', status: methodNotAllowed().status }, () => socket.destroy());
  });
  server.on('checkExpectation', (_request, response) => {
    const message = 'the header Expect: only 100-continue is known here; send the request without this header';
    const body = JSON.stringify({ ...badRequest(message), code: 417 });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    response.writeHead(417, headers).end(body);
  });
}

function answer(
  error: Error & { code?: string },
  socket: Socket,
  { maxHeaderBytes, isAnswering }: { maxHeaderBytes: number; isAnswering: boolean },
): void {
  // A second answer on this connection would mix with the one that is being sent.
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  write(socket, refusalOf(error.code, maxHeaderBytes));
}

function write(socket: Socket, { line, status }: { line: string; status: Status }, written = () => {}): void {
  const body = JSON.stringify(status);
  const head = [
    `HTTP/1.1 ${line}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-cache, private',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, written);
}

function refusalOf(code: string | undefined, maxHeaderBytes: number): { line: string; status: Status } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': {
      const message = `the request's headers are too large: the limit is ${maxHeaderBytes} bytes`;
      return { line: '431 Request Header Fields Too Large', status: { ...badRequest(message), code: 431 } };
    }
    case 'ERR_HTTP_REQUEST_TIMEOUT': {
      const message = 'the request did not arrive in time; send it again';
      return { line: '408 Request Timeout', status: { ...badRequest(message), reason: 'Timeout', code: 408 } };
    }
    default:
      return { line: '400 Bad Request', status: badRequest('the request is not well-formed HTTP') };
  }
}
