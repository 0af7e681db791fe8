// Creates a certificate authority and serving certificates. In: names and addresses. Out: PEM texts.
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

export interface ServingCertificate {
  caPem: string;
  certPem: string;
  keyPem: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;
/** A client's clock may be slow; without backdating such a client would refuse a new certificate. */
const backdatedMs = dayMs;
const lifetimeMs = 3650 * dayMs;

export interface Authority {
  certPem: string;
  keyPem: string;
}

/** Without `authority` a new authority signs the certificate, and its key is discarded. */
export async function makeServingCertificate(
  clusterName: string,
  names: readonly string[],
  now: Date,
  authority?: Authority,
): Promise<ServingCertificate> {
  const x509 = await x509Library();
  const { certPem: caPem, keyPem: caKeyPem } = authority ?? (await makeAuthority(clusterName, now));
  const ca = new x509.X509Certificate(caPem);
  const caKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(caKeyPem), algorithm, false, [
    'sign',
  ]);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(8).toString('hex'),
    subject: `CN=${clusterName}`,
    issuer: ca.subject,
    ...validity(now),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: caKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(ca),
    ],
  });
  return { caPem, certPem: `${certificate.toString('pem')}\n`, keyPem: await keyPemOf(keys.privateKey) };
}

export async function makeAuthority(clusterName: string, now: Date): Promise<Authority> {
  const x509 = await x509Library();
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(8).toString('hex'),
    name: `CN=${clusterName}-ca`,
    ...validity(now),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certPem: `${ca.toString('pem')}\n`, keyPem: await keyPemOf(keys.privateKey) };
}

export async function x509Library() {
  // The library's decorators fail unless this polyfill is loaded first.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set('default', webcrypto as never);
  return x509;
}

function validity(now: Date): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now.getTime() - backdatedMs), notAfter: new Date(now.getTime() + lifetimeMs) };
}

export async function keyPemOf(key: webcrypto.CryptoKey): Promise<string> {
  const x509 = await x509Library();
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}
