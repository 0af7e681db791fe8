// Turns one HTTP response into an Answer: chooses the kind and words the message. Knows Status objects, but no sockets.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Answer } from '../answer.ts';
import { excerpt } from '../errors.ts';

/** The reason of a `refused` answer when a quota is full: the same write may succeed when there is room again. */
export const quotaExceeded = 'QuotaExceeded';

export interface HttpResponse {
  status: number;
  /** The request, for messages: `PATCH /api/v1/…`. */
  what: string;
  method: string;
  server: string;
  location: string | undefined;
  retryAfterMs: number | undefined;
  body: Buffer;
}

interface StatusBody {
  reason?: string;
  message?: string;
  details?: { name?: unknown; retryAfterSeconds?: number; causes?: { reason?: string; message?: string }[] };
}

export function toAnswer(response: HttpResponse): Answer {
  const { status: code } = response;
  const isOk = code >= 200 && code < 300;
  const text = response.body.toString('utf8');
  const body = parse(text);
  if (isOk) {
    if (body === undefined) return failed(response, notKubernetes(response, text));
    return { kind: 'ok', status: code, object: body, bytes: response.body.length };
  }
  if (response.status >= 300 && response.status < 400) return failed(response, redirected(response));
  const status: StatusBody = body?.kind === 'Status' ? (body as StatusBody) : {};
  if (body?.kind !== 'Status' && !isPlainRefusal(response.status))
    return failed(response, notKubernetes(response, text));
  return refusal(response, status, text);
}

function refusal(response: HttpResponse, status: StatusBody, text: string): Answer {
  const words = excerpt(status.message ?? text);
  const message = `${response.what} at ${response.server}: ${response.status} ${words}`;
  const name = status.details?.name;
  const waitMs = response.retryAfterMs ?? retryAfterSecondsMs(status.details?.retryAfterSeconds);
  switch (response.status) {
    case 401:
      return { kind: 'unauthorized', message };
    case 403:
      if (isAdmission(status))
        return { kind: 'refused', status: 403, reason: isQuota(status) ? quotaExceeded : 'Forbidden', message, words };
      return { kind: 'forbidden', message, namespaceTerminating: isNamespaceTerminating(status) };
    case 404:
      return { kind: 'notFound', message, ...(typeof name === 'string' && { name }) };
    case 409:
      return response.method === 'POST' || status.reason === 'AlreadyExists'
        ? { kind: 'alreadyExists', message }
        : { kind: 'conflict', message };
    case 410:
      return { kind: 'gone', message };
    case 429:
      return { kind: 'throttled', retryAfterMs: waitMs, message };
    default:
      if (response.status >= 500 && !isTooLarge(status))
        return { kind: 'failed', status: response.status, retryAfterMs: waitMs, message };
      return { kind: 'refused', status: response.status, reason: status.reason ?? '', message, words };
  }
}

function failed(response: HttpResponse, message: string): Answer {
  return { kind: 'failed', status: response.status, retryAfterMs: response.retryAfterMs, message };
}

/**
 * API servers and proxies also send these statuses as plain text. A 404 or 410 without a Status object comes from another
 * program and proves nothing about the object.
 */
function isPlainRefusal(status: number): boolean {
  return status === 401 || status === 403 || status === 429 || status >= 500;
}

/**
 * An admission plugin or webhook refuses this one object; a missing right, which the words of every authoriser name, refuses the
 * request.
 */
function isAdmission(status: StatusBody): boolean {
  const text = status.message ?? '';
  if (isNamespaceTerminating(status) || /\bcannot \S+ (resource|path)\b/.test(text)) return false;
  return isQuota(status) || /" is forbidden: |\bdenied the request\b|\bdenied request: /.test(text);
}

function isQuota(status: StatusBody): boolean {
  return /\bexceeded quota: /.test(status.message ?? '');
}

function isNamespaceTerminating(status: StatusBody): boolean {
  return status.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
}

/** kube-apiserver reports this with 500 in the words of etcd or gRPC. A retry is useless: the object stays too large. */
function isTooLarge(status: StatusBody): boolean {
  return /request is too large|message larger than max/.test(status.message ?? '');
}

function redirected(response: HttpResponse): string {
  const target = excerpt(response.location ?? 'nowhere');
  return `${response.what} at ${response.server}: this is not a Kubernetes API server, it redirects (${response.status}) to "${target}"`;
}

function notKubernetes(response: HttpResponse, text: string): string {
  const start = excerpt(text, 60);
  return `${response.what} at ${response.server}: the answer is not from a Kubernetes API server: status ${response.status}, beginning "${start}"`;
}

function parse(text: string): KubeObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as KubeObject) : undefined;
  } catch {
    return undefined;
  }
}

// Reads the time that a server asks us to wait, from the Retry-After header or from a Status, and limits it.

/** Without a limit, one wrong value such as an hour would stop the sync for an hour. */
export const maxRetryAfterMs = 60_000;

/** The header holds seconds or an HTTP date; undefined when the header is absent or unreadable. */
export function retryAfterMs(header: string | undefined, wallTime: Date): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // Date.parse alone would read "-5" or "1.5" as a year, so only the date forms of HTTP pass.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, atMs - wallTime.getTime()), maxRetryAfterMs);
}

/** `details.retryAfterSeconds` of a Status. */
export function retryAfterSecondsMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds * 1000, maxRetryAfterMs) : undefined;
}
