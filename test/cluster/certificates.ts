// Certificates made at the moment of the test: a CA, servers and clients under it, some of them out of date.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;

export interface Pem {
  cert: string;
  key: string;
}

export interface Authority {
  cert: string;
  issue(options?: { name?: string; ageDays?: number }): Promise<Pem>;
}

export async function makeAuthority(name: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - 100 * dayMs),
    notAfter: new Date(Date.now() + 100 * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  let serial = 1;
  return {
    cert: ca.toString('pem'),
    async issue(options = {}) {
      const leafKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const ageMs = (options.ageDays ?? 0) * dayMs;
      const leaf = await x509.X509CertificateGenerator.create({
        serialNumber: (++serial).toString(16).padStart(4, '0'),
        subject: `CN=${options.name ?? '127.0.0.1'}`,
        issuer: ca.subject,
        notBefore: new Date(Date.now() - ageMs - dayMs),
        notAfter: new Date(Date.now() - ageMs + dayMs / 2),
        signingAlgorithm: algorithm,
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.SubjectAlternativeNameExtension([
            options.name === undefined ? { type: 'ip', value: '127.0.0.1' } : { type: 'dns', value: options.name },
          ]),
        ],
      });
      const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', leafKeys.privateKey)).toString('base64');
      const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8.match(/.{1,64}/g)?.join('\n')}\n-----END PRIVATE KEY-----\n`;
      return { cert: leaf.toString('pem'), key };
    },
  };
}
