// Replaces an answer that the client must not see: the upstream cannot be reached, is silent, refuses Hostward's own credentials,
// or redirects to another address. In: a failure or an answer. Out: a Status with the remedy, without credentials and without an
// address to follow.
import type { IncomingMessage } from 'node:http';
import type { RawAnswer } from '../../../cluster/wire/raw-connection.ts';
import { type Status, serviceUnavailable } from '../../../object/meta/status.ts';
import { GatheredBytes } from '../../../object/text/gathered-bytes.ts';

interface About {
  name: string;
  mendRights: string;
}

type Failure = Extract<RawAnswer, { kind: 'failed' }>;

/** A 403 about impersonation is far shorter than this. */
const maxRefusalBytes = 16 * 1024;
/** The rules of a user with a thousand roles take less than this. */
const maxReshapedBytes = 4 * 1024 * 1024;
const retrySeconds = 1;

export function badGateway(message: string): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: 'ServiceUnavailable',
    code: 502,
  };
}

export function gatewayTimeout(message: string): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'Timeout', code: 504 };
}

export function unavailable(message: string): Status {
  return { ...serviceUnavailable(message), details: { retryAfterSeconds: retrySeconds } };
}

export function statusOfFailure({ because, message, fix }: Failure, { name }: About): Status {
  const todo = fix === '' ? '' : `; ${fix}`;
  switch (because) {
    case 'unreachable':
      return badGateway(`${name} cannot be reached: ${message}${todo}`);
    case 'silent':
      return gatewayTimeout(`${name} does not answer: ${message}${todo}`);
    case 'credentials':
      // The message of a plugin or a file may hold secrets, so it stays in the log.
      return badGateway(
        `Hostward cannot log in to ${name}; ask the operator of Hostward to renew the kubeconfig of ${name}`,
      );
    case 'renewed':
      return unavailable(`the credentials of Hostward for ${name} have just been renewed; send the request again`);
    case 'aborted':
      return unavailable(`the request to ${name} was given up; send it again`);
    default:
      return because satisfies never;
  }
}

export type JudgedAnswer =
  /**
   * `location` replaces the upstream's header, which goes where it is undefined; `start` is the body, if it was already read; `warning` is
   * for the person at the client.
   */
  | { kind: 'passes'; location: string | undefined; start: Buffer | undefined; warning?: string }
  | { kind: 'refused'; status: Status };

const passes: JudgedAnswer = { kind: 'passes', location: undefined, start: undefined };

/** Whether an upstream's answer may be passed on. */
export async function foreignAnswer(
  response: IncomingMessage,
  about: {
    upstream: About & { connection: { server: string } };
    prefix: string;
    reshape: { body(bytes: Buffer): Buffer } | undefined;
  },
): Promise<JudgedAnswer> {
  const { upstream, prefix, reshape } = about;
  const code = response.statusCode ?? 0;
  if (!isPlain(response))
    return { kind: 'refused', status: badGateway(`${upstream.name} does not answer in plain HTTP`) };
  if (code === 403) return missingRight(response, upstream);
  if (code < 300 && reshape !== undefined) return reshaped(response, upstream, reshape);
  const { location } = response.headers;
  if (location === undefined) return passes;
  const rewritten = belowPrefix(location, upstream.connection.server, prefix);
  if (rewritten !== undefined) return { kind: 'passes', location: rewritten, start: undefined };
  if (code < 300 || code >= 400) return passes;
  const message = `${upstream.name} tried to redirect the request to another address, which is not permitted`;
  return { kind: 'refused', status: badGateway(message) };
}

/** A 101 without a protocol would end HTTP for the client, and a body in another encoding could not be named to the client. */
function isPlain({ statusCode = 0, headers }: IncomingMessage): boolean {
  const { 'transfer-encoding': encoding = 'chunked' } = headers;
  return statusCode >= 200 && statusCode < 600 && encoding.toLowerCase() === 'chunked';
}

