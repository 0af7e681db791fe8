// Requests over kept TLS connections, as many of them as a matrix wants. A watch is over for this client when it has begun.
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { Body } from '../server/bench.ts';
import type { WireRequest } from './request-url.ts';

export interface WireAnswer {
  code: number;
  headers: IncomingHttpHeaders;
  text: string;
  body: Body;
}

export class TlsClient {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(port: number, caPem: string, connections = 4) {
    this.#port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, ca: caPem });
  }

  ask(key: string | undefined, { method, path, body, type = 'application/json' }: WireRequest): Promise<WireAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
    };
    const options = { host: '127.0.0.1', port: this.#port, method, path, headers, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(options, (response) => {
        const { statusCode: code = 0, headers: answered } = response;
        if (code === 200 && /[?&]watch=true/.test(path)) {
          response.destroy();
          resolve({ code, headers: answered, text: '', body: {} });
          return;
        }
        let answer = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          answer += part;
        });
        response.on('end', () => {
          const isJSON = answered['content-type']?.includes('json') === true && answer !== '';
          resolve({ code, headers: answered, text: answer, body: isJSON ? (JSON.parse(answer) as Body) : {} });
        });
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
