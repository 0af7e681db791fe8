// The daemon's local HTTP port: /healthz, /readyz and /metrics for the cluster, /status for `hostward status`, and the pages that
// it is given. In: functions that answer. Out: text and JSON. This file must never know what is being synced. Only programs on this
// machine may read /status, because it names objects and their faults.
import { LocalServer, type LocalServerLimits } from '../../apiserver/local/local-server.ts';
import {
  jsonReply,
  type LocalReply,
  type LocalRequest,
  type LocalRoutes,
  plainReply,
} from '../../apiserver/local/routes.ts';
import { forwardSentence } from '../../apiserver/local/strangers.ts';
import { safeText } from '../../safe-text.ts';
import type { ObjectFilter } from '../../sync/report/object-list.ts';

export interface ReadinessPart {
  /** The NAME in /readyz/NAME. */
  name: string;
  isReady: boolean;
  lines: readonly string[];
}

/** The daemon is ready when all its parts are ready. */
export interface Readiness {
  isReady: boolean;
  lines: readonly string[];
  parts: readonly ReadinessPart[];
}

export interface OperationsAnswers {
  /** False once the daemon cannot recover by itself and should be restarted. */
  health(): { isHealthy: boolean; lines: readonly string[] };
  /** Whether the daemon does its work, part by part; each line states one condition. */
  readiness(): Readiness;
  /** Prometheus text. */
  metrics(): Promise<{ contentType: string; text: string }>;
  /** The daemon as a whole, as JSON. */
  status(): unknown;
  /** All objects of a namespace, in a state or of a kind, one after the other. */
  objects(filter: ObjectFilter): Iterable<unknown>;
  /** One object, by key; undefined when the daemon does not know the object. */
  objectStatus(key: string): unknown;
  /** What cannot be read now, in sentences: objects of it may be there unseen. */
  unread?(): readonly string[];
}

/** What the port has apart from the answers. */
export interface OperationsExtras extends Partial<LocalServerLimits> {
  pages?: LocalRoutes | undefined;
  playground?: LocalRoutes | undefined;
  /** Names other than localhost and IP addresses under which clients may ask. */
  names?: readonly string[];
}

export class OperationsServer {
  readonly #server: LocalServer;

  constructor(
    listen: { host: string; port: number },
    answers: OperationsAnswers,
    { pages, playground, names, ...limits }: OperationsExtras = {},
  ) {
    const routes = [
      pages,
      playground,
      new OperationsRoutes(answers, {
        pages: [
          ...(pages === undefined ? [] : ['/', '/objects']),
          ...(playground === undefined ? [] : ['/playground']),
        ],
        port: () => this.address.port,
      }),
    ].filter((one) => one !== undefined);
    const known = names && { names, from: 'the names in hostward.listenNames' };
    this.#server = new LocalServer({ listen, routes, limits, ...(known && { names: known }) });
  }

  /** Rejects with the system's error when the port is taken or not allowed. */
  start(): Promise<void> {
    return this.#server.start();
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** The real address, even if port 0 was requested. */
  get address(): { host: string; port: number } {
    return this.#server.address;
  }
}

class OperationsRoutes implements LocalRoutes {
  readonly #answers: OperationsAnswers;
  readonly #pages: readonly string[];
  readonly #port: () => number;

  /** `pages` are the paths that other routes answer, for the sentence about an unknown one. */
  constructor(answers: OperationsAnswers, { pages, port }: { pages: readonly string[]; port: () => number }) {
    this.#answers = answers;
    this.#port = port;
    this.#pages = pages;
  }

  takes(): { methods: readonly string[]; bodyBytes: number } {
    return { methods: ['GET', 'HEAD'], bodyBytes: 0 };
  }

  async answer(request: LocalRequest): Promise<LocalReply> {
    switch (request.path) {
      case '/healthz': {
        const { isHealthy, lines } = this.#answers.health();
        return plainReply(isHealthy ? 200 : 500, [isHealthy ? 'ok' : 'not healthy', ...lines].join('\n'));
      }
      case '/readyz':
        return readiness(this.#answers.readiness());
      case '/metrics': {
        const { contentType, text } = await this.#answers.metrics();
        return { status: 200, contentType, text };
      }
      case '/status':
      case '/status/objects':
        return this.#status(request);
      default:
        return this.#part(request.path);
    }
  }

  #part(path: string): LocalReply {
    const { parts } = this.#answers.readiness();
    const part = parts.find(({ name }) => path === `/readyz/${name}`);
    if (part !== undefined) return readiness(part);
    const names = [...this.#pages, '/healthz', '/readyz', ...parts.map(({ name }) => `/readyz/${name}`), '/metrics'];
    return plainReply(404, `there are ${names.join(', ')} and /status`);
  }

  async #status({ isLoopback, path, query }: LocalRequest): Promise<LocalReply> {
    if (!isLoopback) return plainReply(403, forwardSentence('the status names objects', { port: this.#port(), path }));
    if (path === '/status/objects') return this.#objects(query);
    const key = query.get('object');
    if (key === null) return jsonReply(200, this.#answers.status());
    const known = await this.#answers.objectStatus(key);
    if (known !== undefined) return jsonReply(200, known);
    const why = (this.#answers.unread?.() ?? []).map((one) => `; ${one}`).join('');
    return jsonReply(404, { message: `"${key}" is not known${why}` });
  }

  /** Puts the verdict before the objects, so that one answer holds both. */
  #objects(query: URLSearchParams): LocalReply {
    const asked = (name: string): string | undefined => query.get(name) ?? undefined;
    const filter = { namespace: asked('namespace'), state: asked('state'), kind: asked('kind') };
    const { verdict } = this.#answers.status() as { verdict?: unknown };
    const text = safeText(`${JSON.stringify({ verdict }).slice(0, -1)}${verdict === undefined ? '' : ','}"objects":[`);
    return { status: 200, contentType: 'application/json', text, more: pieces(this.#answers.objects(filter)) };
  }
}

/** Objects in one turn of the event loop: writing a hundred thousand objects at once would delay every probe. */
const objectsPerTurn = 500;

function* pieces(rows: Iterable<unknown>): Generator<string> {
  let piece: string[] = [];
  let isFirst = true;
  for (const row of rows) {
    piece.push(`${isFirst ? '' : ','}${JSON.stringify(row)}`);
    isFirst = false;
    if (piece.length < objectsPerTurn) continue;
    yield safeText(piece.join(''));
    piece = [];
  }
  yield `${safeText(piece.join(''))}]}\n`;
}

function readiness({ isReady, lines }: { isReady: boolean; lines: readonly string[] }): LocalReply {
  return plainReply(isReady ? 200 : 503, [isReady ? 'ok' : 'not ready', ...lines].join('\n'));
}
