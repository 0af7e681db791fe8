// What a port on this machine asks its routes, and what they answer. The headers that close a page to strangers are here.
import type { IncomingHttpHeaders } from 'node:http';
import { safeText } from '../../safe-text.ts';

export interface LocalRequest {
  method: string;
  /** Without the query, still percent-encoded. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Whether the client runs on this machine. */
  isLoopback: boolean;
  /** The whole body; empty where the route takes none. */
  body: Buffer;
}

export interface LocalReply {
  status: number;
  contentType: string;
  /** Text has passed safeText() or the templates of a page. */
  text: string | Uint8Array;
  headers?: Readonly<Record<string, string>>;
  /** Further pieces after the text, for answers of any length. */
  more?: Iterable<string>;
}

export interface LocalRoutes {
  /** The methods and the longest body that a path takes; undefined when these routes do not have the path. */
  takes(path: string): { methods: readonly string[]; bodyBytes: number } | undefined;
  answer(request: LocalRequest): LocalReply | Promise<LocalReply>;
}

/** On every answer of the port. Pages bring a policy of their own, which replaces this one. */
export const closedHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
};

export function plainReply(status: number, text: string): LocalReply {
  return { status, contentType: 'text/plain; charset=utf-8', text: safeText(`${text}\n`) };
}

export function jsonReply(status: number, value: unknown): LocalReply {
  return { status, contentType: 'application/json', text: safeText(`${JSON.stringify(value)}\n`) };
}
