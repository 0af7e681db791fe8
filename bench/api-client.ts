// The benchmarks' own client for an API server, because the code under measurement must not measure itself: a pool of
// connections, single requests, and lists. Answers are texts; callers parse them if necessary.
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import { openCredentials } from '../src/cluster/credentials/credentials.ts';

export interface Reach {
  url: string;
  ca: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  headers: Record<string, string | string[]>;
}

export interface Reply {
  status: number;
  text: string;
}

export async function reachOf(kubeconfig: string): Promise<Reach> {
  const opened = await openCredentials({ kubeconfig, environment: process.env });
  if (opened.kind === 'faults')
    throw new Error(`"${kubeconfig}": ${opened.faults.map((fault) => fault.message).join('; ')}`);
  const { tls, headers } = await opened.credentials.read();
  return { url: opened.credentials.server, ca: tls.ca, cert: tls.cert, key: tls.key, headers };
}

export interface Sending {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  path: string;
  body?: string;
  contentType?: string;
}

export class ApiClient {
  readonly reach: Reach;
  #pool: Pool;

  constructor(reach: Reach, connections = 32) {
    this.reach = reach;
    const { ca, cert, key } = reach;
    const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
    this.#pool = new Pool(new URL(reach.url).origin, {
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: 60_000,
      connect: tls,
    });
  }

  /** With `isBare` the client drops the body of a good answer. */
  send({ method, path, body, contentType }: Sending, { isBare = false } = {}): Promise<Reply> {
    const headers: Record<string, string | string[]> = { ...this.reach.headers, accept: 'application/json' };
    if (contentType !== undefined) headers['content-type'] = contentType;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let status = 0;
      this.#pool.dispatch(
        { path, method, headers, body: body ?? null, headersTimeout: 0, bodyTimeout: 0 },
        {
          onRequestStart() {},
          onResponseStart(_controller, code) {
            status = code;
          },
          onResponseData(_controller, chunk) {
            if (!isBare || status >= 400) chunks.push(chunk);
          },
          onResponseEnd: () => resolve({ status, text: Buffer.concat(chunks).toString() }),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  }

  async expect(sending: Sending, wanted: readonly number[] = [200, 201]): Promise<string> {
    const { status, text } = await this.send(sending);
    if (!wanted.includes(status)) throw new Error(`${sending.method} ${sending.path}: ${status} ${text.slice(0, 300)}`);
    return text;
  }

  /** Every object below a collection. */
  async list<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    let next = '';
    do {
      const query = `?limit=1000${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
      const page = JSON.parse(await this.expect({ method: 'GET', path: path + query })) as {
        metadata: { continue?: string };
        items: T[];
      };
      for (const item of page.items) items.push(item);
      next = page.metadata.continue ?? '';
    } while (next !== '');
    return items;
  }

  /** Opens a watch and passes its lines on until the caller closes it. */
  watch(path: string, line: (bytes: Buffer) => void): { opened: Promise<void>; close(): void } {
    let close = (): void => {};
    let rest: Buffer = Buffer.alloc(0);
    const opened = new Promise<void>((resolve, reject) => {
      this.#pool.dispatch(
        { path, method: 'GET', headers: this.reach.headers, headersTimeout: 0, bodyTimeout: 0 },
        {
          onRequestStart: (controller) => {
            close = () => controller.abort(new Error('closed'));
          },
          onResponseStart: (_controller, status) =>
            status === 200 ? resolve() : reject(new Error(`watch ${path}: ${status}`)),
          onResponseData(_controller, chunk) {
            let from = 0;
            for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
              const piece = chunk.subarray(from, end);
              line(rest.length === 0 ? piece : Buffer.concat([rest, piece]));
              rest = Buffer.alloc(0);
              from = end + 1;
            }
            if (from < chunk.length) rest = Buffer.concat([rest, chunk.subarray(from)]);
          },
          onResponseEnd() {},
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
    return { opened, close: () => close() };
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** Runs the tasks with a limit on how many run at a time. */
export async function inParallel<T>(
  tasks: readonly T[],
  concurrency: number,
  run: (task: T, index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < tasks.length; at = next++) await run(tasks[at] as T, at);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

export function readText(path: string | URL): string {
  return readFileSync(path, 'utf8');
}
