// Forms that ask to change the protocol, as exec, attach and port-forward do, and clusters that agree, refuse, or change to something else. Written from
// DESIGN-management 4.3 and the tests of proxies it names: any request with `Upgrade` counts as `create`, an upgraded list or watch is 400, and only
// websocket and SPDY/3.1 are protocols.
import type { MatrixRequest } from '../../matrix-case.ts';
import type { Form, Sent } from './forms.ts';

/** Tells the cluster of the fuzz how to answer. It travels through the proxy like any header that nobody knows. */
const behindHeader = 'X-Behind';

/** What a client of Kubernetes sends that has no other place for its credential. */
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

const webSocket: [string, string][] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['Sec-WebSocket-Version', '13'],
];
const withProtocol: [string, string][] = [...webSocket, ['Sec-WebSocket-Protocol', 'v5.channel.k8s.io']];
const spdy: [string, string][] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'SPDY/3.1'],
  ['X-Stream-Protocol-Version', 'v5.channel.k8s.io'],
  ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
];

const isSelection = (request: MatrixRequest) =>
  request.isResource && ['list', 'watch', 'deletecollection'].includes(request.verb);
const asCreate = (request: MatrixRequest): MatrixRequest => ({ ...request, verb: 'create' });

/** Without its body, because a protocol is changed behind a head alone. */
function upgraded(sent: Sent, method: string, headers: readonly [string, string][], behind: string): Sent {
  const kept = sent.headers.filter(([name]) => !/^content-/i.test(name));
  return { method, target: sent.target, headers: [...kept, ...headers, [behindHeader, behind]], body: undefined };
}

/** The credential of the request among the protocols. */
function withCredential({ headers }: Sent): [string, string][] {
  const credential = headers.find(([name]) => name === 'Authorization')?.[1].replace('Bearer ', '') ?? '';
  const protocols = `${bearerProtocol}${Buffer.from(credential).toString('base64url')}, v5.channel.k8s.io`;
  return [...webSocket, ['Sec-WebSocket-Protocol', protocols]];
}

const named =
  (change: (sent: Sent) => Sent): Form['apply'] =>
  (sent, _dice, request) =>
    request?.isResource === true && request.name !== '' && !isSelection(request) ? change(sent) : undefined;

export const upgradedForms: readonly Form[] = [
  {
    name: 'a session over WebSocket',
    means: 'same',
    answersAs: 101,
    asks: asCreate,
    apply: named((sent) => upgraded(sent, 'GET', withProtocol, 'switches')),
  },
  {
    name: 'a session over SPDY',
    means: 'same',
    answersAs: 101,
    asks: asCreate,
    apply: named((sent) => upgraded(sent, 'POST', spdy, 'switches')),
  },
  {
    name: 'a session whose credential is among its protocols',
    means: 'same',
    answersAs: 101,
    asks: asCreate,
    apply: named((sent) => {
      const headers = sent.headers.filter(([name]) => name !== 'Authorization');
      return upgraded({ ...sent, headers }, 'GET', withCredential(sent), 'switches');
    }),
  },
  {
    name: 'a session to which the cluster says no',
    means: 'same',
    answersAs: 409,
    asks: asCreate,
    apply: named((sent) => upgraded(sent, 'GET', withProtocol, 'says no')),
  },
  {
    name: 'a session that the cluster takes for another',
    means: 'same',
    answersAs: 502,
    asks: asCreate,
    apply: named((sent) => upgraded(sent, 'POST', spdy, 'switches to another')),
  },
  {
    name: 'a session with the credential in two places',
    means: 'refused',
    apply: named((sent) => upgraded(sent, 'GET', withCredential(sent), 'switches')),
  },
  {
    name: 'a list that changes its protocol',
    means: 'refused',
    apply: (sent, _dice, request) =>
      request?.isResource === true && ['list', 'watch'].includes(request.verb)
        ? upgraded(sent, 'GET', withProtocol, 'switches')
        : undefined,
  },
  {
    name: 'a path that changes its protocol',
    means: 'notMore',
    asks: asCreate,
    apply: (sent, _dice, request) =>
      request?.isResource === false ? upgraded(sent, 'GET', withProtocol, 'switches') : undefined,
  },
  ...(['h2c', 'websocket, h2c', 'TLS/1.2', 'SPDY/3'] as const).map(
    (protocol): Form => ({
      name: `a session over ${protocol}`,
      means: 'refused',
      apply: named((sent) => {
        const asked: [string, string][] = [
          ['Connection', 'Upgrade'],
          ['Upgrade', protocol],
        ];
        return upgraded(sent, 'GET', asked, 'switches');
      }),
    }),
  ),
  {
    name: 'a session without the word in Connection',
    means: 'refused',
    apply: named((sent) => upgraded(sent, 'GET', withProtocol.slice(1), 'switches')),
  },
  {
    name: 'a session with a body',
    means: 'notMore',
    asks: asCreate,
    apply: (sent) =>
      sent.body === undefined
        ? undefined
        : { ...sent, headers: [...sent.headers, ...withProtocol, [behindHeader, 'switches']] },
  },
];
