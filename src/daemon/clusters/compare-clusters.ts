// Says whether two connections lead to one cluster: a host that counts as its own virtual cluster lacks every tenant's object, so all
// copies would go. In: both connections and a namespace of the host. Out: one, two, or that nobody can tell. Two addresses may lead
// to one cluster, so uids of namespaces decide. Must never write.
import type { Answer } from '../../cluster/answer.ts';
import type { ClusterConnection } from '../../cluster/wire/connection.ts';

export type Compared =
  | { kind: 'two' }
  | { kind: 'one'; found: string }
  /** `refusing`: the sides that may not be asked for a namespace of the host's name, which would do. */
  | { kind: 'unknown'; why: string; refusing: readonly ('virtual' | 'host')[] };

type AskedCluster = Pick<ClusterConnection, 'server' | 'request'>;

export async function compareClusters(
  virtual: AskedCluster,
  host: AskedCluster,
  hostNamespace: string,
): Promise<Compared> {
  const server = new URL(host.server).href;
  if (new URL(virtual.server).href === server) return { kind: 'one', found: `the API server ${server}` };
  const untold: string[] = [];
  const refusing = new Set<'virtual' | 'host'>();
  const silent = new Set<'virtual' | 'host'>();
  // The daemon may read its own namespace of the host in every installation, and kube-system in some.
  for (const namespace of new Set([hostNamespace, 'kube-system'])) {
    const request = { method: 'GET', path: `/api/v1/namespaces/${encodeURIComponent(namespace)}` } as const;
    const [here, there] = await Promise.all([virtual.request(request), host.request(request)]);
    const uids = [uidOf(here), uidOf(there)];
    if (uids.every((uid) => uid !== undefined)) {
      if (uids[0] !== uids[1]) return { kind: 'two' };
      return { kind: 'one', found: `one cluster: its namespace ${namespace} has the uid ${uids[0]} on both sides` };
    }
    if (uids.some((uid) => uid !== undefined) && [here, there].some(({ kind }) => kind === 'notFound'))
      return { kind: 'two' };
    untold.push(namespace);
    if (isNone(here)) silent.add('virtual');
    if (isNone(there)) silent.add('host');
    if (namespace === hostNamespace || refusing.size === 0) {
      if (here.kind === 'forbidden') refusing.add('virtual');
      if (there.kind === 'forbidden') refusing.add('host');
    }
  }
  // A right would not help where no answer comes.
  if (silent.size > 0) {
    const sides = [...silent].map((side) => (side === 'host' ? 'the host' : 'the virtual cluster'));
    const why = `${sides.join(' and ')} gave no answer about the namespace ${untold.join(' or ')}`;
    return { kind: 'unknown', why, refusing: [] };
  }
  const why = `nobody may read the uid of the namespace ${untold.join(' or ')} on both sides`;
  return { kind: 'unknown', why, refusing: [...refusing] };
}

function isNone({ kind }: Answer): boolean {
  return kind === 'failed' || kind === 'throttled';
}

function uidOf(answer: Answer): string | undefined {
  return answer.kind === 'ok' && answer.object.kind === 'Namespace' ? answer.object.metadata?.uid : undefined;
}
