// What the system holds of bytes that were written to connections and that the other side has not taken: Node does not know it. Only
// Linux tells it, in one table for all connections.
import { readFile } from 'node:fs/promises';

/** Bytes by the ports of a connection; undefined = this system does not tell. */
export type KernelQueues = () => Promise<ReadonlyMap<string, number> | undefined>;

const tables = ['/proc/net/tcp', '/proc/net/tcp6'];

export const kernelQueues: KernelQueues = async () => {
  const texts = await Promise.all(tables.map((path) => readFile(path, 'latin1').catch(() => '')));
  if (texts.every((text) => text === '')) return undefined;
  return queuesIn(texts.join('\n'));
};

/** Two connections with the same two ports and other addresses count as one that holds what both hold. */
export function queueName(localPort: number, remotePort: number): string {
  return `${localPort} ${remotePort}`;
}

/** Number, local and remote address with port, state, bytes to send and bytes to read: all hexadecimal. */
const line = /: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/g;

export function queuesIn(text: string): Map<string, number> {
  const queues = new Map<string, number>();
  for (const [, local = '', remote = '', unsent = ''] of text.matchAll(line)) {
    if (unsent === '00000000') continue;
    const name = queueName(Number.parseInt(local, 16), Number.parseInt(remote, 16));
    queues.set(name, (queues.get(name) ?? 0) + Number.parseInt(unsent, 16));
  }
  return queues;
}
