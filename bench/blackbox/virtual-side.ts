// What the black box makes on the virtual side, and takes away again.
import type { Cluster, KubeObject } from './cluster.ts';
import { EnvironmentFault } from './fault.ts';
import type { Load, Place } from './load.ts';

const concurrency = 16;
/** A namespace whose controllers are slow is being deleted all the same. */
const goneWithinMs = 5_000;
const pollMs = 100;

export class VirtualSide {
  #cluster: Cluster;
  #load: Load;
  /** The namespaces that exist because of this run. */
  readonly namespaces = new Set<string>();

  constructor(cluster: Cluster, load: Load) {
    this.#cluster = cluster;
    this.#load = load;
  }

  async makeNamespaces(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      if (this.namespaces.has(name)) continue;
      // Noted first: a request without an answer may have made it.
      this.namespaces.add(name);
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      const answer = await this.#cluster.send({ method: 'POST', path: '/api/v1/namespaces', body });
      if (answer.status === 201) continue;
      // Nothing was made, and what has this name belongs to somebody else.
      this.namespaces.delete(name);
      if (answer.status === 409)
        throw new EnvironmentFault(`another run has made the virtual namespace "${name}": start this one again`);
      throw new EnvironmentFault(this.#cluster.sentence(answer, 'create namespaces'));
    }
  }

  async makeServices(places: readonly Place[], signal: AbortSignal): Promise<void> {
    await inParallel(places, signal, (place) =>
      this.#make(`/api/v1/namespaces/${place.namespace}/services`, this.#load.service(place), 'create Services'),
    );
  }

  async makeObjects(places: readonly Place[], signal: AbortSignal): Promise<void> {
    await inParallel(places, signal, (place) =>
      this.#make(this.#load.pathIn(place.namespace), this.#load.object(place, 0), `create ${this.#load.kind}`),
    );
  }

  /** Whether the server took it, and what it said otherwise. */
  async change(place: Place, version: number): Promise<string | undefined> {
    const path = `${this.#load.pathIn(place.namespace)}/${place.name}`;
    const answer = await this.#cluster.send({ method: 'PATCH', path, body: this.#load.change(place, version) });
    if (answer.status === 200) return undefined;
    const sentence = this.#cluster.sentence(answer, `change ${this.#load.kind}`);
    // A missing right does not come by itself, and without it there is nothing to measure.
    if (answer.status === 401 || answer.status === 403) throw new EnvironmentFault(sentence);
    return sentence;
  }

  async objects(): Promise<KubeObject[]> {
    const all: KubeObject[] = [];
    for (const namespace of this.namespaces) {
      const { items } = await this.#cluster.list(this.#load.pathIn(namespace), `list ${this.#load.kind}`);
      for (const item of items) all.push(item);
    }
    return all;
  }

  /** Says what could not be taken away. */
  async clear(): Promise<string[]> {
    const left: string[] = [];
    const ending: string[] = [];
    for (const namespace of this.namespaces) {
      // By hand, because a cluster without a namespace controller keeps what is in a deleted namespace.
      for (const path of [this.#load.pathIn(namespace), `/api/v1/namespaces/${namespace}/services`])
        await this.#deleteAll(path).catch(() => undefined);
      const path = pathOf(namespace);
      const answer = await this.#cluster.send({ method: 'DELETE', path }).catch((error: Error) => error);
      if (answer instanceof Error) left.push(`${namespace} stays: ${answer.message}`);
      else if (answer.status >= 300 && answer.status !== 404 && answer.status !== 409)
        left.push(`${namespace} stays: ${this.#cluster.sentence(answer, 'delete namespaces')}`);
      else ending.push(namespace);
    }
    // All of them end at the same time.
    const untilMs = performance.now() + goneWithinMs;
    const slow: string[] = [];
    for (const namespace of ending) if (!(await this.#isGone(namespace, untilMs))) slow.push(namespace);
    if (slow.length > 0) left.push(`still being deleted: ${slow.join(', ')}`);
    return left;
  }

  async #deleteAll(path: string): Promise<void> {
    const { status } = await this.#cluster.send({ method: 'DELETE', path });
    if (status < 300) return;
    const { items } = await this.#cluster.list(path, 'list objects');
    await inParallel(items, undefined, ({ metadata }) =>
      this.#cluster.send({ method: 'DELETE', path: `${path}/${metadata.name}` }),
    );
  }

  async #isGone(namespace: string, untilMs: number): Promise<boolean> {
    for (;;) {
      const answer = await this.#cluster.send({ method: 'GET', path: pathOf(namespace) }).catch(() => undefined);
      if (answer?.status === 404) return true;
      if (performance.now() >= untilMs) return false;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  async #make(path: string, body: object, todo: string): Promise<void> {
    await this.#cluster.expect({ method: 'POST', path, body }, { status: [201], todo });
  }
}

function pathOf(namespace: string): string {
  return `/api/v1/namespaces/${namespace}`;
}

async function inParallel<T>(
  all: readonly T[],
  signal: AbortSignal | undefined,
  run: (one: T) => Promise<unknown>,
): Promise<void> {
  let at = 0;
  const worker = async (): Promise<void> => {
    for (let one = all[at++]; one !== undefined; one = all[at++]) {
      signal?.throwIfAborted();
      await run(one);
    }
  };
  const workers = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  // Only now is nothing on its way any more, so that whoever cleans up behind an error finds everything.
  for (const one of workers) if (one.status === 'rejected') throw one.reason;
}
