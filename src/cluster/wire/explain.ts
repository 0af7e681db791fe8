// Explains a network error to the person who has to fix it: refused, no such name, wrong CA, expired certificate, silence.
// The codes come from Node's sockets, TLS and undici. It also reads from the end of a request whether an API server is there.
import { urlWithoutUser } from '../../object/text/url-user.ts';
import type { Answer } from '../answer.ts';
import { CredentialsError, messageOf } from '../errors.ts';
import type { Exchanged } from './exchange.ts';
import type { Streamed } from './streaming.ts';

export interface Explained {
  message: string;
  fix: string;
  /** The error may end without help, because the server or the network is not up yet. */
  mayPass: boolean;
  /** The request did not begin: the address or a certificate may have changed, and with them the files that name them. */
  isUnopened: boolean;
}

interface Meaning {
  codes: readonly string[];
  /** The failed action; the address of the server follows. */
  action: string;
  state: string;
  /** Whether the message also quotes the error code or the words of the library. */
  shows?: 'code' | 'words';
  fix: string;
  mayPass?: true;
}

const meanings: readonly Meaning[] = [
  {
    codes: ['ECONNREFUSED'],
    action: 'connecting to',
    state: 'connection refused, nothing listens there',
    fix: 'check the server address and that the API server runs',
    mayPass: true,
  },
  {
    codes: ['ENOTFOUND', 'EAI_AGAIN'],
    action: 'connecting to',
    state: 'the name cannot be resolved',
    shows: 'code',
    fix: 'check the host name and the DNS of this machine',
    mayPass: true,
  },
  {
    codes: ['EHOSTUNREACH', 'ENETUNREACH'],
    action: 'connecting to',
    state: 'no route to it',
    shows: 'code',
    fix: 'check the address, routes and network policies',
    mayPass: true,
  },
  {
    codes: ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
    action: 'connecting to',
    state: 'no answer in time',
    fix: 'check the address, firewalls and network policies',
    mayPass: true,
  },
  {
    codes: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
    action: 'talking to',
    state: 'the connection was cut',
    shows: 'words',
    fix: 'look at the API server and at proxies between',
    mayPass: true,
  },
  {
    codes: ['CERT_HAS_EXPIRED'],
    action: 'verifying the certificate of',
    state: 'it, or its CA, has expired',
    fix: 'renew the certificate, and check the clock of this machine',
  },
  {
    codes: ['CERT_NOT_YET_VALID'],
    action: 'verifying the certificate of',
    state: 'it is not valid yet',
    fix: 'check the clock of this machine',
    mayPass: true,
  },
  {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    action: 'verifying the certificate of',
    state: 'it is made out to other names',
    shows: 'words',
    fix: 'use a server address that the certificate names, or set tls-server-name',
  },
  {
    codes: ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'],
    action: 'speaking TLS with',
    state: 'the server has no certificate for us, or not yet',
    shows: 'words',
    fix: 'look at the logs of the API server and at proxies between',
    mayPass: true,
  },
  {
    codes: ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO'],
    action: 'speaking TLS with',
    state: 'the other side does not speak TLS',
    fix: 'check the port and the scheme, http or https',
  },
];

const unopenedActions: readonly string[] = ['connecting to', 'verifying the certificate of', 'speaking TLS with'];

const wrongCaCodes: readonly string[] = [
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
];

/** `caSource` names the origin of the CA that the server certificate was checked against. */
export function explain(error: unknown, server: string, caSource: string): Explained {
  const code = codeOf(error);
  const meaning = meanings.find(({ codes }) => codes.includes(code)) ?? byFamily(code, caSource);
  const shown = meaning.shows === 'code' ? ` (${code})` : meaning.shows === 'words' ? ` (${messageOf(error)})` : '';
  return {
    message: `${meaning.action} "${server}": ${meaning.state}${shown}`,
    fix: meaning.fix,
    mayPass: meaning.mayPass === true,
    isUnopened: unopenedActions.includes(meaning.action),
  };
}

