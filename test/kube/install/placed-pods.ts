// What a scheduler does with the pods of the chart, which run nowhere here.
import type { ApiClient } from '../../contract/client.ts';
import { until } from '../../contract/sync-stage/backend.ts';

export class PlacedPods {
  readonly #client: ApiClient;
  readonly #pod: (at: number) => string;

  constructor(client: ApiClient, namespace: string) {
    this.#client = client;
    this.#pod = (at) => `/api/v1/namespaces/${namespace}/pods/hw-hostward-management-${at}`;
  }

  /** The pod of each replica on the node of that name, which is made. A pod that was on another node is made anew. */
  async place(...nodes: string[]): Promise<void> {
    for (const [at, name] of nodes.entries()) {
      await this.#client.request('POST', '/api/v1/nodes', { body: { metadata: { name } } });
      const former = await this.#uid(at);
      await this.#client.request('DELETE', `${this.#pod(at)}?gracePeriodSeconds=0`);
      await until('a new pod', async () => ![undefined, former].includes(await this.#uid(at)) || undefined);
      const body = { metadata: { name: this.#pod(at).split('/').at(-1) }, target: { kind: 'Node', name } };
      const bound = await this.#client.request('POST', `${this.#pod(at)}/binding`, { body });
      if (bound.status !== 201) throw new Error(`${this.#pod(at)} cannot be placed: ${bound.text}`);
    }
  }

  /** The uid of the pod, once it is there. */
  async #uid(at: number): Promise<string | undefined> {
    const { json } = await this.#client.request('GET', this.#pod(at));
    return (json as { metadata?: { uid?: string } }).metadata?.uid;
  }
}
