// One question after the other to a management API, over TLS or through the socket on the same machine. In: where it is and how
// to prove who asks. Out: answers, or a fault that says why no answer came. The key is sent in a header and appears in no message.
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { explain } from '../../../cluster/wire/explain.ts';
import { osUserHeader } from '../../../management/server/commands/local-socket.ts';
import { isRecord } from '../../../object/text/json.ts';
import { CommandFault, exitCodes } from '../../line/context.ts';

/** Where the API begins, behind the address of the server. */
export const apiPrefix = '/kubernetes/management';
export const keysPath = `${apiPrefix}/apis/management.platform/v1/ownedaccesskeys`;

/** A server under load answers a write within a few; a person who waits longer wants to know. */
const answerTimeoutMs = 30_000;
/** A page of 500 keys with everything in them; more is no answer of this API. */
const largestAnswer = 32 * 1024 * 1024;

export type ServerPlace =
  /** `osUser`: for whom the command runs. */
  | { kind: 'socket'; path: string; osUser: string }
  | { kind: 'server'; url: URL; authority: string | undefined; accessKey: string };

export interface ServerAnswer {
  code: number;
  body: Record<string, unknown>;
  /** What the server wants to be read, like kubectl prints it. */
  warnings: readonly string[];
}

export interface Question {
  /** A patch is a merge patch. */
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With the query, from the address of the server on. */
  path: string;
  body?: object;
  accept?: string;
  /** How long the answer may take, where that is known to be long. */
  timeoutMs?: number;
}

export class ManagementClient {
  readonly #place: ServerPlace;

  constructor(place: ServerPlace) {
    this.#place = place;
  }

  /** Every answer, refusals too. Rejects with the error of the connection. */
  async send(question: Question): Promise<ServerAnswer> {
    const { response, text } = await this.#exchange(question);
    const code = response.statusCode ?? 0;
    return { code, body: parsed(text, code), warnings: warningsOf(response) };
  }

  /** A good answer, or a fault in the words of the server. */
  async ask(question: Question): Promise<ServerAnswer> {
    let answer: ServerAnswer;
    try {
      answer = await this.send(question);
    } catch (thrown) {
      throw this.unreachable(thrown);
    }
    if (answer.code >= 200 && answer.code < 300) return answer;
    throw refusal(answer, question);
  }

  unreachable(cause: unknown): CommandFault {
    if (cause instanceof CommandFault) return cause;
    const place = this.#place.kind === 'socket' ? this.#place.path : this.#place.url.origin;
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    const isUntrusted = /CERT|SIGNATURE|ISSUER|ALTNAME/.test(code);
    const hint = isUntrusted ? 'name its authority with --certificate-authority FILE' : this.#hintFor(code);
    const authority = this.#place.kind === 'server' && this.#place.authority !== undefined;
    const { message: reason } = explain(cause, place, authority ? '--certificate-authority' : 'this machine');
    const message = `cannot ask the management API: ${reason}`;
    return new CommandFault(exitCodes.environment, message, { cause, hint });
  }

