// Makes a client certificate in two ways: a key pair with a signing request for another authority, or a certificate signed by an
// authority of our own.
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import type { JsonNameParams } from '@peculiar/x509';
import { type Authority, keyPemOf, x509Library } from './certificates.ts';

export interface ClientIdentity {
  user: string;
  group: string;
}

export interface ClientKeyPair {
  keyPem: string;
  requestPem: string;
}

export interface SignedClient {
  certificatePem: string;
  keyPem: string;
  /** Hexadecimal, without leading zeros. */
  serial: string;
  notAfterMs: number;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
/** A client's or server's clock may be slow by some minutes; the signer of Kubernetes does the same. */
const backdatedMs = 5 * 60_000;
/** 128 bits, so that two serials never meet. */
const serialBytes = 16;

export async function makeSigningRequest(identity: ClientIdentity): Promise<ClientKeyPair> {
  const x509 = await x509Library();
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name(nameOf(identity)),
    keys,
    signingAlgorithm: algorithm,
  });
  return { keyPem: await keyPemOf(keys.privateKey), requestPem: `${request.toString('pem')}\n` };
}

/** For TLS clients only, and never beyond the end of the authority. Throws when the authority has expired or does not fit its key. */
export async function signClient(
  authority: Authority,
  identity: ClientIdentity,
  life: { now: Date; seconds: number },
): Promise<SignedClient> {
  const x509 = await x509Library();
  const issuer = new x509.X509Certificate(authority.certPem);
  const signer = await signerOf(authority.keyPem);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const nowMs = life.now.getTime();
  if (issuer.notAfter.getTime() <= nowMs) throw new Error('sign a client certificate: want a valid CA, it has expired');
  const notAfter = new Date(Math.min(nowMs + life.seconds * 1000, issuer.notAfter.getTime()));
  const serial = positiveSerial();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: new x509.Name(nameOf(identity)),
    // The name with the bytes of the certificate: verifiers compare them.
    issuer: issuer.subjectName,
    notBefore: new Date(nowMs - backdatedMs),
    notAfter,
    signingAlgorithm: signer.algorithm,
    publicKey: keys.publicKey,
    signingKey: signer.key,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  if (!(await certificate.verify({ publicKey: await issuer.publicKey.export(), signatureOnly: true })))
    throw new Error('sign a client certificate: want the private key of the CA certificate, found another key');
  const certificatePem = `${certificate.toString('pem')}\n`;
  const notAfterMs = certificate.notAfter.getTime();
  return { certificatePem, keyPem: await keyPemOf(keys.privateKey), serial: plainSerial(serial), notAfterMs };
}

/** As X509Certificate of Node and openssl print it, in small letters. */
export function plainSerial(hex: string): string {
  return hex.toLowerCase().replace(/^0+(?=.)/, '');
}

/** Texts are UTF-8: a PrintableString must not hold the @ of a user name, and Go refuses one that does. */
function nameOf({ user, group }: ClientIdentity): JsonNameParams {
  return [{ CN: [{ utf8String: user }] }, { O: [{ utf8String: group }] }];
}

/** A first byte from 1 to 127: neither negative nor shorter than it looks. */
function positiveSerial(): string {
  const bytes = randomBytes(serialBytes);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

async function signerOf(keyPem: string) {
  const key = createPrivateKey(keyPem);
  const signing = signingAlgorithm(key.asymmetricKeyType, key.asymmetricKeyDetails?.namedCurve);
  const der = key.export({ type: 'pkcs8', format: 'der' });
  return { algorithm: signing, key: await webcrypto.subtle.importKey('pkcs8', der, signing, false, ['sign']) };
}

function signingAlgorithm(type: string | undefined, curve: string | undefined) {
  if (type === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  if (type === 'ec' && curve === 'prime256v1') return algorithm;
  if (type === 'ec' && curve === 'secp384r1') return { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };
  if (type === 'ed25519') return { name: 'Ed25519' };
  throw new Error(
    `sign a client certificate: want a key of RSA, P-256, P-384 or Ed25519, found ${type} ${curve ?? ''}`,
  );
}
