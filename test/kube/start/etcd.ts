// How a test starts etcd, and what it asks of it.
import { join } from 'node:path';

export function etcdFlags({
  folder,
  etcdUrl,
  peerPort,
}: {
  folder: string;
  etcdUrl: string;
  peerPort: number;
}): string[] {
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    // A peer port of its own: with the default one the second etcd of a machine dies at start.
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--log-level=warn',
  ];
}

/** Through etcd's JSON gateway, which needs no gRPC client. */
export async function compactEtcd(etcdUrl: string): Promise<void> {
  const post = async (path: string, body: unknown): Promise<{ header?: { revision?: string } }> => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd refused "${path}" with ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as { header?: { revision?: string } };
  };
  const { header } = await post('range', { key: Buffer.from('/').toString('base64') });
  await post('compaction', { revision: header?.revision, physical: true });
}
