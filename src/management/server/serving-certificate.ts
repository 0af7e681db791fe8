// The certificate of the management server: the configured files, or one of its own authority for the names that it is reached by.
import { authorityIn } from '../../apiserver/tls/authority-folder.ts';
import type { CertificatePaths, ServingPair } from '../../apiserver/tls/certificate-files.ts';
import { makeServingCertificate } from '../../apiserver/tls/certificates.ts';
import type { ManagementServerSettings } from '../../config/settings/management-settings.ts';

export interface ServingCertificate {
  tls: ServingPair | { files: CertificatePaths };
  /** Of the own authority; empty when the certificate comes from files. */
  caPem: string;
}

export async function servingCertificate(
  host: string,
  { tls: files, dataDir, baseURL }: ManagementServerSettings,
  now: Date,
): Promise<ServingCertificate> {
  if (files !== undefined) return { tls: { files }, caPem: '' };
  const authority = await authorityIn(dataDir, 'hostward-management', now);
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const names = new Set(['localhost', '127.0.0.1', new URL(baseURL).hostname.replace(/^\[|\]$/g, '')]);
  if (!isEverywhere) names.add(host);
  const tls = await makeServingCertificate('hostward-management', [...names], now, authority);
  return { tls, caPem: authority.certPem };
}
