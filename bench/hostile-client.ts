// The attacker, in a process of its own so that its work delays no measurement: sends hostile bodies, holds uploads that never end,
// and opens answers that it does not read.
import { setPriority } from 'node:os';
import { connect, type TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import { answerCommands } from './answering.ts';
import type { PiecesHow, Send } from './hostile-body.ts';
import { wait } from './processes.ts';

export interface Target {
  port: number;
  caPem: string;
}

export type AttackCommand =
  /** `$i` in the body is the number of the request. Ends after so many requests or seconds, whichever comes first. */
  | {
      kind: 'bodies';
      to: Target;
      keys: string[];
      send: Send;
      body: string;
      connections: number;
      times: number;
      seconds: number;
    }
  | {
      kind: 'unfinished';
      to: Target;
      keys: string[];
      send: Send;
      count: number;
      announced: number;
      sent: number;
      seconds: number;
    }
  | {
      kind: 'pieces';
      to: Target;
      keys: string[];
      send: Send;
      count: number;
      how: PiecesHow;
      each: number;
      seconds: number;
    }
  | { kind: 'idle'; to: Target; keys: string[]; send: Send; count: number; seconds: number }
  | { kind: 'taken'; to: Target; keys: string[]; path: string; count: number; seconds: number }
  | { kind: 'sessions'; to: Target; keys: string[]; path: string; count: number; sent: number; seconds: number }
  /** Meanwhile, if there is a `send`, it is sent again and again with the first key. */
  | {
      kind: 'unread';
      to: Target;
      keys: string[];
      path: string;
      count: number;
      pipelined: number;
      seconds: number;
      send?: Send;
      body: string;
    };

export interface AttackResult {
  codes: Record<string, number>;
  bytes: number;
}

// The server under attack has as much of the machine as its attackers leave it; here that must be enough to see what it does with it.
setPriority(10);

let count = 0;

async function bodies(command: Extract<AttackCommand, { kind: 'bodies' }>): Promise<AttackResult> {
  const { to, keys, send, body, connections, times, seconds } = command;
  const result: AttackResult = { codes: {}, bytes: 0 };
  const pool = new Pool(`https://127.0.0.1:${to.port}`, {
    connections,
    connect: { ca: to.caPem, servername: 'localhost' },
    headersTimeout: 20_000,
    bodyTimeout: 20_000,
  });
  const endMs = performance.now() + seconds * 1000;
  let left = times;
  const one = async () => {
    while (left-- > 0 && performance.now() < endMs) {
      const at = ++count;
      const text = send.method === 'GET' ? undefined : body.replaceAll('$i', String(at));
      const headers = headersOf(send, keys[at % keys.length] as string);
      const code = await pool
        .request({ method: send.method as 'POST', path: send.path, headers, ...(text !== undefined && { body: text }) })
        .then(
          async (answer) => {
            for await (const _ of answer.body);
            return String(answer.statusCode);
          },
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        );
      result.codes[code] = (result.codes[code] ?? 0) + 1;
      result.bytes += text?.length ?? 0;
      // A server that is gone would be asked a million times.
      if (Number.isNaN(Number(code))) await wait(20);
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  await pool.destroy();
  return result;
}

async function unfinished(command: Extract<AttackCommand, { kind: 'unfinished' }>): Promise<AttackResult> {
  const { to, keys, send, count: many, announced, sent, seconds } = command;
  const result: AttackResult = { codes: {}, bytes: 0 };
  const part = Buffer.alloc(sent, '{"metadata":{"annotations":{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx');
  const sockets = await opened(to, many, result);
  for (const [at, socket] of sockets.entries()) {
    socket.once('data', (answer: Buffer) => addCode(result, codeIn(answer)));
    const head = headersOf(send, keys[at % keys.length] as string);
    socket.write(requestHead(send.method, send.path, { ...head, 'content-length': String(announced) }));
    socket.write(part, () => {
      result.bytes += sent;
    });
  }
  await wait(seconds * 1000);
  for (const socket of sockets) socket.destroy();
  return result;
}

/** Pieces between two turns of the loop: each write is a record of its own. */
const piecesAtOnce = 500;

async function pieces(command: Extract<AttackCommand, { kind: 'pieces' }>): Promise<AttackResult> {
  const { to, keys, send, count: many, how, each, seconds } = command;
  const result: AttackResult = { codes: {}, bytes: 0 };
  const sockets = await opened(to, many, result);
  const endMs = performance.now() + seconds * 1000;
  const one = async (socket: TLSSocket, at: number) => {
    socket.setNoDelay(true);
    socket.once('data', (answer: Buffer) => addCode(result, codeIn(answer)));
    const framing: Record<string, string> =
      how === 'records' ? { 'content-length': String(each + 1) } : { 'transfer-encoding': 'chunked' };
    const head = requestHead(send.method, send.path, { ...headersOf(send, keys[at % keys.length]), ...framing });
    socket.write(how === 'header' ? head.slice(0, -2) : head);
    if (how === 'trailers') socket.write('1\r\n{\r\n0\r\n');
    for (let sent = 0; sent < each && socket.writable && performance.now() < endMs; sent += piecesAtOnce) {
      const some = Math.min(piecesAtOnce, each - sent);
      if (how === 'chunks') socket.write('1\r\n \r\n'.repeat(some));
      else if (how === 'extensions') socket.write('1;a=b\r\n \r\n'.repeat(some));
      else for (let piece = 0; piece < some; piece++) socket.write(how === 'records' ? ' ' : 'a');
      result.bytes += some;
      await wait(1);
    }
  };
  await Promise.all(sockets.map(one));
  await wait(Math.max(0, endMs - performance.now()));
  for (const socket of sockets) socket.destroy();
  return result;
}

async function idle(command: Extract<AttackCommand, { kind: 'idle' }>): Promise<AttackResult> {
  const { to, keys, send, count: many, seconds } = command;
  const result: AttackResult = { codes: {}, bytes: 0 };
  const asks = (socket: TLSSocket, at: number) => {
    socket.once('data', (answer: Buffer) => addCode(result, codeIn(answer)));
    socket.write(requestHead(send.method, send.path, headersOf(send, keys[at % keys.length])));
  };
  const sockets = await opened(to, many, result, asks);
  await wait(seconds * 1000);
  for (const socket of sockets) socket.destroy();
  return result;
}

async function unread(command: Extract<AttackCommand, { kind: 'unread' }>): Promise<AttackResult> {
  const { to, keys, path, count: many, pipelined, seconds, send, body } = command;
  const result: AttackResult = { codes: {}, bytes: 0 };
  const sockets = await opened(to, many, result);
  for (const [at, socket] of sockets.entries()) {
    socket.pause();
    const head = requestHead('GET', path, { authorization: `Bearer ${keys[at % keys.length]}` });
    socket.write(head.repeat(pipelined));
  }
  if (send === undefined) await wait(seconds * 1000);
  else {
    const meanwhile = { to, keys: keys.slice(0, 1), send, body, connections: 4, times: 1_000_000, seconds };
    const { codes, bytes } = await bodies({ kind: 'bodies', ...meanwhile });
    Object.assign(result, { codes: { ...result.codes, ...codes }, bytes });
  }
  for (const socket of sockets) socket.destroy();
  return result;
}

async function taken({ to, keys, path, count: many, seconds }: Extract<AttackCommand, { kind: 'taken' }>) {
  const result: AttackResult = { codes: {}, bytes: 0 };
  const sockets = await opened(to, many, result, (socket, at) => {
    socket.once('data', (answer: Buffer) => addCode(result, codeIn(answer)));
    socket.on('data', ({ length }: Buffer) => {
      result.bytes += length;
    });
    socket.write(requestHead('GET', path, { authorization: `Bearer ${keys[at % keys.length]}` }));
  });
  await wait(seconds * 1000);
  for (const socket of sockets) socket.destroy();
  return result;
}

async function sessions(command: Extract<AttackCommand, { kind: 'sessions' }>): Promise<AttackResult> {
  const { to, keys, path, count: many, sent, seconds } = command;
  const result: AttackResult = { codes: {}, bytes: 0 };
  const part = Buffer.alloc(sent, 'x');
  const sockets = await opened(to, many, result, (socket, at) => {
    socket.once('data', (answer: Buffer) => {
      addCode(result, codeIn(answer));
      socket.pause();
      socket.write(part);
      result.bytes += sent;
    });
    const upgrade = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };
    socket.write(requestHead('POST', path, { authorization: `Bearer ${keys[at % keys.length]}`, ...upgrade }));
  });
  await wait(seconds * 1000);
  for (const socket of sockets) socket.destroy();
  return result;
}

/** A few at a time, as a server of any kind accepts them. */
async function opened(
  to: Target,
  many: number,
  result: AttackResult,
  isOpen: (socket: TLSSocket, at: number) => void = () => undefined,
): Promise<TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  const one = async () => {
    while (sockets.length < many) {
      const socket = connect({ host: '127.0.0.1', port: to.port, ca: to.caPem, servername: 'localhost' });
      const at = sockets.push(socket) - 1;
      socket.on('error', (error: NodeJS.ErrnoException) => addCode(result, error.code ?? error.message));
      await new Promise<void>((resolve) => {
        socket.once('secureConnect', () => {
          isOpen(socket, at);
          resolve();
        });
        socket.once('close', () => resolve());
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
  return sockets;
}

function addCode(result: AttackResult, code: string): void {
  result.codes[code] = (result.codes[code] ?? 0) + 1;
}

function headersOf({ type, accept }: Send, key: string | undefined): Record<string, string> {
  return {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(type !== '' && { 'content-type': type }),
    ...(accept !== undefined && { accept }),
  };
}

function requestHead(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n`;
}

function codeIn(answer: Buffer): string {
  return answer.subarray(9, 12).toString('latin1');
}

answerCommands<AttackCommand>((command) => {
  switch (command.kind) {
    case 'bodies':
      return bodies(command);
    case 'unfinished':
      return unfinished(command);
    case 'pieces':
      return pieces(command);
    case 'idle':
      return idle(command);
    case 'unread':
      return unread(command);
    case 'taken':
      return taken(command);
    case 'sessions':
      return sessions(command);
    default:
      return command satisfies never;
  }
});
