// When certificates and tokens end, and whether that is soon. In: PEM texts, the socket of an answer, a bearer token. Out: values.

import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ClusterAccess } from '../../../cluster/credentials/access.ts';
import { claimsOf } from '../../../cluster/credentials/why-refused.ts';
import { counted } from '../../../object/text/in-words.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

export interface Ending {
  what: string;
  begins: Date;
  ends: Date;
}

const dayMs = 24 * 3_600_000;
/** Enough for people to act; for what lives shorter, the last fifth of its life, after which it should have been renewed. */
const soonMs = 30 * dayMs;
const lastPart = 0.2;

const block = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function certificateEndings(what: string, pem: string | undefined): Ending[] {
  return [...(pem ?? '').matchAll(block)].flatMap(([text]) => {
    try {
      const { validFromDate: begins, validToDate: ends } = new X509Certificate(text);
      return [{ what, begins, ends }];
    } catch {
      // A certificate that cannot be read fails the connection, which another check reports.
      return [];
    }
  });
}

export function endingsOf({ tls }: ClusterAccess): Ending[] {
  return [
    ...certificateEndings('the client certificate', tls.cert),
    ...certificateEndings('the certificate authority in the credentials', tls.ca),
  ];
}

/** The certificate that the server has shown. */
export function peerEnding(socket: Socket): Ending | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const { valid_from: begins, valid_to: ends } = socket.getPeerCertificate() ?? {};
  if (begins === undefined || ends === undefined) return undefined;
  return { what: 'the certificate of the server', begins: new Date(begins), ends: new Date(ends) };
}

/** Only a token of the form that Kubernetes issues says when it ends. */
export function endOfToken(token: string | undefined): Ending[] {
  const { iat, exp } = claimsOf(token) ?? {};
  if (typeof exp !== 'number') return [];
  const begins = typeof iat === 'number' ? iat : 0;
  return [{ what: 'the token', begins: new Date(begins * 1000), ends: new Date(exp * 1000) }];
}

export function judgeEndings(endings: readonly Ending[], now: Date, mend: string): Finding {
  const nowMs = now.getTime();
  const over = endings.filter(({ ends }) => ends.getTime() <= nowMs);
  const soon = endings.filter((one) => !over.includes(one) && isSoon(one, nowMs));
  const details = [...over, ...soon].map((one) => `${one.what} ${endText(one, nowMs)}`);
  if (over.length > 0)
    return fault(`${counted(over.length, 'certificate or token has', 'certificates or tokens have')} ended`, {
      details,
      mend,
    });
  if (soon.length > 0)
    return warning(`${counted(soon.length, 'certificate or token ends', 'certificates or tokens end')} soon`, {
      details,
      mend,
    });
  const first = [...endings].sort((a, b) => a.ends.getTime() - b.ends.getTime())[0];
  return ok(
    first === undefined
      ? 'nothing on the way has an end'
      : `the first to end is ${first.what}, ${dateText(first.ends, nowMs)}`,
  );
}

function isSoon({ begins, ends }: Ending, nowMs: number): boolean {
  const lifeMs = ends.getTime() - begins.getTime();
  return ends.getTime() - nowMs < Math.min(soonMs, lifeMs * lastPart);
}

function endText({ ends }: Ending, nowMs: number): string {
  const leftMs = ends.getTime() - nowMs;
  const minutes = Math.max(1, Math.round(Math.abs(leftMs) / 60_000));
  const hours = Math.round(minutes / 60);
  const ofDays = hours < 48 ? counted(hours, 'hour') : counted(Math.round(hours / 24), 'day');
  const span = minutes < 120 ? counted(minutes, 'minute') : ofDays;
  return leftMs > 0 ? `ends in ${span}, ${dateText(ends, nowMs)}` : `ended ${span} ago, ${dateText(ends, nowMs)}`;
}

/** A day says too little of what ends today. */
function dateText(date: Date, nowMs: number): string {
  const text = date.toISOString();
  const isNear = Math.abs(date.getTime() - nowMs) < 2 * dayMs;
  return isNear ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text.slice(0, 10);
}
