// A certificate authority of the cluster's own and a serving certificate from it. In: names and addresses. Out: PEM texts.
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

export interface ServingCertificate {
  caPem: string;
  certPem: string;
  keyPem: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;
/** Clocks of clients may be behind ours. */
const backdatedMs = dayMs;
const lifetimeMs = 3650 * dayMs;

export async function makeServingCertificate(
  clusterName: string,
  names: readonly string[],
  now: Date,
): Promise<ServingCertificate> {
  // Decorators in the library want this polyfill before anything else of it is loaded.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set('default', webcrypto as never);
  const validity = { notBefore: new Date(now.getTime() - backdatedMs), notAfter: new Date(now.getTime() + lifetimeMs) };
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(8).toString('hex'),
    name: `CN=${clusterName}-ca`,
    ...validity,
    signingAlgorithm: algorithm,
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(8).toString('hex'),
    subject: `CN=${clusterName}`,
    issuer: ca.subject,
    ...validity,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
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
  const keyDer = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const keyPem = x509.PemConverter.encode(keyDer, 'PRIVATE KEY');
  return { caPem: `${ca.toString('pem')}\n`, certPem: `${certificate.toString('pem')}\n`, keyPem: `${keyPem}\n` };
}
