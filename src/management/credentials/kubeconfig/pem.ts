// Reads the certificates of a PEM text. The file of a server begins with the server's own certificate; the certificates after it
// are the authorities that clients trust.
const certificate = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

export function certificatesIn(pem: string): string[] {
  return pem.match(certificate) ?? [];
}

/** The chain without the server's own certificate; a file with one certificate is trusted as it is. */
export function authorityOf(chainPem: string): string {
  const [first, ...others] = certificatesIn(chainPem);
  const authority = others.length > 0 ? others : first === undefined ? [] : [first];
  return authority.map((text) => `${text}\n`).join('');
}
