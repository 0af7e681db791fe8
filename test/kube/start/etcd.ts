// How a test starts etcd, and what it asks of it.
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';

const member = 'default';
const peerUrlOf = (peerPort: number) => `http://127.0.0.1:${peerPort}`;

export function etcdFlags({
  folder,
  etcdUrl,
  peerPort,
}: {
  folder: string;
  etcdUrl: string;
  peerPort: number;
}): string[] {
  const peerUrl = peerUrlOf(peerPort);
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    // A peer port of its own: with the default one the second etcd of a machine dies at start.
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=${member}=${peerUrl}`,
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

/** What `etcdctl snapshot save` asks for, while etcd runs. */
export async function snapshotEtcd(etcdUrl: string, file: string): Promise<void> {
  const answer = await fetch(`${etcdUrl}/v3/maintenance/snapshot`, { method: 'POST', body: '{}' });
  if (!answer.ok || answer.body === null) throw new Error(`etcd refused a snapshot with ${answer.status}`);
  const out = createWriteStream(file);
  for await (const line of createInterface({ input: Readable.fromWeb(answer.body) })) {
    const { result } = JSON.parse(line) as { result?: { blob?: string } };
    out.write(Buffer.from(result?.blob ?? '', 'base64'));
  }
  out.end();
  await finished(out);
}

/** As Kubernetes' own pages say it for a cluster: with revisions that are raised, so that no watch takes the old history for a new one. */
export async function restoreEtcd(
  etcdutl: string,
  { file, data, peerPort, raisedBy }: { file: string; data: string; peerPort: number; raisedBy: number },
): Promise<void> {
  const peerUrl = peerUrlOf(peerPort);
  const place = [`--data-dir=${data}`, `--name=${member}`, `--initial-cluster=${member}=${peerUrl}`];
  const raise = raisedBy === 0 ? [] : [`--bump-revision=${raisedBy}`, '--mark-compacted'];
  const words = ['snapshot', 'restore', file, ...place, `--initial-advertise-peer-urls=${peerUrl}`, ...raise];
  await promisify(execFile)(etcdutl, words);
}
