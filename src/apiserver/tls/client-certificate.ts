// Reads the user of a client certificate: common name = user, organisations = groups. In: a connection whose handshake asked for a
// certificate, the time. Out: the user, or the reason why the certificate is not valid. The handshake has checked chain and
// purpose.
import { createHash, X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type PeerCertificate, TLSSocket } from 'node:tls';

export type CertificateHolder =
  /** No certificate, or one without a common name. */
  | { kind: 'none' }
  /** Of an unknown authority, expired, or not made for clients: such a request has wrong credentials. */
  | { kind: 'refused'; why: string }
  | { kind: 'user'; name: string; uid: string | undefined; groups: readonly string[]; credential: string };

interface Read {
  holder: CertificateHolder;
  fromMs: number;
  untilMs: number;
}

/** A connection has one certificate for its whole life, and reading it takes longer than answering a small request. */
const readOf = new WeakMap<TLSSocket, Read>();
/** The attribute that carries a uid, as kube-apiserver reads it. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

/** Looks at the dates again at each call: a connection may outlive its certificate. */
export function certificateHolder({ socket }: IncomingMessage, now: Date): CertificateHolder {
  if (!(socket instanceof TLSSocket)) return { kind: 'none' };
  let read = readOf.get(socket);
  if (read === undefined) {
    read = readOnce(socket);
    readOf.set(socket, read);
  }
  if (read.holder.kind === 'none') return read.holder;
  if (now.getTime() < read.fromMs) return { kind: 'refused', why: 'the certificate is not valid yet' };
  if (now.getTime() > read.untilMs) return { kind: 'refused', why: 'the certificate has expired' };
  return read.holder;
}

function readOnce(socket: TLSSocket): Read {
  const certificate = socket.getPeerCertificate() as PeerCertificate | null;
  // Without a certificate Node returns an object without members, and null when the client has hung up.
  if (certificate?.raw === undefined) return { holder: { kind: 'none' }, fromMs: 0, untilMs: 0 };
  const untilMs = Date.parse(certificate.valid_to);
  const fromMs = Date.parse(certificate.valid_from);
  const holder = socket.authorized
    ? holderOf(certificate)
    : { kind: 'refused' as const, why: String(socket.authorizationError) };
  return { holder, fromMs, untilMs };
}

function holderOf({ subject, raw }: PeerCertificate): CertificateHolder {
  const attributes = subject as unknown as Readonly<Record<string, string | string[] | undefined>>;
  const name = list(attributes['CN']).at(-1) ?? '';
  if (name === '') return { kind: 'none' };
  const [uid, ...otherUids] = list(attributes[uidAttribute]);
  if (otherUids.length > 0) return { kind: 'refused', why: 'the certificate has more than one uid' };
  if (uid === '') return { kind: 'refused', why: 'the uid of the certificate is empty' };
  const credential = `X509SHA256=${createHash('sha256').update(raw).digest('hex')}`;
  return { kind: 'user', name, uid, groups: list(attributes['O']), credential };
}

function list(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : [value].flat();
}

/** TLS settings of a server that asks for client certificates and lets every client in; the request is judged later. */
export function certificateRequest(authorities: string | undefined): {
  ca?: string;
  requestCert?: boolean;
  rejectUnauthorized?: boolean;
} {
  if (authorities === undefined) return {};
  checkAuthorities(authorities);
  return { ca: authorities, requestCert: true, rejectUnauthorized: false };
}

/** Throws when a PEM text holds no certificate, or one that cannot be read: Node would ignore both and know no authority. */
export function checkAuthorities(pem: string): void {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error('want at least one certificate in PEM form, found none');
  found.forEach((text, index) => {
    try {
      new X509Certificate(text);
    } catch (cause) {
      throw new Error(`certificate ${index + 1} of ${found.length} cannot be read`, { cause });
    }
  });
}
