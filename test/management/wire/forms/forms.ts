// The forms in which one request can travel, and what each may change: nothing; or it may be refused, but never allow more; or it must be refused. Written
// from DESIGN-management and HTTP's own rules, not from the server.
import type { MatrixRequest } from '../../matrix-case.ts';
import type { Dice } from '../../model/dice.ts';
import type { WireRequest } from '../request-url.ts';

export interface Sent {
  method: string;
  target: string;
  /** Name and value, in the order of sending. */
  headers: [string, string][];
  body: Buffer | undefined;
}

export interface Form {
  name: string;
  /** `same`: answered as without the form. `notMore`: or refused. `refused`: a status from 400 on, whoever asks. */
  means: 'same' | 'notMore' | 'refused';
  /** What the request asks in this form; absent: the same. */
  asks?(request: MatrixRequest): MatrixRequest;
  /** The status of an allowed request in this form, which asks for a session; absent: any that is no refusal. */
  answersAs?: number;
  /** Undefined: this request cannot take the form. */
  apply(sent: Sent, dice: Dice, request?: MatrixRequest): Sent | undefined;
}

/** The request as any client would send it. */
export function plain(key: string, { method, path, body, type = 'application/json' }: WireRequest): Sent {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers: [string, string][] = [
    ['Host', 'localhost'],
    ['Authorization', `Bearer ${key}`],
    ['Accept', 'application/json'],
  ];
  if (bytes !== undefined) headers.push(['Content-Type', type], ['Content-Length', String(bytes.length)]);
  return { method, target: path, headers, body: bytes };
}

/** `isLast`: the server closes the connection behind it. */
export function bytesOf({ method, target, headers, body }: Sent, isLast: boolean): Buffer {
  const lines = [...headers, ...(isLast ? [['Connection', 'close'] as const] : [])].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]);
}

const withHeader = (sent: Sent, name: string, value: string): Sent => ({
  ...sent,
  headers: [...sent.headers, [name, value]],
});
const withTarget = (sent: Sent, change: (path: string) => string): Sent => {
  const [path = '', query] = sent.target.split(/\?(.*)/s);
  return { ...sent, target: change(path) + (query === undefined ? '' : `?${query}`) };
};
const mapHeaders = (sent: Sent, change: (name: string, value: string) => [string, string]): Sent => ({
  ...sent,
  headers: sent.headers.map(([name, value]) => change(name, value)),
});
const withoutLength = (sent: Sent): Sent => ({
  ...sent,
  headers: sent.headers.filter(([name]) => name.toLowerCase() !== 'content-length'),
});

/** A letter of a step, written as its bytes. */
function encoded(path: string, dice: Dice): string {
  const letters = [...path].flatMap((char, at) => (/[a-z]/.test(char) ? [at] : []));
  const at = letters[dice.below(letters.length)] as number;
  return `${path.slice(0, at)}%${path.charCodeAt(at).toString(16)}${path.slice(at + 1)}`;
}

function insertedBeforeAStep(path: string, step: string, dice: Dice): string {
  const slashes = [...path].flatMap((char, at) => (char === '/' ? [at] : []));
  const at = slashes[dice.below(slashes.length)] as number;
  return `${path.slice(0, at)}${step}${path.slice(at)}`;
}

