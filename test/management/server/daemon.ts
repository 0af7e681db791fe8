// The management API as `hostward run` serves it: a process of its own, for kubectl and for tests that kill it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { ManagementApi } from '../../../src/management/server/server.ts';
import { people, until } from './bench.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

export interface ServingProcess {
  folder: string;
  /** Of the management API. */
  port: number;
  operationsPort: number;
  configPath: string;
  admin: string;
  caPem: string;
  kubeconfigPath: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  output(): string;
  ask(method: string, path: string, body?: object): Promise<{ code: number; body: Record<string, unknown> }>;
  remove(): Promise<void>;
}

/** `keys` are limits of the configuration, beside those that it has without them. */
export async function prepareProcess(keys: { perOwner?: number } = {}): Promise<ServingProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-management-process-'));
  const [port, operationsPort] = (await freePorts(2)) as [number, number];
  const dataDir = join(folder, 'data');
  const configPath = join(folder, 'hostward.yaml');
  const { users, teams, projects, administrators } = people;
  const management = { listen: `127.0.0.1:${port}`, dataDir, administrators, users, teams, projects, keys };
  writeFileSync(configPath, JSON.stringify({ hostward: { listen: `127.0.0.1:${operationsPort}`, management } }));
  const server = { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir, ingressListen: undefined };
  const api = new ManagementApi({ settings: people, server, clock: systemClock, log: silentLog, version: '0.1.0' });
  await api.open();
  const made = await api.createKey({ metadata: { name: 'root' }, spec: { user: 'admin' } });
  await api.close();
  const admin = (made['spec'] as { key: string }).key;
  const caPem = readFileSync(join(dataDir, 'ca.crt'), 'utf8');
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, kubeconfigOf(port, caPem, admin), { mode: 0o600 });
  let child: ChildProcess | undefined;
  let output = '';
  const process: ServingProcess = {
    ...{ folder, port, operationsPort, configPath, admin, caPem, kubeconfigPath },
    output: () => output,
    async start() {
      output = '';
      const started = spawn(globalThis.process.execPath, [main, 'run', '--config', configPath]);
      child = started;
      const add = (text: Buffer) => {
        output += text;
      };
      started.stdout.on('data', add);
      started.stderr.on('data', add);
      const hasStarted = () => output.includes('management API started');
      await until(() => hasStarted() || started.exitCode !== null, 'hostward run', 20_000);
      if (!hasStarted()) throw new Error(`hostward run: ${output}`);
    },
    async kill() {
      const hasEnded = child === undefined || child.exitCode !== null || child.signalCode !== null;
      const ended = hasEnded ? undefined : once(child as ChildProcess, 'exit');
      child?.kill('SIGKILL');
      await ended;
    },
    ask: (method, path, body) => ask({ port, caPem, admin }, method, path, body),
    async remove() {
      await process.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return process;
}

export function kubeconfigOf(port: number, caPem: string, token: string): string {
  const cluster = {
    server: `https://127.0.0.1:${port}/kubernetes/management`,
    'certificate-authority-data': Buffer.from(caPem).toString('base64'),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'management', cluster }],
    users: [{ name: 'key', user: { token } }],
    contexts: [{ name: 'management', context: { cluster: 'management', user: 'key' } }],
    'current-context': 'management',
  });
}

function ask(
  to: { port: number; caPem: string; admin: string },
  method: string,
  path: string,
  body?: object,
): Promise<{ code: number; body: Record<string, unknown> }> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${to.admin}`,
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: to.port, ca: to.caPem, method, path, headers, agent: false },
      (response) => {
        let answer = '';
        response.on('data', (part) => {
          answer += part;
        });
        response.on('end', () => {
          resolve({ code: response.statusCode ?? 0, body: JSON.parse(answer) as Record<string, unknown> });
        });
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(text);
  });
}
