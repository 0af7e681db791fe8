// Says in words what a network error means for the person who has to mend it: refused, no such name, wrong CA, expired
// certificate, silence. Codes come from Node's sockets, TLS and undici.
import { messageOf } from './errors.ts';

export interface Explained {
  message: string;
  fix: string;
}

export function explain(error: unknown, server: string, caSource: string): Explained {
  const code = codeOf(error);
  const at = `"${server}"`;
  switch (code) {
    case 'ECONNREFUSED':
      return {
        message: `connecting to ${at}: connection refused, nothing listens there`,
        fix: 'check the server address and that the API server runs',
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        message: `connecting to ${at}: the name cannot be resolved (${code})`,
        fix: 'check the host name and the DNS of this machine',
      };
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return {
        message: `connecting to ${at}: no route to it (${code})`,
        fix: 'check the address, routes and network policies',
      };
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return {
        message: `connecting to ${at}: no answer in time`,
        fix: 'check the address, firewalls and network policies',
      };
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return {
        message: `talking to ${at}: the connection was cut (${messageOf(error)})`,
        fix: 'look at the API server and at proxies between',
      };
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'CERT_SIGNATURE_FAILURE':
      return {
        message: `verifying the certificate of ${at}: it is not signed by the CA of ${caSource} (${code})`,
        fix: 'put the CA certificate of this very server into the kubeconfig',
      };
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return {
        message: `verifying the certificate of ${at}: ${code === 'CERT_HAS_EXPIRED' ? 'it, or its CA, has expired' : 'it is not valid yet'}`,
        fix: 'renew the certificate, and check the clock of this machine',
      };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        message: `verifying the certificate of ${at}: it is made out to other names (${messageOf(error)})`,
        fix: 'use a server address that the certificate names, or set tls-server-name',
      };
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'EPROTO':
      return {
        message: `speaking TLS with ${at}: the other side does not (${messageOf(error)})`,
        fix: 'check the port and the scheme, http or https',
      };
    default:
      return explainTlsAlert(code, error, at);
  }
}

function explainTlsAlert(code: string, error: unknown, at: string): Explained {
  if (code.startsWith('ERR_SSL_TLSV') || code.includes('ALERT'))
    return {
      message: `speaking TLS with ${at}: the server refused our client certificate or our way of TLS (${messageOf(error)})`,
      fix: 'check that the client certificate is signed by the CA the server trusts and has not expired',
    };
  if (code.startsWith('ERR_OSSL') || code.startsWith('ERR_SSL'))
    return {
      message: `preparing TLS for ${at}: a certificate or key cannot be used (${messageOf(error)})`,
      fix: 'check the CA, client certificate and key of the credentials',
    };
  if (code.startsWith('HPE_'))
    return {
      message: `talking to ${at}: the answer is not HTTP (${code})`,
      fix: 'check that address and port are those of a Kubernetes API server',
    };
  return { message: `talking to ${at}: ${messageOf(error)}`, fix: 'look at the API server and at proxies between' };
}

function codeOf(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const first: unknown = current instanceof AggregateError ? current.errors[0] : undefined;
    if (current.name === 'HTTPParserError') return 'HPE_INVALID';
    for (const candidate of [current, first]) {
      if (candidate instanceof Error && 'code' in candidate && typeof candidate.code === 'string')
        return candidate.code;
    }
  }
  return '';
}
