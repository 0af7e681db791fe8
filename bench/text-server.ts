// An API server in memory for benches that leave the network out: it answers with the bytes of a real one.
import type { ApiRequest, Connection, Stream, StreamRequest, StreamSink } from '../src/cluster/wire/connection.ts';
import { toAnswer } from '../src/cluster/wire/status-answer.ts';
import type { KubeObject } from '../src/object/meta/object.ts';

/** A fake API server over texts with lists, watches and merge patches; for the daemon it behaves as a real server. */
export class TextServer {
  readonly objects = new Map<string, KubeObject>();
  readonly connection: Connection;
  #revision = 1000;
  #watchers = new Set<{ resource: string; sink: StreamSink }>();

  constructor(name: string) {
    this.connection = {
      name,
      server: 'https://127.0.0.1:1',
      request: async (request) => {
        const { method, path } = request;
        return toAnswer({ ...this.#answer(request), ...noise, method, what: path });
      },
      stream: (request, sink) => this.#stream(request, sink),
      subscribe: () => () => undefined,
      close: async () => {},
    };
  }

  put(resource: string, object: object): void {
    const { kind, apiVersion, metadata, ...rest } = object as KubeObject;
    const { namespace, name, ...more } = metadata;
    const path = `${resource}/${metadata.namespace}/${metadata.name}`;
    const known = this.objects.get(path)?.metadata;
    const first = {
      name,
      namespace,
      uid: known?.uid ?? uidOf(++this.#revision),
      resourceVersion: String(++this.#revision),
      creationTimestamp: '2026-11-21T00:00:00Z',
    };
    // The short fields of the metadata come first, as in the answers of a real server.
    const stored = { kind, apiVersion, metadata: { ...first, ...more, ...first, managedFields }, ...rest };
    this.objects.set(path, stored);
    const line = Buffer.from(
      `${JSON.stringify({ type: known === undefined ? 'ADDED' : 'MODIFIED', object: stored })}\n`,
    );
    for (const watcher of this.#watchers) if (watcher.resource === resource) watcher.sink.data(line);
  }

  #answer({ method, path, body }: ApiRequest): { status: number; body: Buffer } {
    const all = (path.split('?', 1)[0] as string).split('/');
    const parts = all.slice(all.indexOf('v1') + 1);
    const [namespace = '', resource = '', name = ''] = parts[0] === 'namespaces' ? parts.slice(1) : ['', parts[0]];
    const text =
      method === 'GET'
        ? this.#list(`${resource}/${namespace === '' ? '' : `${namespace}/`}`)
        : this.#write({ namespace, resource, name }, JSON.parse(body ?? '{}'));
    return { status: 200, body: Buffer.from(text) };
  }

  #list(prefix: string): string {
    const items = [...this.objects].filter(([path]) => path.startsWith(prefix)).map(([, object]) => object);
    const list = lists[prefix.split('/', 1)[0] as string];
    return JSON.stringify({ ...list, metadata: { resourceVersion: String(this.#revision) }, items });
  }

  #write(place: { namespace: string; resource: string; name: string }, change: KubeObject): string {
    const path = `${place.resource}/${place.namespace}/${place.name || change.metadata.name}`;
    const known = this.objects.get(path);
    this.put(place.resource, { ...known, ...change, metadata: { ...known?.metadata, ...change.metadata } });
    return JSON.stringify(this.objects.get(path));
  }

  #stream({ path }: StreamRequest, sink: StreamSink): Stream {
    const resource = /\/([a-z]+)\?/.exec(path)?.[1] ?? '';
    const watcher = { resource, sink };
    this.#watchers.add(watcher);
    sink.opened();
    let end = (): void => {};
    const ended = new Promise<{ kind: 'aborted' }>((resolve) => {
      end = () => resolve({ kind: 'aborted' });
    });
    const abort = (): void => {
      this.#watchers.delete(watcher);
      end();
    };
    return { ended, pause() {}, resume() {}, abort };
  }
}

const lists: Record<string, { kind: string; apiVersion: string }> = {
  services: { kind: 'ServiceList', apiVersion: 'v1' },
  endpoints: { kind: 'EndpointsList', apiVersion: 'v1' },
  endpointslices: { kind: 'EndpointSliceList', apiVersion: 'discovery.k8s.io/v1' },
};
const noise = { server: '', location: undefined, retryAfterMs: undefined };
const managedFields = [
  {
    manager: 'hostward',
    operation: 'Update',
    apiVersion: 'v1',
    time: '2026-11-21T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {}, 'f:tier': {} } }, 'f:subsets': {} },
  },
];

function uidOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}