  #hintFor(code: string): string {
    if (this.#place.kind === 'socket' && (code === 'EACCES' || code === 'EPERM'))
      return 'run the command as the user of the server, or give --server URL and an access key';
    if (this.#place.kind === 'socket') return 'look into the log of the server, or ask it with hostward status';
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'check the host name in --server';
    return 'check that the server runs, and that --server is its hostward.management.baseURL';
  }

  #exchange({ method, path, body, accept = 'application/json', timeoutMs = answerTimeoutMs }: Question) {
    const place = this.#place;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = { accept, 'user-agent': 'hostward-keys' };
    if (text !== undefined) {
      headers['content-type'] = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      // Node says no length by itself for a DELETE.
      headers['content-length'] = String(Buffer.byteLength(text));
    }
    if (place.kind === 'server') headers['authorization'] = `Bearer ${place.accessKey}`;
    else if (place.osUser !== '') headers[osUserHeader] = place.osUser;
    const shared: RequestOptions = { method, path, headers, agent: false, timeout: timeoutMs };
    return new Promise<{ response: IncomingMessage; text: string }>((resolve, reject) => {
      const begin = (to: RequestOptions) =>
        place.kind === 'socket'
          ? httpRequest({ ...to, socketPath: place.path })
          : httpsRequest({ ...to, ...tlsOf(place) });
      const request = begin(shared);
      request.on('response', (response) => {
        readWhole(response).then((whole) => resolve({ response, text: whole }), reject);
      });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} seconds`)));
      request.on('error', reject);
      request.end(text);
    });
  }
}

function tlsOf({ url, authority }: Extract<ServerPlace, { kind: 'server' }>) {
  const { hostname, port } = url;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 443 : Number(port),
    // Said, because NODE_TLS_REJECT_UNAUTHORIZED changes what Node does unsaid, and an access key goes there.
    rejectUnauthorized: true,
    ...(authority === undefined ? {} : { ca: authority }),
  };
}

async function readWhole(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const part of response) {
    text += part;
    if (text.length > largestAnswer) throw new Error('the answer is too long for a management API');
  }
  return text;
}

function parsed(text: string, code: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below: the answer may hold anything, so it is not repeated.
  }
  const message = `the server is no management API of Hostward: it answered ${code} and no JSON`;
  throw new CommandFault(exitCodes.environment, message, { hint: 'is the address in --server right?' });
}

/** `299 - "text"`, several with commas between them. */
function warningsOf({ headers }: IncomingMessage): string[] {
  const all = String(headers['warning'] ?? '');
  return [...all.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replace(/\\(.)/g, '$1'));
}

/** Next steps, where the sentence of the server has none. */
const hints: ReadonlyMap<number, string> = new Map([
  [401, 'the access key comes from HOSTWARD_ACCESS_KEY or --key-file'],
  [403, 'an administrator finds the reason with hostward keys explain NAME --as-request "METHOD PATH"'],
  [503, 'try again in a moment; the log of the server tells why'],
]);

const keyHints: ReadonlyMap<number, string> = new Map([
  [404, 'hostward keys list shows the names of the keys that you may see'],
  [
    409,
    'choose another NAME, give the key that is there a new value with hostward keys rotate NAME, or delete it with hostward keys revoke NAME',
  ],
]);

/** The answer to a key that the server does not know has no reason, so that nobody learns which keys there are. */
const unknownKeyHint = 'the access key comes from HOSTWARD_ACCESS_KEY or --key-file; it may be mistyped or deleted';

const scopeHint = 'give --scope FILE with a scope inside the scope of the calling key';

/** The sentence of such an answer has the reason already. */
function lacksScope(code: number, details: unknown): boolean {
  const causes = isRecord(details) && Array.isArray(details['causes']) ? details['causes'] : [];
  return code === 403 && causes.some((cause) => isRecord(cause) && String(cause['field']).startsWith('spec.scope'));
}

function hintOf(code: number, message: string, details: unknown): string | undefined {
  if (lacksScope(code, details)) return scopeHint;
  if (code === 401 && message === 'Unauthorized') return unknownKeyHint;
  // Without a time to wait, a second try does not help or may do the change twice; the sentence has the way out.
  if (code === 503 && !(isRecord(details) && details['retryAfterSeconds'] !== undefined)) return undefined;
  const isAboutKeys = isRecord(details) && details['kind'] === 'ownedaccesskeys';
  return hints.get(code) ?? (isAboutKeys ? keyHints.get(code) : undefined);
}

/** Who asks and whether the server can answer are the environment's; the rest is what was asked for. */
function refusal({ code, body }: ServerAnswer, { path }: Question): CommandFault {
  const message = typeof body['message'] === 'string' ? body['message'] : `the server answered ${code}`;
  const isEnvironment = code === 401 || code === 403 || code === 429 || code >= 500;
  // Its sentence has the way out, and the name is not the trouble.
  const isRotation = code === 409 && path.split('?')[0]?.endsWith('/rotate') === true;
  const hint = isRotation ? undefined : hintOf(code, message, body['details']);
  return new CommandFault(isEnvironment ? exitCodes.environment : exitCodes.input, message, {
    ...(hint === undefined ? {} : { hint }),
  });
}
