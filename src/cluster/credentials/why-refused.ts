// Says why a server may refuse credentials, by what they tell of themselves: whose they are and when they end. In: the credentials of the
// refused request. Out: words for the message and its fix. Tells nothing secret.
import { X509Certificate } from 'node:crypto';
import type { Answer } from '../answer.ts';
import { excerpt } from '../errors.ts';
import type { ClusterAccess } from './access.ts';

/** The claims of a token in the form that Kubernetes issues. */
export function claimsOf(token: string | undefined): Record<string, unknown> | undefined {
  const payload = token?.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function bearerToken({ headers }: Pick<ClusterAccess, 'headers'>): string | undefined {
  const line = headers['authorization'] ?? headers['Authorization'];
  return typeof line === 'string' ? /^Bearer\s+(.+)$/.exec(line)?.[1] : undefined;
}

/** Other answers stay as they are. */
export function reasoned<T extends Answer>(answer: T, access: ClusterAccess, now: Date): T {
  if (answer.kind !== 'unauthorized') return answer;
  const found = whyRefused(access, now);
  return found === undefined ? answer : { ...answer, message: `${answer.message} (${found.reason})`, fix: found.fix };
}

function whyRefused(access: ClusterAccess, now: Date): { reason: string; fix: string } | undefined {
  const claims = claimsOf(bearerToken(access));
  if (claims === undefined) return ofCertificate(access, now);
  const ends = dateOf(claims['exp']);
  const account = accountOf(claims['sub']);
  const whose =
    account === undefined ? 'the token' : `the token of ServiceAccount "${account.namespace}/${account.name}"`;
  if (ends !== undefined && ends <= now) return { reason: `${whose} ended at ${timeOf(ends)}`, fix: 'renew the token' };
  if (account === undefined) return undefined;
  const lasts = ends === undefined ? ' is' : ` would last until ${timeOf(ends)}, so it is`;
  return {
    reason: `${whose}${lasts} of another cluster, or the account was deleted, perhaps with its namespace`,
    fix: `look with a kubectl that may: kubectl -n ${account.namespace} get serviceaccount ${account.name}; a token of an account that was made again is a new one`,
  };
}

function ofCertificate({ tls: { cert } }: ClusterAccess, now: Date): { reason: string; fix: string } | undefined {
  if (cert === undefined) return undefined;
  try {
    const ends = new X509Certificate(cert).validToDate;
    if (ends > now) return undefined;
    return { reason: `the client certificate ended at ${timeOf(ends)}`, fix: 'renew the client certificate' };
  } catch {
    return undefined;
  }
}

function accountOf(subject: unknown): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(String(subject)) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  return { namespace: excerpt(namespace), name: excerpt(name) };
}

/** In seconds, as tokens have it; a number that is no time says nothing. */
function dateOf(seconds: unknown): Date | undefined {
  const date = new Date(typeof seconds === 'number' ? seconds * 1000 : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function timeOf(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
