// A plain HTTPS client for the contract. It sends requests unchanged and parses the answers without interpreting them.
import { Agent, type Dispatcher } from 'undici';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The body as JSON; undefined when it is not JSON. */
  json: unknown;
}

export interface RequestOptions {
  /** A string or bytes are sent unchanged, any other value as JSON. */
  body?: unknown;
  /** A list is sent as one header line for each value. */
  headers?: Record<string, string | string[]>;
  /** null sends no Authorization header. */
  token?: string | null;
}

export interface ClientCertificate {
  certificatePem: string;
  keyPem: string;
}

export interface WatchLine {
  type: string;
  object: unknown;
}

/** Longest wait for one answer or one event. */
const patienceMs = 15_000;
/** More connections than any case needs; each watch holds one. */
const connections = 32;

export class ApiClient {
  #agent: Agent;
  #url: string;
  #token: string | null;
  #isOnce: boolean;

  /**
   * A null token sends no Authorization header, e.g. beside a client certificate. `isOnce`: a connection for each request, so that a
   * balancer of connections gives each request to another server.
   */
  constructor(at: {
    url: string;
    caPem: string;
    token: string | null;
    certificate?: ClientCertificate;
    isOnce?: boolean | undefined;
  }) {
    this.#url = at.url;
    this.#isOnce = at.isOnce === true;
    this.#token = at.token;
    this.#agent = new Agent({
      connections,
      allowH2: false,
      connect: {
        ca: at.caPem,
        ...(at.certificate === undefined ? {} : { cert: at.certificate.certificatePem, key: at.certificate.keyPem }),
      },
      headersTimeout: patienceMs,
      bodyTimeout: 0,
    });
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const response = await this.#send(method, path, options);
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text, json: parsed(text) };
  }

  /** Opens a stream; an answer with another status than 200 is returned whole. */
  async watch(path: string, options: RequestOptions = {}): Promise<WatchStream | Answer> {
    const response = await this.#send('GET', path, options);
    if (response.statusCode === 200) return new WatchStream(response);
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text, json: parsed(text) };
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #send(method: string, path: string, options: RequestOptions): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string | string[]> = { accept: 'application/json', ...options.headers };
    const token = options.token === undefined ? this.#token : options.token;
    if (token !== null) headers['authorization'] = `Bearer ${token}`;
    let body: string | Buffer | undefined;
    if (Buffer.isBuffer(options.body)) body = options.body;
    else if (options.body !== undefined) {
      body = typeof options.body === 'string' ? options.body : JSON.stringify(options.body);
      headers['content-type'] ??= 'application/json';
    }
    return this.#agent.request({
      origin: this.#url,
      path,
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      reset: this.#isOnce,
    });
  }
}

/** An open watch, whose events are taken one by one, in order. */
export class WatchStream {
  readonly status = 200;
  readonly headers: Record<string, string | string[] | undefined>;
  #body: Dispatcher.ResponseData['body'];
  #lines: WatchLine[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(response: Dispatcher.ResponseData) {
    this.headers = response.headers;
    this.#body = response.body;
    void this.#read();
  }

  /** The next event; undefined at the end of the stream. Throws when neither comes in time. */
  async next(): Promise<WatchLine | undefined> {
    const deadline = AbortSignal.timeout(patienceMs);
    while (this.#lines.length === 0 && !this.#ended) {
      if (deadline.aborted) throw new Error(`no event and no end of the watch within ${patienceMs / 1000} s`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        deadline.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    return this.#lines.shift();
  }

  close(): void {
    this.#body.destroy();
  }

  async #read(): Promise<void> {
    let rest = '';
    try {
      for await (const chunk of this.#body.setEncoding('utf8')) {
        rest += chunk as string;
        const lines = rest.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') this.#lines.push(JSON.parse(line) as WatchLine);
        this.#wake?.();
      }
    } catch {
      // A cut stream has ended; its earlier events stay available.
    }
    this.#ended = true;
    this.#wake?.();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
