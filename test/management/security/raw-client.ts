// Bytes over a TLS socket, as no HTTP library would send them, and the answers that come back, read strictly: an answer is what
// its own length says, and whatever follows it belongs to the next one.
import { connect, type TLSSocket } from 'node:tls';

export interface RawAnswer {
  code: number;
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
  body: string;
}

export interface Exchange {
  answers: RawAnswer[];
  /** The server ended the connection. */
  isClosed: boolean;
  /** Bytes that are no whole answer. */
  rest: string;
}

/** A server that says nothing at all for so long, on a busy machine too, does not answer. */
const firstByteMs = 5_000;
/** A server that has begun and says nothing for so long says nothing more. */
const silenceMs = 400;
/** After the last answer that was expected: time for one that was not. */
const graceMs = 15;
const longestMs = 15_000;

export interface Server {
  port: number;
  caPem: string;
}

export function openSocket({ port, caPem }: Server): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca: caPem, servername: 'localhost' });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      // A server may cut the connection of a bad client at any time.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** Sends the bytes on a connection of their own and reads until `wanted` answers came, the server closes, or silence. */
export async function exchange(server: Server, bytes: Buffer, wanted: number): Promise<Exchange> {
  const socket = await openSocket(server);
  let received = Buffer.alloc(0);
  return new Promise((resolve) => {
    let isOver = false;
    const over = (isClosed: boolean) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(deadline);
      clearTimeout(silence);
      socket.destroy();
      resolve({ ...answersIn(received), isClosed });
    };
    const deadline = setTimeout(() => over(false), longestMs);
    let silence = setTimeout(() => over(false), firstByteMs);
    socket.on('data', (part: Buffer) => {
      received = Buffer.concat([received, part]);
      clearTimeout(silence);
      const isEnough = answersIn(received).answers.length >= wanted;
      silence = setTimeout(() => over(false), isEnough ? graceMs : silenceMs);
    });
    socket.on('close', () => over(true));
    socket.write(bytes);
  });
}

/** Like a client that reads nothing before its whole body is on the way. */
export async function sendsFirst(server: Server, head: string, body: Buffer): Promise<string> {
  const socket = await openSocket(server);
  socket.pause();
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error('send the body: the connection was closed before its end')));
    socket.write(head);
    socket.write(body, () => resolve());
  });
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (part) => {
      text += part;
      if (answersIn(Buffer.from(text)).answers.length > 0) socket.destroy();
    });
    socket.on('close', () => resolve(text));
    socket.resume();
  });
}

export function answersIn(bytes: Buffer): Pick<Exchange, 'answers' | 'rest'> {
  const answers: RawAnswer[] = [];
  let at = 0;
  for (;;) {
    const found = answerAt(bytes, at);
    if (found === undefined) return { answers, rest: bytes.subarray(at).toString('latin1') };
    if (found.answer.code >= 200) answers.push(found.answer);
    at = found.end;
  }
}

function answerAt(bytes: Buffer, start: number): { answer: RawAnswer; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n', start);
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(start, headEnd).toString('latin1').split('\r\n');
  const code = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
  if (Number.isNaN(code)) return undefined;
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const bodyStart = headEnd + 4;
  if (code < 200 || code === 204 || code === 304) return { answer: { code, headers, body: '' }, end: bodyStart };
  if (headers.get('transfer-encoding') === 'chunked') {
    const read = chunkedAt(bytes, bodyStart);
    return read === undefined ? undefined : { answer: { code, headers, body: read.body }, end: read.end };
  }
  const end = bodyStart + Number(headers.get('content-length') ?? 0);
  if (end > bytes.length) return undefined;
  return { answer: { code, headers, body: bytes.subarray(bodyStart, end).toString('utf8') }, end };
}

function chunkedAt(bytes: Buffer, start: number): { body: string; end: number } | undefined {
  let at = start;
  let body = '';
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16);
    const end = lineEnd + 2 + size + 2;
    if (Number.isNaN(size) || end > bytes.length) return undefined;
    body += bytes.subarray(lineEnd + 2, lineEnd + 2 + size).toString('utf8');
    at = end;
    if (size === 0) return { body, end };
  }
}
