// An embedded API server in a process of its own, with a stopwatch. It records when it sent a change of an Endpoints to the
// watchers and when a write arrived, on the monotonic clock that all processes of a machine share.
import { type Devcluster, startDevcluster } from '../src/devcluster/devcluster.ts';
import { endpointsOf, type Key, keysOf, serviceOf, subsetsOf } from './workload.ts';

export type ClusterCommand =
  | { kind: 'reset' }
  | { kind: 'await'; writes: number; withinMs: number }
  | { kind: 'read' }
  /** Objects that exist from the start, because creating them by requests takes too long. */
  | { kind: 'plant'; count: number; isEligible: boolean }
  /** Gives that many planted Endpoints the addresses of a variant, written straight into the store for the same reason. */
  | { kind: 'change'; count: number; variant: number };

export interface ClusterReadings {
  /** Counts of the daemon or the bare writer: answered writes of Endpoints, and other requests except lists and watches. */
  writes: number;
  reads: number;
  creates: number;
  firstMs: number;
  lastMs: number;
  /** Name → time when the watchers got the change (virtual side). */
  told: [string, number][];
  /** Name → time when the write arrived (host side). */
  arrived: [string, number][];
  rssMb: number;
  isReached: boolean;
}

const name = process.argv[2] ?? 'cluster';
const told = new Map<string, number>();
const arrived = new Map<string, number>();
let counts = { writes: 0, reads: 0, creates: 0, firstMs: 0, lastMs: 0 };
let wake: (() => void) | undefined;

const cluster = await startDevcluster({
  name,
  intercept: (target) => {
    if (target.resource === 'endpoints' && isWrite(target.verb)) arrived.set(target.name, nowMs());
    return { kind: 'pass' };
  },
});
cluster.requests.subscribe((record) => {
  if (!record.userAgent.startsWith('hostward') && record.userAgent !== 'bare') return;
  if (isWrite(record.verb) && record.resource === 'endpoints' && record.code < 400) {
    counts.lastMs = nowMs();
    if (counts.writes === 0) counts.firstMs = counts.lastMs;
    counts.writes++;
    if (record.verb === 'create') counts.creates++;
    wake?.();
  } else if (record.verb === 'get' || record.code >= 400) counts.reads++;
});
void stampChanges(cluster);
process.send?.({ kind: 'ready', url: cluster.url, kubeconfig: cluster.kubeconfig });

process.on('message', (command: ClusterCommand) => void answer(command).then((reply) => process.send?.(reply)));
process.on('disconnect', () => void cluster.stop().then(() => process.exit(0)));

async function answer(command: ClusterCommand): Promise<unknown> {
  switch (command.kind) {
    case 'reset':
      counts = { writes: 0, reads: 0, creates: 0, firstMs: 0, lastMs: 0 };
      told.clear();
      arrived.clear();
      return { kind: 'done' };
    case 'await':
      return readings(await reached(command));
    case 'read':
      return readings(true);
    case 'plant':
      await plant(command);
      return { kind: 'done' };
    case 'change':
      await change(command);
      return { kind: 'done' };
    default:
      return command satisfies never;
  }
}

function readings(isReached: boolean): ClusterReadings {
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  return { ...counts, told: [...told], arrived: [...arrived], rssMb, isReached };
}

function reached({ writes, withinMs }: { writes: number; withinMs: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(false), withinMs);
    const finish = (isReached: boolean): void => {
      wake = undefined;
      clearTimeout(timer);
      resolve(isReached);
    };
    wake = () => {
      if (counts.writes >= writes) finish(true);
    };
    wake();
  });
}

async function stampChanges({ store }: Devcluster): Promise<void> {
  const watch = await store.watch('/registry/services/endpoints/', await store.currentRevision());
  if ('kind' in watch) return;
  for await (const batch of watch.events()) {
    for (const { key } of batch) told.set(key.slice(key.lastIndexOf('/') + 1), nowMs());
  }
}

async function plant({ count, isEligible }: { count: number; isEligible: boolean }): Promise<void> {
  const creationTimestamp = new Date().toISOString().replace(/\.\d+/, '');
  let uid = 0;
  const write = async (folder: string, key: Key, object: Record<string, unknown>): Promise<void> => {
    const { metadata, apiVersion: _version, kind: _kind, ...rest } = object;
    const planted = {
      ...(metadata as object),
      uid: `00000000-0000-4000-8000-${String(uid++).padStart(12, '0')}`,
      creationTimestamp,
    };
    const value = JSON.stringify({ metadata: planted, ...rest });
    await cluster.store.write(`/registry/services/${folder}/${key.namespace}/${key.name}`, {
      expect: undefined,
      value,
    });
  };
  for (const [index, key] of keysOf(count).entries()) {
    const service = serviceOf(key) as { spec: object };
    const selector = isEligible ? {} : { selector: { app: key.name } };
    await write('specs', key, { ...service, spec: { ...service.spec, ...selector } });
    await write('endpoints', key, endpointsOf(key, index, 0) as Record<string, unknown>);
  }
}

async function change({ count, variant }: { count: number; variant: number }): Promise<void> {
  for (const [index, { namespace, name: own }] of keysOf(count).entries()) {
    const key = `/registry/services/endpoints/${namespace}/${own}`;
    const { record } = await cluster.store.get(key);
    if (record === undefined) throw new Error(`"${key}" was to be changed and does not exist`);
    const value = JSON.stringify({ ...JSON.parse(record.value), subsets: subsetsOf(index, variant) });
    await cluster.store.write(key, { expect: undefined, value });
  }
}

function isWrite(verb: string): boolean {
  return verb === 'create' || verb === 'update' || verb === 'patch' || verb === 'delete';
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