/** The redirect as a path below our prefix; undefined when it leaves the upstream (CVE-2022-3172, CVE-2020-8559). */
function belowPrefix(location: string, server: string, prefix: string): string | undefined {
  // A relative path could mean another place below our prefix than below the upstream's.
  if (!/^(?:https?:\/\/|\/(?![/\\]))/i.test(location) || !URL.canParse(location, server)) return undefined;
  const base = new URL(server);
  const target = new URL(location, server);
  if (target.origin !== base.origin || target.username !== '' || target.password !== '') return undefined;
  const basePath = base.pathname.replace(/\/+$/, '');
  if (target.pathname !== basePath && !target.pathname.startsWith(`${basePath}/`)) return undefined;
  return prefix + target.pathname.slice(basePath.length) + target.search;
}

/** The upstream names the user that Hostward acts as. */
const refusedCaller = /User \\?"hostward:/;

/** Clients cannot send Impersonate-* headers, so a refused impersonation means that Hostward itself lacks the right. */
async function missingRight(response: IncomingMessage, { name, mendRights }: About): Promise<JudgedAnswer> {
  const start = await startOf(response, maxRefusalBytes);
  if (start === 'broken') return { kind: 'refused', status: brokenOff(name) };
  if (start === 'long') return passes;
  const text = start.toString('latin1');
  if (!/cannot [\w:-]*impersonate/.test(text)) {
    const passed: JudgedAnswer = { kind: 'passes', location: undefined, start };
    if (!refusedCaller.test(text)) return passed;
    const warning = `${name} itself refused this; where it has no bindings yet, its operator makes them with: ${mendRights}`;
    return { ...passed, warning };
  }
  const message = `Hostward has no right to act for you in ${name}; its operator grants the right with: ${mendRights}`;
  return { kind: 'refused', status: badGateway(message) };
}

async function reshaped(
  response: IncomingMessage,
  { name }: About,
  { body }: { body(bytes: Buffer): Buffer },
): Promise<JudgedAnswer> {
  const start = await startOf(response, maxReshapedBytes);
  if (start === 'broken') return { kind: 'refused', status: brokenOff(name) };
  if (start === 'long') return { kind: 'refused', status: badGateway(`the answer of ${name} is too long to pass on`) };
  try {
    return { kind: 'passes', location: undefined, start: body(start) };
  } catch {
    return { kind: 'refused', status: badGateway(`the answer of ${name} is not of the requested kind`) };
  }
}

export function brokenOff(name: string): Status {
  return badGateway(`${name} broke its answer off; send the request again`);
}

/** Resolves with the first byte of the body, its end, or when the answer is broken off. */
export function begun(response: IncomingMessage): Promise<void> | undefined {
  // Looked at, a body that is empty and has come whole would end before anybody listens.
  if (response.readableLength > 0 || response.complete || response.destroyed) return undefined;
  return new Promise((resolve) => {
    const done = () => {
      response.off('readable', done);
      resolve();
    };
    response.once('close', done);
    response.on('readable', done);
  });
}

export function isBrokenOff({ destroyed, complete }: IncomingMessage): boolean {
  return destroyed && !complete;
}

/** Reads a body up to the limit; a longer body goes back into the response. */
function startOf(response: IncomingMessage, maxBytes: number): Promise<Buffer | 'long' | 'broken'> {
  const start = new GatheredBytes();
  return new Promise((resolve) => {
    const done = (found: Buffer | 'long' | 'broken') => {
      response.off('data', take);
      resolve(found);
    };
    const take = (part: Buffer) => {
      start.add(part);
      if (start.size <= maxBytes) return;
      response.pause();
      done('long');
      response.unshift(start.take());
    };
    response.on('data', take);
    response.once('end', () => done(start.take()));
    response.once('close', () => done('broken'));
    response.once('error', () => done('broken'));
  });
}
