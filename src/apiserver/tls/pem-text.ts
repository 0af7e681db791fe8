// Reads certificates and private keys in PEM. In: texts of files. Out: what they hold, or in words what was found instead. The words
// of the parsers are those of a library.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

export type Read<Value> = { kind: 'ok'; value: Value } | { kind: 'wrong'; sentence: string };

export interface PairProblem {
  member: 'certificate' | 'key';
  sentence: string;
}

/** Undefined when the key belongs to the first certificate and all certificates can be read. */
export function pairProblem(certPem: string, keyPem: string, certificateFile: string): PairProblem | undefined {
  const certificates = certificatesIn(certPem);
  if (certificates.kind === 'wrong') return { member: 'certificate', sentence: certificates.sentence };
  const key = privateKeyIn(keyPem);
  if (key.kind === 'wrong') return { member: 'key', sentence: key.sentence };
  const [first, ...others] = certificates.value;
  if (first?.checkPrivateKey(key.value) !== false) return undefined;
  const at = others.findIndex((one) => one.checkPrivateKey(key.value));
  if (at === -1) return { member: 'key', sentence: `wanted the key of "${certificateFile}", found another` };
  const sentence = `wanted the certificate of the key first, found it as number ${at + 2} of ${others.length + 1}`;
  return { member: 'certificate', sentence };
}

/** All certificates of a text, at least one. */
export function certificatesIn(pem: string): Read<readonly X509Certificate[]> {
  const texts = pem.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END [A-Z0-9 ]+-----/g) ?? [];
  if (texts.length === 0) return wrong('a certificate in PEM', foundIn(pem));
  const value: X509Certificate[] = [];
  for (const text of texts) {
    try {
      value.push(new X509Certificate(text));
    } catch {
      return wrong('a certificate in PEM', `a damaged one (number ${value.length + 1} of ${texts.length})`);
    }
  }
  return { kind: 'ok', value };
}

export function privateKeyIn(pem: string): Read<KeyObject> {
  try {
    return { kind: 'ok', value: createPrivateKey(pem) };
  } catch {
    return wrong('a private key in PEM', foundIn(pem));
  }
}

/** Why a certificate does not count at a time; undefined when it does. */
export function validityProblem({ validFromDate, validToDate }: X509Certificate, now: Date): string | undefined {
  if (validToDate.getTime() < now.getTime()) return `expired at ${validToDate.toISOString()}`;
  if (validFromDate.getTime() > now.getTime()) return `is not valid before ${validFromDate.toISOString()}`;
  return undefined;
}

function wrong<Value>(wanted: string, found: string): Read<Value> {
  return { kind: 'wrong', sentence: `wanted ${wanted}, found ${found}` };
}

/** The labels of RFC 7468 and of older tools, with their article. */
const labels: readonly (readonly [RegExp, string])[] = [
  [/^ENCRYPTED PRIVATE KEY$/, 'a private key with a password'],
  [/PRIVATE KEY$/, 'a damaged private key'],
  [/PUBLIC KEY$/, 'a public key'],
  [/CERTIFICATE REQUEST$/, 'a certificate request'],
  [/CERTIFICATE$/, 'a certificate'],
  [/CRL$/, 'a list of revoked certificates'],
];

/** Never an excerpt: the file may be a secret of another kind. */
function foundIn(pem: string): string {
  if (pem.trim() === '') return 'an empty file';
  const all = [...pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)].map(([, one = '']) => one);
  const label = all.find((one) => one !== 'EC PARAMETERS') ?? all[0];
  if (label === undefined) return 'a text without PEM';
  if (/PRIVATE KEY$/.test(label) && /^Proc-Type: 4,ENCRYPTED/m.test(pem)) return 'a private key with a password';
  return labels.find(([form]) => form.test(label))?.[1] ?? `"${label}"`;
}
