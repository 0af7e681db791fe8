// Which rights a replica needs on its records, and which of them it lacks: asks the cluster at the start, after each refusal, again while
// one is missing, and otherwise now and then, because a watch goes on for minutes without its right. In: a connection. Out: one sentence
// that names all that is missing and what to do.
import type { Clock, Timer } from '../../../../clock.ts';
import type { Answer } from '../../../../cluster/answer.ts';
import type { Permission } from '../../../../cluster/permission.ts';
import type { Connection } from '../../../../cluster/wire/connection.ts';
import { namesNobody, reviewAll, userOf } from '../../../../cluster/wire/probe.ts';
import type { Log } from '../../../../log.ts';
import { counted } from '../../../../object/text/in-words.ts';
import { StoreFault } from '../../../../store/errors.ts';
import { rightsMend } from './host-fault.ts';

/** What the chart grants a replica in the namespace of its records. */
export const recordRules = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
] as const;

/** Who holds it removes what is over. */
export const sweeperLease = 'hostward-sweeper';

/** Without one of these no replica can start. Without the others it can serve, and most of what it serves is worth more than nothing. */
const neededToStart = [
  'get secrets',
  'list secrets',
  'watch secrets',
  'update secrets',
  'list configmaps',
  'patch configmaps',
];

export function permissionsOnRecords(namespace: string): Permission[] {
  return recordRules.flatMap(({ apiGroups: [group], resources: [resource], verbs }) =>
    verbs.map((verb) => {
      // A Role may name the lease, but a create has no name that a Role could know.
      const isNamed = resource === 'leases' && verb !== 'create';
      return { group, resource, verb, namespace, ...(isNamed && { name: sweeperLease }) };
    }),
  );
}

/** A line for each resource. */
export function lackedText(lacked: readonly Permission[]): string[] {
  const byResource = Map.groupBy(lacked, ({ group, resource }) => resource + (group && `.${group}`));
  return [...byResource].map(([what, rights]) => `${rights.map(({ verb }) => verb).join(', ')} on ${what}`);
}

/** Nobody waits longer for a right that was granted to be noticed; a replica that is refused every two seconds asks no more often. */
const againMs = 8_000;
/** Sooner than the end of a watch. */
const nowAndThenMs = 240_000;

export interface RecordRightsOptions {
  connection: Connection;
  namespace: string;
  /** As messages name it. */
  place: string;
  clock: Clock;
  log: Log;
}

export class RecordRights {
  readonly #options: RecordRightsOptions;
  readonly #needed: readonly Permission[];
  #lacked: readonly Permission[] = [];
  #trouble: string | undefined;
  #timer: Timer | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #isRefused = false;
  readonly #stopping = new AbortController();

  constructor(options: RecordRightsOptions) {
    this.#options = options;
    this.#needed = permissionsOnRecords(options.namespace);
  }

  /** Which rights are missing, and what to do; undefined while none is known to be missing. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  get lackedCount(): number {
    return this.#lacked.length;
  }

  /** The same connection; each refusal on it for want of a right is looked into. */
  heard(connection: Connection): Connection {
    const hear = (answer: Answer) => {
      if (answer.kind === 'forbidden' && !answer.namespaceTerminating) this.#refused();
    };
    return {
      name: connection.name,
      get server() {
        return connection.server;
      },
      async request(request) {
        const answer = await connection.request(request);
        hear(answer);
        return answer;
      },
      stream(request, sink) {
        const stream = connection.stream(request, sink);
        void stream.ended.then((end) => end.kind === 'answered' && hear(end.answer));
        return stream;
      },
      subscribe: (listener) => connection.subscribe(listener),
      close: () => connection.close(),
    };
  }

  /** What a start does with the host. A refusal for want of a right is told with everything else that is missing. */
  async explain<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      // A full quota or an immutable record is refused too, and no right would mend it.
      if (error instanceof StoreFault && error.message.includes(rightsMend)) await this.#mustHave(() => true);
      throw error;
    }
  }

  /** Without some rights a start would end only after long waits, and with a part of what is missing. */
  async open(): Promise<void> {
    await this.#mustHave(({ verb, resource }) => neededToStart.includes(`${verb} ${resource}`));
    this.#wait();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#looking;
  }

  async #mustHave(isNeeded: (right: Permission) => boolean): Promise<void> {
    await this.#look();
    if (this.#trouble !== undefined && this.#lacked.some(isNeeded))
      throw new StoreFault('STORE_OPEN_FAILED', `Cannot open the store: ${this.#trouble}`);
  }

  #refused(): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#wait();
  }

  #wait(): void {
    this.#timer?.cancel();
    if (this.#stopping.signal.aborted || this.#looking !== undefined || this.#lookedMs === Number.NEGATIVE_INFINITY)
      return;
    const { clock } = this.#options;
    const laterMs = this.#lacked.length > 0 ? againMs : nowAndThenMs;
    const delayMs = this.#isRefused ? Math.max(0, this.#lookedMs + againMs - clock.now()) : laterMs;
    this.#timer = clock.after(delayMs, () => {
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
        this.#wait();
      });
    });
  }

  async #look(): Promise<void> {
    const { clock } = this.#options;
    this.#isRefused = false;
    const reviews = await reviewAll(this.#asked, this.#needed);
    if (this.#stopping.signal.aborted) return;
    this.#lookedMs = clock.now();
    const isNobody = reviews.includes('nobody');
    // What no review tells is as it was.
    const lacked = this.#needed.filter((right, at) => {
      const isUnknown = reviews[at] === undefined || reviews[at] === 'unknown';
      return isNobody || (isUnknown ? this.#lacked.includes(right) : reviews[at] === 'denied');
    });
    const isAsBefore = lacked.length === this.#lacked.length && lacked.every((right) => this.#lacked.includes(right));
    if (isAsBefore && (lacked.length === 0 || this.#trouble !== undefined)) return;
    this.#lacked = lacked;
    if (lacked.length === 0) this.#trouble = undefined;
    else this.#trouble = isNobody ? this.#nobody() : await this.#sentence();
    this.#tell();
  }

  /** Given up with stop(), which a silent cluster would hold up for half a minute otherwise. */
  get #asked(): Pick<Connection, 'request'> {
    const { signal } = this.#stopping;
    return { request: (request) => this.#options.connection.request({ ...request, signal }) };
  }

  #nobody(): string {
    const { message, fix } = namesNobody(this.#options.connection.name);
    return `${message}; ${fix}`;
  }

  async #sentence(): Promise<string> {
    const { place } = this.#options;
    const who = (await userOf(this.#asked)) ?? 'of the kubeconfig';
    const all = this.#lacked.length === this.#needed.length;
    const ending = all ? '; a namespace that is being deleted loses its Roles first' : '';
    const what = lackedText(this.#lacked).join('; ');
    return `the account ${who} lacks ${counted(this.#lacked.length, 'right')} of ${this.#needed.length} in ${place}: ${what}${ending}; ${roleMend}`;
  }

  #tell(): void {
    const { log } = this.#options;
    const [trouble, about] = [this.#trouble, { component: 'management' }];
    if (trouble === undefined) log.info(about, 'no right on the records is missing any more');
    else log.error({ ...about, trouble }, 'rights on the records are missing');
  }
}

export const roleMend = `${rightsMend}, with its RoleBinding, or helm upgrade with management.store.type=kubernetes`;
