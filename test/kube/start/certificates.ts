// A certificate authority for one test cluster. It issues client certificates at any time, including short-lived ones, and
// gives kube-controller-manager the key for signing certificate requests.
import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import type { ClientCertificate } from '../../contract/client.ts';

export interface ClusterCa {
  certificatePath: string;
  keyPath: string;
  /** `lifetimeMs` counts from now; a negative one makes a certificate that has expired already. */
  issue(user: string, groups: string[], lifetimeMs?: number): Promise<ClientCertificate>;
  /** The subject as it is written, in the order of its parts; another purpose makes a certificate for servers. */
  issueWith(
    subject: Record<string, string[]>[],
    more?: { lifetimeMs?: number; purpose?: 'client' | 'server' },
  ): Promise<ClientCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;
/** Test and server share one clock; a minute covers rounding to seconds. */
const backdateMs = 60_000;

export async function createCa(folder: string): Promise<ClusterCa> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const now = Date.now();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=hostward-test-ca',
    notBefore: new Date(now - backdateMs),
    notAfter: new Date(now + dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const certificatePath = join(folder, 'client-ca.crt');
  const keyPath = join(folder, 'client-ca.key');
  writeFileSync(certificatePath, `${root.toString('pem')}\n`);
  writeFileSync(keyPath, await keyPem(keys.privateKey), { mode: 0o600 });
  const issueWith: ClusterCa['issueWith'] = async (subject, { lifetimeMs = dayMs, purpose = 'client' } = {}) => {
    const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: root.subject,
      notBefore: new Date(Date.now() - backdateMs),
      notAfter: new Date(Date.now() + lifetimeMs),
      signingAlgorithm: algorithm,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: [
        new x509.ExtendedKeyUsageExtension([purpose === 'client' ? clientAuth : serverAuth]),
        // With it, a server that knows two authorities of one name finds the right one.
        await x509.AuthorityKeyIdentifierExtension.create(root),
      ],
    });
    return { certificatePem: `${certificate.toString('pem')}\n`, keyPem: await keyPem(own.privateKey) };
  };
  return {
    certificatePath,
    keyPath,
    issueWith,
    issue: (user, groups, lifetimeMs = dayMs) =>
      issueWith([{ CN: [user] }, ...groups.map((group) => ({ O: [group] }))], { lifetimeMs }),
  };
}

async function keyPem(key: CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}
