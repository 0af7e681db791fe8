// What real clusters show during a test of several writers: the addresses that a consumer of slices takes for each Service, and
// every event of Endpoints and EndpointSlices since the beginning.
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { type ApiClient, WatchStream } from '../../../contract/client.ts';

const serviceLabel = 'kubernetes.io/service-name';
const paths = { endpoints: '/api/v1/endpoints', endpointslices: '/apis/discovery.k8s.io/v1/endpointslices' };

export interface Seen {
  type: string;
  kind: string;
  namespace: string;
  name: string;
  object: KubeObject;
}

/** Follows both kinds of one cluster. */
export class Observer {
  readonly events: Seen[] = [];
  readonly #client: ApiClient;
  readonly #watches: WatchStream[] = [];
  #isClosed = false;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async start(): Promise<void> {
    for (const [kind, path] of Object.entries(paths)) {
      const list = (await this.#client.request('GET', path)).json as { metadata: { resourceVersion: string } };
      const query = `watch=true&resourceVersion=${list.metadata.resourceVersion}`;
      const watch = await this.#client.watch(`${path}?${query}`);
      if (!(watch instanceof WatchStream)) throw new Error(`cannot watch ${kind}: ${watch.status}`);
      this.#watches.push(watch);
      void this.#follow(kind, watch);
    }
  }

  async #follow(kind: string, watch: WatchStream): Promise<void> {
    while (!this.#isClosed) {
      // A quiet cluster sends nothing for longer than next() waits.
      const line = await watch.next().catch(() => 'quiet' as const);
      if (line === undefined) return void this.events.push({ ...nothing, type: 'END', kind });
      if (line === 'quiet') continue;
      const object = line.object as KubeObject;
      const { namespace = '', name = '' } = object.metadata;
      this.events.push({ type: line.type, kind, namespace, name, object });
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const watch of this.#watches) watch.close();
  }
}

const nothing = { namespace: '', name: '', object: { metadata: {} } as KubeObject };

interface Port {
  name?: string;
  port?: number;
  protocol?: string;
}

interface SliceShape {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean } }[] | null;
  ports?: Port[] | null;
}

/** All slices of each Service of a namespace together, without duplicates: `address name:port/protocol`, with ` not ready`. */
export async function publishedIn(client: ApiClient, namespace: string): Promise<Map<string, Set<string>>> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const { items } = (await client.request('GET', path)).json as { items: KubeObject[] };
  const published = new Map<string, Set<string>>();
  for (const slice of items) {
    const service = slice.metadata.labels?.[serviceLabel] ?? '';
    const known = published.get(service) ?? new Set();
    published.set(service, new Set([...known, ...publishedBy(slice as SliceShape)]));
  }
  return published;
}

export function publishedBy({ endpoints, ports }: SliceShape): string[] {
  return (endpoints ?? []).flatMap(({ addresses, conditions }) =>
    addresses.flatMap((address) =>
      (ports ?? []).map(({ name = '', port, protocol }) => {
        const readiness = conditions?.ready === false ? ' not ready' : '';
        return `${address} ${name}:${port}/${protocol}${readiness}`;
      }),
    ),
  );
}