export const forms: readonly Form[] = [
  { name: 'as it is', means: 'same', apply: (sent) => sent },
  {
    name: 'header names in capitals',
    means: 'same',
    apply: (sent) => mapHeaders(sent, (name, value) => [name.toUpperCase(), value]),
  },
  {
    name: 'the scheme in small letters, with spaces',
    means: 'same',
    apply: (sent) =>
      mapHeaders(sent, (name, value) => [
        name,
        name === 'Authorization' ? value.replace('Bearer ', 'bearer   ') : value,
      ]),
  },
  {
    name: 'headers in another order',
    means: 'same',
    apply: (sent) => ({ ...sent, headers: sent.headers.toReversed() }),
  },
  { name: 'a header that nobody knows', means: 'same', apply: (sent) => withHeader(sent, 'X-Unknown', 'yes') },
  {
    name: 'a claim of another user in X-Remote-User',
    means: 'same',
    apply: (sent) => withHeader(withHeader(sent, 'X-Remote-User', 'admin'), 'X-Remote-Group', 'system:masters'),
  },
  {
    name: 'a claim of another method',
    means: 'same',
    apply: (sent) => withHeader(sent, 'X-HTTP-Method-Override', 'GET'),
  },
  {
    name: 'a claim of another path',
    means: 'same',
    apply: (sent) => withHeader(withHeader(sent, 'X-Original-URL', '/healthz'), 'X-Rewrite-URL', '/healthz'),
  },
  {
    name: 'an empty query',
    means: 'same',
    apply: (sent) => (sent.target.includes('?') ? undefined : { ...sent, target: `${sent.target}?` }),
  },
  {
    name: 'a body in chunks',
    means: 'same',
    apply: (sent, dice) => {
      if (sent.body === undefined) return undefined;
      const size = 1 + dice.below(7);
      const pieces: Buffer[] = [];
      for (let at = 0; at < sent.body.length; at += size) {
        const piece = sent.body.subarray(at, at + size);
        pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
      }
      return {
        ...withHeader(withoutLength(sent), 'Transfer-Encoding', 'chunked'),
        body: Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]),
      };
    },
  },
  {
    name: 'a charset of the body',
    means: 'notMore',
    apply: (sent) =>
      sent.body === undefined
        ? undefined
        : mapHeaders(sent, (name, value) => [name, name === 'Content-Type' ? `${value}; charset=utf-8` : value]),
  },
  {
    name: 'space around the body',
    means: 'same',
    apply: (sent) => {
      if (sent.body === undefined) return undefined;
      const body = Buffer.from(` \n${sent.body.toString()}\n `);
      return { ...withHeader(withoutLength(sent), 'Content-Length', String(body.length)), body };
    },
  },
  {
    name: 'the whole URL as the target',
    means: 'notMore',
    apply: (sent) => ({ ...sent, target: `https://localhost${sent.target}` }),
  },
  {
    name: 'the URL of another server as the target',
    means: 'notMore',
    apply: (sent) => ({ ...sent, target: `https://elsewhere.example${sent.target}` }),
  },
  {
    name: 'an encoded letter',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => encoded(path, dice)),
  },
  {
    name: 'a letter encoded twice',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => encoded(path, dice).replace('%', '%25')),
  },
  {
    name: 'two slashes',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => insertedBeforeAStep(path, '/', dice)),
  },
  {
    name: 'a step that stays',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => insertedBeforeAStep(path, '/.', dice)),
  },
  {
    name: 'a step there and back',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => insertedBeforeAStep(path, '/healthz/..', dice)),
  },
  {
    name: 'an encoded step there and back',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => insertedBeforeAStep(path, '/healthz/%2e%2e', dice)),
  },
  {
    name: 'an encoded slash',
    means: 'notMore',
    apply: (sent) => withTarget(sent, (path) => path.replace(/\/([^/]*)$/, '%2f$1')),
  },
  {
    name: 'a back slash',
    means: 'notMore',
    apply: (sent) => withTarget(sent, (path) => path.replace(/\/([^/]*)$/, '\\$1')),
  },
  {
    name: 'parameters of a step',
    means: 'notMore',
    apply: (sent, dice) => withTarget(sent, (path) => insertedBeforeAStep(path, ';a=b', dice)),
  },
  { name: 'a slash at the end', means: 'notMore', apply: (sent) => withTarget(sent, (path) => `${path}/`) },
  { name: 'an encoded zero', means: 'notMore', apply: (sent) => withTarget(sent, (path) => `${path}%00`) },
  { name: 'a fragment', means: 'notMore', apply: (sent) => ({ ...sent, target: `${sent.target}#/healthz` }) },
  { name: 'the path in capitals', means: 'notMore', apply: (sent) => withTarget(sent, (path) => path.toUpperCase()) },
  {
    name: 'a word to upgrade',
    means: 'notMore',
    apply: (sent) => withHeader(withHeader(sent, 'Connection', 'Upgrade'), 'Upgrade', 'websocket'),
  },
  {
    name: 'a word to upgrade to HTTP/2',
    means: 'notMore',
    apply: (sent) => withHeader(withHeader(sent, 'Connection', 'Upgrade, HTTP2-Settings'), 'Upgrade', 'h2c'),
  },
  {
    name: 'the credential as a header of this connection',
    means: 'notMore',
    apply: (sent) => withHeader(sent, 'Connection', 'authorization'),
  },
  {
    name: 'an expectation',
    means: 'notMore',
    apply: (sent) => (sent.body === undefined ? undefined : withHeader(sent, 'Expect', '100-continue')),
  },
  {
    name: 'a body for a GET',
    means: 'notMore',
    apply: (sent) =>
      sent.body !== undefined ? undefined : { ...withHeader(sent, 'Content-Length', '2'), body: Buffer.from('{}') },
  },
  { name: 'two credentials', means: 'refused', apply: (sent) => withHeader(sent, 'Authorization', 'Bearer another') },
  {
    name: 'two lengths',
    means: 'refused',
    apply: (sent) =>
      sent.body === undefined ? undefined : withHeader(sent, 'Content-Length', String(sent.body.length + 1)),
  },
  {
    name: 'a length and chunks',
    means: 'refused',
    apply: (sent) =>
      sent.body === undefined
        ? undefined
        : { ...withHeader(sent, 'Transfer-Encoding', 'chunked'), body: Buffer.from('0\r\n\r\n') },
  },
  {
    name: 'a coding that only ends in chunks',
    means: 'refused',
    apply: (sent) =>
      sent.body === undefined ? undefined : withHeader(withoutLength(sent), 'Transfer-Encoding', 'xchunked'),
  },
  {
    name: 'a name with a space before its colon',
    means: 'refused',
    apply: (sent) => withHeader(sent, 'X-Unknown ', 'yes'),
  },
  { name: 'a folded header', means: 'refused', apply: (sent) => withHeader(sent, 'X-Unknown', 'a\r\n b') },
  { name: 'a zero in a header', means: 'refused', apply: (sent) => withHeader(sent, 'X-Unknown', 'a\0b') },
  {
    name: 'a body that is compressed',
    means: 'notMore',
    apply: (sent) => (sent.body === undefined ? undefined : withHeader(sent, 'Content-Encoding', 'gzip')),
  },
];
