// A certificate authority for one test cluster. It issues client certificates at any time, including short-lived ones, and
// gives kube-controller-manager the key for signing certificate requests.
import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

export interface ClientCertificate {
  certificatePem: string;
  keyPem: string;
}

export interface ClusterCa {
  certificatePath: string;
  keyPath: string;
  /** `lifetimeMs` counts from now. */
  issue(user: string, groups: string[], lifetimeMs?: number): Promise<ClientCertificate>;
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
    ],
  });
  const certificatePath = join(folder, 'client-ca.crt');
  const keyPath = join(folder, 'client-ca.key');
  writeFileSync(certificatePath, `${root.toString('pem')}\n`);
  writeFileSync(keyPath, await keyPem(keys.privateKey), { mode: 0o600 });
  return {
    certificatePath,
    keyPath,
    async issue(user, groups, lifetimeMs = dayMs) {
      const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const certificate = await x509.X509CertificateGenerator.create({
        subject: new x509.Name([{ CN: [user] }, ...groups.map((group) => ({ O: [group] }))]).toString(),
        issuer: root.subject,
        notBefore: new Date(Date.now() - backdateMs),
        notAfter: new Date(Date.now() + lifetimeMs),
        signingAlgorithm: algorithm,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
      });
      return { certificatePem: `${certificate.toString('pem')}\n`, keyPem: await keyPem(own.privateKey) };
    },
  };
}

async function keyPem(key: CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}
