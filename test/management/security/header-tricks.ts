// Headers that try to be somebody else, each from a seed: identities of proxies, several credentials, credentials in odd
// clothes, other methods and other paths. A trick is the lines between the request line and the end of the head.
import type { Dice } from '../model/dice.ts';

export interface Credentials {
  /** Of the sender, who may do little. */
  own: string;
  /** Of somebody else, good as well: it tells which of two credentials a server believes. */
  foreign: string;
}

type Trick = (dice: Dice, credentials: Credentials) => string[];

const people = ['root', 'admin', 'bob', 'system:admin', 'system:masters', 'masters'];

function own({ own: key }: Credentials): string {
  return `Authorization: Bearer ${key}`;
}

function cased(text: string, dice: Dice): string {
  return [...text].map((letter) => (dice.chance(50) ? letter.toUpperCase() : letter.toLowerCase())).join('');
}

const identityHeaders = [
  ...['Impersonate-User', 'Impersonate-Group', 'Impersonate-Uid', 'Impersonate-Extra-Scopes'],
  ...['X-Remote-User', 'X-Remote-Group', 'X-Remote-Extra-Scopes', 'X-Remote-Uid', 'X-Forwarded-User', 'X-User'],
  ...['X-Forwarded-Client-Cert', 'X-SSL-Client-S-DN', 'X-Client-Cert', 'X-Auth-Request-User', 'Remote-User'],
];

export const headerTricks: readonly Trick[] = [
  (dice, keys) => [own(keys), `${cased(dice.pick(identityHeaders), dice)}: ${dice.pick(people)}`],
  (dice, keys) => [
    `${dice.pick(identityHeaders)}: ${dice.pick(people)}`,
    own(keys),
    `Impersonate-User: ${dice.pick(people)}`,
  ],
  (dice, keys) => [
    own(keys),
    `Connection: ${dice.pick(['Authorization', 'Impersonate-User', 'close, Authorization'])}`,
    `X-Remote-User: ${dice.pick(people)}`,
  ],
  // Two credentials: whichever of them a server takes, another reader takes the other.
  (_, keys) => [own(keys), `Authorization: Bearer ${keys.foreign}`],
  (_, keys) => [`Authorization: Bearer ${keys.foreign}`, own(keys)],
  (dice, keys) => [own(keys), `${cased('authorization', dice)}: ${dice.pick(['Basic cm9vdDpyb290', 'Bearer x', ''])}`],
  (dice, keys) => [`Authorization: Bearer ${keys.own}${dice.pick([', ', ',', ' ', ';'])}Bearer ${keys.foreign}`],
  (dice, keys) => [`Authorization:${dice.pick(['\t', ' \t ', '\u000b', '\u000c'])}Bearer ${keys.own}`],
  (dice, keys) => [
    `Authorization: ${dice.pick(['Bearer\t', 'Bearer\u00a0', 'Bearer,', 'Bearer:', 'Bearer="'])}${keys.foreign}`,
  ],
  // Folded lines and spaces before the colon.
  (dice, keys) => [`Authorization: Bearer${dice.pick(['\r\n ', '\r\n\t', '\r\n  '])}${keys.foreign}`],
  (dice, keys) => [`Authorization${dice.pick([' ', '\t', '\u0000'])}: Bearer ${keys.foreign}`],
  (dice, keys) => [own(keys), `X-Note: a${dice.pick(['\r', '\n', '\u0000'])}Impersonate-User: root`],
  // Credentials in places where none belong.
  (dice, { foreign }) => [
    `${dice.pick(['Proxy-Authorization', 'X-Authorization', 'X-Access-Token', 'Authentication'])}: Bearer ${foreign}`,
  ],
  (dice, { foreign }) => [
    `Cookie: ${dice.pick(['token', 'Authorization', 'session'])}=${dice.pick(['', 'Bearer '])}${foreign}`,
  ],
  (_, { foreign }) => [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${Buffer.from(foreign).toString('base64url')}, v4.channel.k8s.io`,
  ],
  // Another method or another path.
  (dice, keys) => [own(keys), `${dice.pick(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])}: DELETE`],
  (dice, keys) => [
    own(keys),
    `${dice.pick(['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Path', 'X-Forwarded-Prefix'])}: /kubernetes/management/apis/management.platform/v1/ownedaccesskeys/bobs`,
  ],
  (dice, keys) => [
    own(keys),
    `X-Forwarded-For: ${dice.pick(['127.0.0.1', '::1', '10.0.0.1, 127.0.0.1'])}`,
    `Forwarded: for=127.0.0.1;by=root`,
  ],
  (dice, keys) => [own(keys), `Host: ${dice.pick(['evil.example', 'localhost:8443', '127.0.0.1'])}`],
  (dice, keys) => [own(keys), `Expect: ${dice.pick(['100-continue', '200-ok', '100-continue, x'])}`],
  (dice, keys) => [own(keys), ...Array.from({ length: 50 + dice.below(50) }, (_, at) => `X-Many-${at}: ${at}`)],
  (dice, keys) => [own(keys), `${'A'.repeat(100 + dice.below(900))}: Impersonate-User`],
  (dice, keys) => [`Authorization: Bearer ${keys.own.slice(0, -1 - dice.below(8))}`],
  (dice, keys) => [`Authorization: ${dice.pick(['Token', 'ApiKey', 'Negotiate', 'Digest'])} ${keys.foreign}`],
];