function byFamily(code: string, caSource: string): Omit<Meaning, 'codes'> {
  if (wrongCaCodes.includes(code))
    return {
      action: 'verifying the certificate of',
      state: `it is not signed by the CA of ${caSource}`,
      shows: 'code',
      fix: 'put the CA certificate of this very server into the kubeconfig',
    };
  if (code.startsWith('ERR_SSL_TLSV') || code.includes('ALERT'))
    return {
      action: 'speaking TLS with',
      state: 'the server refused our client certificate or our way of TLS',
      shows: 'words',
      fix: 'check that the client certificate is signed by the CA the server trusts and has not expired',
    };
  if (code.startsWith('ERR_OSSL') || code.startsWith('ERR_SSL'))
    return {
      action: 'preparing TLS for',
      state: 'a certificate or key cannot be used',
      shows: 'words',
      fix: 'check the CA, client certificate and key of the credentials',
    };
  if (code.startsWith('HPE_'))
    return {
      action: 'talking to',
      state: 'the answer is not HTTP',
      fix: 'check that address and port are those of a Kubernetes API server',
    };
  return {
    action: 'talking to',
    state: 'the request failed',
    shows: 'words',
    fix: 'look at the API server and at proxies between',
    mayPass: true,
  };
}

function codeOf(error: unknown): string {
  // Deeper than any library nests causes; the limit also ends a circular chain.
  const depthLimit = 5;
  for (
    let current = error, depth = 0;
    current instanceof Error && depth < depthLimit;
    current = current.cause, depth++
  ) {
    if (current.name === 'HTTPParserError') return 'HPE_INVALID';
    // A name with several addresses fails with one error for each.
    const first: unknown = current instanceof AggregateError ? current.errors[0] : undefined;
    for (const candidate of [current, first]) {
      if (candidate instanceof Error && 'code' in candidate && typeof candidate.code === 'string')
        return candidate.code;
    }
  }
  return '';
}

/** With an answer, without a connection, or without an answer that a living API server gives. */
export type Sign = 'answered' | 'unopened' | 'unheard';

/** What a proxy or a load balancer says of a server that is gone. An API server that says it only has its files read once more. */
export const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

export function signOf(result: Exchanged | Streamed, server: string, source: string): Sign | undefined {
  switch (result.kind) {
    case 'response':
      return gatewayStatuses.has(result.status) ? 'unheard' : 'answered';
    case 'ended':
    case 'tooLong':
      return 'answered';
    case 'error':
      if (explain(result.error, server, source).isUnopened) return 'unopened';
      return 'wasOpen' in result && result.wasOpen ? 'answered' : 'unheard';
    case 'silent':
      return 'unheard';
    case 'aborted':
    case 'notPermitted':
      return undefined;
    default:
      return result satisfies never;
  }
}

/** The answer to a request that no server has answered. */
export function unreached(
  { method, path }: { method: string; path: string },
  error: unknown,
  { server, proxy, source }: { server: string; proxy?: string | undefined; source: string },
): Extract<Answer, { kind: 'failed' }> {
  const { message, fix, mayPass } = explain(error, server, source);
  // A proxy that is down answers for every server, and nobody thinks of it.
  const by = proxy === undefined ? '' : ` by the proxy "${urlWithoutUser(proxy)}" of the kubeconfig`;
  const full = `${method} ${pathOnly(path)}${by}: ${message}`;
  const mend = proxy === undefined ? fix : `${fix}; look at the proxy too`;
  return { kind: 'failed', status: undefined, retryAfterMs: undefined, message: full, fix: mend, mayPass };
}

/** The answer to a request whose credentials cannot be read. */
export function credentialsFailed(error: unknown): Extract<Answer, { kind: 'failed' }> {
  const fix = error instanceof CredentialsError ? (error.faults[0]?.fix ?? '') : '';
  return { kind: 'failed', status: undefined, retryAfterMs: undefined, message: messageOf(error), fix };
}

/** Selectors and continue tokens are long and do not help in a message. */
export function pathOnly(path: string): string {
  const query = path.indexOf('?');
  return query < 0 ? path : path.slice(0, query);
}
