// The yardstick of the benchmarks: a process that sends prepared merge patches or creates over a pool of connections. It sends the
// same bytes as the daemon for the same change, and drops the answers.
import { ApiClient, inParallel, type Reach } from './api-client.ts';
import { hostNameOf, hostNamespace, keysOf, subsetsOf } from './workload.ts';

export type BareCommand =
  /** `namespace`: by default the one that the daemon writes to. */
  | { kind: 'prepare'; reach: Reach; count: number; variant: number; namespace?: string }
  | { kind: 'prepareCreates'; reach: Reach; path: string }
  | { kind: 'go'; concurrency: number; from?: number; to?: number };

export interface BareResult {
  writes: number;
  seconds: number;
  cpuMs: number;
}

interface HostObject {
  metadata: { name: string; uid: string; resourceVersion: string };
}

const serverFields = ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields'];

let client: ApiClient | undefined;
let sendings: { method: 'PATCH' | 'POST'; path: string; body: string; contentType: string }[] = [];

process.on('message', (command: BareCommand) => {
  answer(command).then(
    (reply) => process.send?.(reply),
    (error: unknown) => {
      process.stderr.write(`bare writer: ${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));

function answer(command: BareCommand): Promise<unknown> {
  switch (command.kind) {
    case 'prepare':
      return prepare(command);
    case 'prepareCreates':
      return prepareCreates(command);
    case 'go':
      return go(command);
    default:
      return command satisfies never;
  }
}

/** The bodies are the objects as the daemon has created them, without the fields of the server. */
async function prepareCreates({ reach, path }: { reach: Reach; path: string }): Promise<unknown> {
  client ??= new ApiClient({ ...reach, headers: { ...reach.headers, 'user-agent': 'bare' } });
  const objects = await client.list<{ metadata: Record<string, unknown> }>(path);
  sendings = objects.map((object) => {
    const kept = Object.entries(object.metadata).filter(([field]) => !serverFields.includes(field));
    const body = JSON.stringify({ ...object, metadata: Object.fromEntries(kept) });
    return { method: 'POST', path: `${path}?fieldManager=hostward`, body, contentType: 'application/json' };
  });
  return { kind: 'prepared' };
}

async function prepare(command: Extract<BareCommand, { kind: 'prepare' }>): Promise<unknown> {
  const reach = { ...command.reach, headers: { ...command.reach.headers, 'user-agent': 'bare' } };
  const { namespace = hostNamespace } = command;
  client ??= new ApiClient(reach);
  const objects = await client.list<HostObject>(`/api/v1/namespaces/${namespace}/endpoints`);
  const byName = new Map(objects.map((object) => [object.metadata.name, object.metadata]));
  sendings = keysOf(command.count).map((key, index) => {
    const name = hostNameOf(key);
    const held = byName.get(name);
    if (held === undefined) throw new Error(`the host has no "${name}"`);
    const metadata = { uid: held.uid, resourceVersion: held.resourceVersion };
    return {
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}/endpoints/${name}?fieldManager=hostward`,
      body: JSON.stringify({ metadata, subsets: subsetsOf(index, command.variant) }),
      contentType: 'application/merge-patch+json',
    };
  });
  return { kind: 'prepared' };
}

async function go({ concurrency, from, to }: Extract<BareCommand, { kind: 'go' }>): Promise<BareResult> {
  const chosen = sendings.slice(from, to);
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  await inParallel(chosen, concurrency, async (sending) => {
    const { status, text } = await (client as ApiClient).send(sending, { isBare: true });
    if (status !== 200 && status !== 201) throw new Error(`${sending.path}: ${status} ${text.slice(0, 200)}`);
  });
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { writes: chosen.length, seconds, cpuMs: (user + system) / 1000 };
}
