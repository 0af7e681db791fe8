// Sends bytes as they are and reads the answers that come: a client that parses as little as it can, so that it hides nothing from the server.
import { connect } from 'node:tls';

export interface RawAnswer {
  code: number;
  head: string;
  text: string;
}

const patienceMs = 10_000;

export interface ServerAddress {
  port: number;
  caPem: string;
  /** Absent: the address itself is in the certificate. */
  servername?: string;
}

/**
 * The answers up to the end of the connection, which the last request asks for. A watch that has begun ends it too. Interim
 * answers (1xx) count, but for 100. Behind a 101 the words are said, and everything that comes up to their echo is its text.
 */
export function exchange({ port, caPem, servername }: ServerAddress, bytes: Buffer, words = ''): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    const to = { port, host: '127.0.0.1', ca: caPem, ...(servername !== undefined && { servername }) };
    const socket = connect(to, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    let isOver = false;
    let isSaid = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      socket.destroy();
      resolve(answersIn(Buffer.concat(chunks).toString('latin1')));
    };
    const timer = setTimeout(over, patienceMs);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      const last = answersIn(Buffer.concat(chunks).toString('latin1')).at(-1);
      // A stream that stays open: its head says all that is asked here.
      if (/\r\ncontent-type: application\/json;stream=watch/i.test(last?.head ?? '')) over();
      if (last?.code !== 101) return;
      if (words === '' || last.text.endsWith(words)) over();
      else if (!isSaid) socket.write(words, 'latin1');
      isSaid = true;
    });
    socket.on('close', over);
    socket.on('error', (error) => (chunks.length > 0 ? over() : reject(error)));
  });
}

export function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    const code = Number(/^HTTP\/1\.1 (\d{3})/.exec(rest)?.[1]);
    if (end < 0 || Number.isNaN(code)) return answers;
    const head = rest.slice(0, end);
    rest = rest.slice(end + 4);
    if (code === 100) continue;
    if (code === 101) return [...answers, { code, head, text: rest }];
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (/\r\ntransfer-encoding: chunked/i.test(head)) {
      const body = unchunked(rest);
      answers.push({ code, head, text: body.text });
      rest = body.rest;
    } else {
      const size = Number(length ?? 0);
      answers.push({ code, head, text: rest.slice(0, size) });
      rest = rest.slice(size);
    }
  }
}

function unchunked(text: string): { text: string; rest: string } {
  let [at, body] = [0, ''];
  for (;;) {
    const line = text.indexOf('\r\n', at);
    const size = line < 0 ? Number.NaN : Number.parseInt(text.slice(at, line), 16);
    if (Number.isNaN(size)) return { text: body, rest: '' };
    if (size === 0) return { text: body, rest: text.slice(line + 4) };
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}
