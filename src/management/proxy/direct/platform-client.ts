// Reads the key set and watches the revocations of the management server, and sends it reports. In: the address, a CA, and the file
// with the access key, which is read again at every connection because keys are rotated. Only this file of the source sees the key.

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Clock } from '../../../clock.ts';
import { readNamedFile } from '../../../cluster/credentials/secret-file.ts';
import type { Posted, ReportSpec } from './uploads.ts';

export interface PlatformOptions {
  /** Base URL without a slash at its end. */
  platform: string;
  certificateAuthority: string | undefined;
  keyFile: string;
  /** Cluster of this endpoint. */
  cluster: string;
  clock: Clock;
}

const api = '/kubernetes/management/apis/management.platform/v1';

/** A key set has a few hundred bytes. */
const maxBodyBytes = 256 * 1024;
/** Limit for the head of an answer, and for its body; far below the time after which a silent platform is no longer trusted. */
export const answerWithinMs = 5_000;
/** Characters of a refusal that the log shows. */
const longestMessage = 500;

export class PlatformClient {
  readonly #options: PlatformOptions;

  constructor(options: PlatformOptions) {
    this.#options = options;
  }

  /** Open to everybody, so that no key is sent. */
  async keySet(): Promise<unknown> {
    const response = await this.#open('/.well-known/jwks.json', {});
    return JSON.parse(await this.#bodyOf(response));
  }

  /** A refusal is an answer; without an answer it throws. */
  async report(spec: ReportSpec): Promise<Posted> {
    const key = (await textOf('keyFile', this.#options.keyFile)).trim();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const { cluster } = this.#options;
    const response = await this.#send(`${api}/agentreports`, headers, JSON.stringify({ spec: { cluster, ...spec } }));
    const { statusCode: code = 0 } = response;
    const text = await this.#bodyOf(response);
    if (code === 201) return { kind: 'taken' };
    return { kind: 'refused', code, message: text.slice(0, longestMessage) + hintOf(code) };
  }

  /** A watch that begins with all revocations that there are; the caller ends it by destroying the answer. */
  async revocations(): Promise<IncomingMessage> {
    const key = (await textOf('keyFile', this.#options.keyFile)).trim();
    const query = 'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    return this.#open(`${api}/revocations?${query}`, { authorization: `Bearer ${key}` });
  }

  async #open(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const response = await this.#send(path, headers);
    if (response.statusCode === 200) return response;
    response.destroy();
    throw new Error(`want 200, got ${response.statusCode}${hintOf(response.statusCode)}`);
  }

  async #send(path: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage> {
    const { platform, certificateAuthority, clock } = this.#options;
    const ca =
      certificateAuthority === undefined ? undefined : await textOf('certificateAuthority', certificateAuthority);
    const method = body === undefined ? 'GET' : 'POST';
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // Said, because NODE_TLS_REJECT_UNAUTHORIZED changes what Node does unsaid, and the keys that sign tokens come from there.
      const tls = { ca, rejectUnauthorized: true };
      const sent = request(`${platform}${path}`, { method, ...tls, headers, agent: false }, resolve);
      const timer = clock.after(answerWithinMs, () =>
        sent.destroy(new Error(`want an answer within ${answerWithinMs / 1000} seconds, got none`)),
      );
      sent.once('response', () => timer.cancel());
      sent.on('error', (error) => {
        timer.cancel();
        reject(error);
      });
      sent.end(body);
    });
    // A stream that breaks off is noticed by its reader.
    response.on('error', () => undefined);
    return response;
  }

  /** An answer that stops in its middle must not hold up the audit lines and the keys behind it. */
  async #bodyOf(response: IncomingMessage): Promise<string> {
    const timer = this.#options.clock.after(answerWithinMs, () =>
      response.destroy(new Error(`want the whole answer within ${answerWithinMs / 1000} seconds, got a part`)),
    );
    try {
      return await bodyOf(response);
    } finally {
      timer.cancel();
    }
  }
}

async function textOf(setting: 'keyFile' | 'certificateAuthority', file: string): Promise<string> {
  try {
    return await readNamedFile(file);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const known = code === 'ENOENT' ? 'there is no such file' : undefined;
    const why = known ?? (code === undefined ? (cause as Error).message : `it cannot be read (${code})`);
    throw new Error(`hostward.direct.${setting} is "${file}": ${why}; ${remedies[setting]}`, { cause });
  }
}

const remedies = {
  keyFile: 'write an access key of the role agent into it',
  certificateAuthority: 'copy the ca.crt of the management server there',
} as const;

function hintOf(code: number | undefined): string {
  if (code === 401) return '; the key in hostward.direct.keyFile does not count: make a new one';
  if (code === 403) return '; the key in hostward.direct.keyFile needs the role agent for this cluster';
  return '';
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBodyBytes) throw new Error(`want at most ${maxBodyBytes} bytes, got more`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
