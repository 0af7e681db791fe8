// The connection of doctor to a cluster that has answered. It notices when the cluster stops answering. In: requests. Out: their
// answers. After a silence every further request fails at once, because each would wait as long, and its failure could look like a
// missing right.
import type { Answer } from '../../../cluster/answer.ts';
import type {
  ApiRequest,
  ClusterConnection,
  Stream,
  StreamRequest,
  StreamSink,
} from '../../../cluster/wire/connection.ts';
import type { AddressState, ClusterIdentity } from '../../../cluster/wire/same-cluster.ts';
import type { Patience } from './patience.ts';

/** A question of doctor is small, and its reader waits. */
const answerWithinMs = 10_000;
/** The server has just failed to answer, so a slow answer to this question counts as a silence too. */
const versionWithinMs = 5_000;
/** A server that answers /version and nothing else, as one without its etcd. One question alone may have a trouble of its own. */
const silentQuestions = 2;

type Failed = Extract<Answer, { kind: 'failed' }>;

export interface AskedClusterPorts {
  /** Called once, when the cluster answers no more. */
  silent(why: string): void;
  stopping: AbortSignal;
  patience: Patience;
}

export class AskedCluster implements ClusterConnection {
  readonly #connection: ClusterConnection;
  readonly #onSilent: (why: string) => void;
  readonly #stopping: AbortSignal;
  readonly #patience: Patience;
  #silence: Failed | undefined;
  /** Questions without an answer since the last answer. */
  readonly #unanswered = new Set<string>();
  readonly #reviews = new Map<string, Failed>();
  #asking: Promise<boolean> | undefined;

  constructor(connection: ClusterConnection, on: AskedClusterPorts) {
    this.#connection = connection;
    this.#onSilent = on.silent;
    this.#stopping = on.stopping;
    this.#patience = on.patience;
  }

  get name(): string {
    return this.#connection.name;
  }

  get server(): string {
    return this.#connection.server;
  }

  get address(): AddressState {
    return this.#connection.address;
  }

  async request(request: ApiRequest): Promise<Answer> {
    const question = questionOf(request);
    const known = this.#silence ?? this.#reviews.get(question);
    // What doctor has made is deleted in any case.
    if (known !== undefined && request.method !== 'DELETE') return known;
    // A list may be long.
    const timeoutMs = request.maxBytes === undefined ? { timeoutMs: answerWithinMs } : {};
    const answer = await this.#send(question, { ...timeoutMs, ...request });
    if (request.signal?.aborted || this.#stopping.aborted) return answer;
    if (answer.kind === 'failed' && answer.status === undefined) await this.#weigh(question, answer);
    else this.#unanswered.clear();
    return answer;
  }

  stream(request: StreamRequest, sink: StreamSink): Stream {
    return this.#connection.stream(request, sink);
  }

  subscribe(listener: () => void): () => void {
    return this.#connection.subscribe(listener);
  }

  pin(identity: ClusterIdentity): void {
    this.#connection.pin(identity);
  }

  reread(): Promise<void> {
    return this.#connection.reread();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Many requests may wait at once; one question for the version is enough for all of them. */
  async #weigh(question: string, answer: Failed): Promise<void> {
    this.#unanswered.add(question);
    // One authorizer answers all reviews, and there may be hundreds of them.
    if (question.startsWith('POST /apis/auth')) this.#reviews.set(question, answer);
    this.#asking ??= this.#answersAtAll();
    const answersAtAll = await this.#asking;
    this.#asking = undefined;
    if (this.#silence !== undefined || this.#stopping.aborted) return;
    if (answersAtAll && this.#unanswered.size < silentQuestions) return;
    this.#silence = answer;
    this.#onSilent(answersAtAll ? `${answer.message}; it still answers GET /version` : answer.message);
  }

  #send(question: string, request: ApiRequest): Promise<Answer> {
    return this.#patience.during({ from: nameOf(this), question }, this.#connection.request(request));
  }

  async #answersAtAll(): Promise<boolean> {
    const request = { method: 'GET', path: '/version', timeoutMs: versionWithinMs } as const;
    const answer = await this.#send('GET /version', request);
    return answer.kind !== 'failed' || answer.status !== undefined;
  }
}

/** Of a cluster in a sentence. */
export function nameOf({ name, server }: Pick<ClusterConnection, 'name' | 'server'>): string {
  return `${name === 'store' ? 'the cluster of the records' : `the ${name} cluster`} at ${server}`;
}

function questionOf({ method, path }: ApiRequest): string {
  return `${method} ${path.split('?', 1)[0]}`;
}
