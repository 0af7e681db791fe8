// Sends answers: JSON or YAML, Status objects and streams.
import type { ServerResponse } from 'node:http';
import type { Status } from '../../object/meta/status.ts';
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { isTrue, readQuery } from '../request/query.ts';
import { splitUrl } from '../request/target.ts';
import { oneObject } from './representation.ts';
import { warningHeaders } from './warnings.ts';

export type Headers = Record<string, string | number | string[]>;

export async function sendOutcome(response: ServerResponse, call: Call, outcome: VerbOutcome): Promise<void> {
  const holdsSecret =
    outcome.kind === 'stored' ? outcome.once !== undefined : outcome.kind === 'value' && outcome.holdsSecret;
  const headers = { ...warningHeaders(call), ...(holdsSecret ? { 'cache-control': 'no-store' } : {}) };
  if (outcome.kind === 'stream')
    return sendStream(response, call, outcome, { 'content-type': call.negotiated.mediaType, ...headers });
  const json = outcomeJson(call, outcome);
  if (call.negotiated.mediaType === 'application/yaml') return sendYaml(response, outcome.code, json, headers);
  sendJson(response, outcome.code, json, headers);
}

function outcomeJson(call: Call, outcome: Exclude<VerbOutcome, { kind: 'stream' }>): string {
  switch (outcome.kind) {
    case 'stored':
      if (outcome.once !== undefined && call.negotiated.representation === 'object')
        return JSON.stringify(outcome.once);
      return oneObject(call, outcome.text, outcome.revision);
    case 'value':
      return JSON.stringify(outcome.value);
    case 'json':
      return outcome.json;
    default:
      return outcome satisfies never;
  }
}

/** A client that needs longer to read the next piece of a stream is cut off, so that the rest does not wait in memory for ever. */
const stalledMs = 30_000;

/** After a fault in the middle the server cuts the connection, because only so the client learns that the answer is incomplete. */
async function sendStream(
  response: ServerResponse,
  call: Call,
  outcome: Extract<VerbOutcome, { kind: 'stream' }>,
  headers: Headers,
): Promise<void> {
  response.writeHead(outcome.code, { 'cache-control': 'no-cache, private', ...headers });
  for await (const chunk of outcome.parts) {
    if (response.destroyed) return;
    if (!response.write(chunk)) {
      const timer = call.kit.clock.after(stalledMs, () => response.destroy());
      await drained(response);
      timer.cancel();
    }
    await call.works?.();
  }
  response.end();
}

/** Resolves when the socket has room again or has closed. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
    if (response.destroyed) done();
  });
}

export function sendJson(
  response: ServerResponse,
  code: number,
  compact: string | Buffer,
  headers: Headers = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const json = isForPeople(response) ? `${JSON.stringify(JSON.parse(compact.toString()), undefined, 2)}\n` : compact;
  response.writeHead(code, {
    'cache-control': 'no-cache, private',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    ...headers,
  });
  response.end(json);
}

/** As the real server: programs get compact JSON, and `?pretty=`, curl and browsers get lines, unless `?pretty=false`. */
function isForPeople({ req: request }: Partial<Pick<ServerResponse, 'req'>>): boolean {
  const { url = '', headers } = request ?? {};
  const asked = readQuery(splitUrl(url).query).get('pretty');
  if (asked !== null) return isTrue(asked);
  return /^(?:curl|Wget|Mozilla)\//.test(headers?.['user-agent'] ?? '');
}

export function sendBytes(response: ServerResponse, code: number, bytes: Buffer, headers: Headers = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(code, { 'cache-control': 'no-cache, private', 'content-length': bytes.length, ...headers });
  response.end(bytes);
}

async function sendYaml(response: ServerResponse, code: number, json: string, headers: Headers): Promise<void> {
  const { dump } = await import('js-yaml');
  const yaml = dump(JSON.parse(json), { noRefs: true, lineWidth: -1 });
  sendText(response, code, yaml, { ...headers, 'content-type': 'application/yaml' });
}

export function sendText(response: ServerResponse, code: number, text: string, headers: Headers = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(code, {
    'cache-control': 'no-cache, private',
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(text);
}

export function sendStatus(response: ServerResponse, status: Status, headers: Headers = {}): void {
  const retryAfter = status.details?.retryAfterSeconds;
  const more = retryAfter === undefined ? headers : { ...headers, 'retry-after': String(retryAfter) };
  sendJson(response, status.code ?? 500, JSON.stringify(withoutEmpty(status)), {
    'x-content-type-options': 'nosniff',
    ...more,
  });
}

/** Leaves empty details out of the answer, as the real server does. */
function withoutEmpty(status: Status): Status {
  if (status.details === undefined) return status;
  const kept = Object.entries(status.details).filter(([, value]) => value !== '');
  return { ...status, details: Object.fromEntries(kept) };
}
