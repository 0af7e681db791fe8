// Changes at a steady rate between two real API servers, and the time from when each is due to when the host shows it, by a
// watch of the benchmark's own.
import { Agent, request } from 'undici';
import type { ApiClient } from './api-client.ts';
import type { DaemonProcess } from './daemon-process.ts';
import { wait } from './processes.ts';
import { changeOpenLoop, hostNameOf, hostNamespace, type Key } from './workload.ts';

/** Well below what the servers take, so that no queue of theirs is measured. */
const steady = { perSecond: 200, seconds: 15 };

export interface Latencies {
  lags: number[];
  /** Answers of the virtual server itself. */
  answers: number[];
  /** Changes that the host never showed. */
  unseen: number;
}

export async function measureLatency(
  daemon: DaemonProcess,
  {
    virtual,
    host,
    keys,
    variant = 193,
    loop = steady,
  }: {
    virtual: ApiClient;
    host: ApiClient;
    keys: readonly Key[];
    variant?: number;
    loop?: { perSecond: number; seconds: number };
  },
): Promise<Latencies> {
  await daemon.untilReady();
  await daemon.untilIdle();
  const due = new Map<string, number>();
  const lags: number[] = [];
  const answers: number[] = [];
  const stop = await watchHost(host, (name, atMs) => {
    const sinceMs = due.get(name);
    if (sinceMs === undefined) return;
    due.delete(name);
    lags.push(atMs - sinceMs);
  });
  const sentAt: number[] = [];
  await changeOpenLoop(virtual, keys, {
    ...loop,
    variant,
    due: (index, atMs) => {
      due.set(hostNameOf(keys[index] as Key), atMs);
      sentAt[index] = atMs;
    },
    answered: (index, atMs) => void answers.push(atMs - (sentAt[index] ?? Number.NaN)),
  });
  await daemon.untilIdle();
  await wait(500);
  stop();
  return { lags, answers, unseen: due.size };
}

interface KubeList {
  metadata: { resourceVersion: string };
}

/** Tells the name of each object that changes from now on, until the returned function is called. */
export async function watchHost(host: ApiClient, told: (name: string, atMs: number) => void): Promise<() => void> {
  const { ca, cert, key, url, headers } = host.reach;
  const agent = new Agent({
    bodyTimeout: 0,
    connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
  });
  const all = `/api/v1/namespaces/${hostNamespace}/endpoints`;
  const first = JSON.parse(await host.expect({ method: 'GET', path: `${all}?limit=1` })) as KubeList;
  // From now on: what is there already would come first, all ten thousand of it.
  const path = `${all}?watch=1&timeoutSeconds=600&resourceVersion=${first.metadata.resourceVersion}`;
  const { body } = await request(new URL(path, url), { dispatcher: agent, headers: headers as Record<string, string> });
  let rest = '';
  let isOver = false;
  body.on('data', (chunk: Buffer) => {
    const atMs = performance.now();
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const name = /"name":"([^"]+)"/.exec(line)?.[1];
      if (name !== undefined) told(name, atMs);
    }
  });
  body.on('error', (error: unknown) => {
    if (!isOver) process.stdout.write(`the watch of the host has ended: ${String(error)}\n`);
  });
  return () => {
    isOver = true;
    void agent.destroy();
  };
}
