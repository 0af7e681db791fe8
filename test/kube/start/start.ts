// Starts a real Kubernetes control plane for a test: etcd on tmpfs, kube-apiserver, and on request kube-controller-manager. All
// of them listen on free loopback ports and end with the test.
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { pause, systemClock } from '../../../src/clock.ts';
import { ApiClient, type ClientCertificate } from '../../contract/client.ts';
import { type GuardedProcess, guarded } from '../proxy/guarded.ts';
import { type KubeAssets, kubeAssets } from './assets.ts';
import { type ClusterCa, createCa } from './certificates.ts';
import { compactEtcd, etcdFlags, restoreEtcd, snapshotEtcd } from './etcd.ts';

export interface KubeUser {
  token: string;
  user: string;
  groups?: string[];
}

export interface KubeOptions {
  /** Names the temporary folder and the kubeconfig's context. */
  name: string;
  controllerManager?: boolean;
  /** Users in addition to admin (system:masters) and stranger (no rights). */
  users?: KubeUser[];
  /** Added to kube-apiserver's flags; a later flag wins. */
  apiserverFlags?: string[];
  /** Added to kube-controller-manager's flags. */
  controllerManagerFlags?: string[];
  log?: (line: string) => void;
}

export interface KubectlResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface KubeCluster {
  url: string;
  caPem: string;
  adminToken: string;
  strangerToken: string;
  /** An admin kubeconfig, as text and as a file. */
  kubeconfig: string;
  kubeconfigPath: string;
  /** The client-facing etcd URL; its JSON gateway is on. */
  etcdUrl: string;
  folder: string;
  kubeconfigFor(credential: { token: string } | ClientCertificate): string;
  clientCertificate(user: string, groups?: string[]): Promise<ClientCertificate>;
  /** The authority whose client certificates the server takes. */
  clientAuthority: ClusterCa;
  kubectl(...args: string[]): Promise<KubectlResult>;
  /** Runs kubectl with `input` on standard input. */
  kubectlWith(input: string, ...args: string[]): Promise<KubectlResult>;
  /** Compacts the history in etcd. kube-apiserver still serves the history in its own caches. */
  compactEtcd(): Promise<void>;
  /** Compacts the history in etcd, and restarts kube-apiserver to empty its caches. */
  compact(): Promise<void>;
  /** Restarts kube-apiserver with the same port and data. */
  restartApiserver(): Promise<void>;
  /** A file as `etcdctl snapshot save` makes it. */
  snapshotEtcd(): Promise<string>;
  /** `etcdutl snapshot restore`. `raisedBy`: without it the same revisions are given out again. */
  setBack(file: string, raisedBy?: number): Promise<void>;
  stop(): Promise<void>;
}

const readyTimeoutMs = 60_000;
const pollMs = 20;
/** More than one try, because another process may take a free port before the server binds it. */
const startAttempts = 3;
const defaultNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export async function startKube(options: KubeOptions): Promise<KubeCluster> {
  const assets = kubeAssets({ HOSTWARD_KUBE: '1', ...process.env });
  if (assets.found === undefined) throw new Error(`cannot start a real API server: ${assets.reason}`);
  let last: unknown;
  for (let attempt = 1; attempt <= startAttempts; attempt++) {
    try {
      return await startOnce(assets.found, options);
    } catch (error) {
      last = error;
      options.log?.(`start ${attempt} of ${startAttempts} failed: ${String(error)}`);
    }
  }
  throw new Error(`cannot start a real API server in ${startAttempts} attempts`, { cause: last });
}

async function startOnce(assets: KubeAssets, options: KubeOptions): Promise<KubeCluster> {
  const folder = mkdtempSync(join(temporaryRoot(), `hostward-kube-${options.name}-`));
  const processes: GuardedProcess[] = [];
  const stopAll = async (): Promise<void> => {
    for (const running of processes.reverse()) await running.stop();
    // etcd's guard removes the same folder at the same time.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return await assemble(assets, options, { folder, processes, stopAll });
  } catch (error) {
    await stopAll();
    throw error;
  }
}

interface Surroundings {
  folder: string;
  processes: GuardedProcess[];
  stopAll: () => Promise<void>;
}

async function assemble(assets: KubeAssets, options: KubeOptions, surroundings: Surroundings): Promise<KubeCluster> {
  const { folder, processes } = surroundings;
  const [clientPort, peerPort, securePort] = (await freePorts(3)) as [number, number, number];
  const ca = await createCa(folder);
  const users = [...builtInUsers, ...(options.users ?? [])];
  writeSecrets(folder, users);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  // A program that lasts as long as the test, so that etcd can be started again.
  processes.push(guarded('sleep', ['infinity'], { logFile: join(folder, 'keeper.log'), removes: folder }));
  const startEtcd = () => {
    const program = guarded(assets.etcd, etcdFlags({ folder, etcdUrl, peerPort }), {
      logFile: join(folder, 'etcd.log'),
    });
    processes.push(program);
    return program;
  };
  let etcd = startEtcd();
  const url = `https://127.0.0.1:${securePort}`;
  const flags = [...apiserverFlags({ folder, etcdUrl, securePort, ca }), ...(options.apiserverFlags ?? [])];
  const startApiserver = async (): Promise<GuardedProcess> => {
    const apiserver = guarded(assets.apiserver, flags, { logFile: join(folder, 'apiserver.log') });
    processes.push(apiserver);
    const caPem = await certificateOf(folder, apiserver);
    await ready({ url, caPem, apiserver });
    return apiserver;
  };
  let apiserver = await startApiserver();
  const end = async (program: GuardedProcess): Promise<void> => {
    await program.stop();
    processes.splice(processes.indexOf(program), 1);
  };
  const restartApiserver = async (): Promise<void> => {
    await end(apiserver);
    apiserver = await startApiserver();
  };
  const data = join(folder, 'etcd');
  let copies = 0;
  const caPem = readFileSync(join(folder, 'certs', 'apiserver.crt'), 'utf8');
  const kubeconfigFor = (credential: { token: string } | ClientCertificate): string =>
    kubeconfigText({ name: options.name, url, caPem, credential });
  const kubeconfig = kubeconfigFor({ token: adminToken });
  const kubeconfigPath = join(folder, 'admin.kubeconfig');
  writeFileSync(kubeconfigPath, kubeconfig, { mode: 0o600 });
  if (options.controllerManager === true) {
    const flags = [
      ...controllerManagerFlags({ folder, kubeconfigPath, ca }),
      ...(options.controllerManagerFlags ?? []),
    ];
    await afterFirstSweep({ url, caPem }, () => {
      const logFile = join(folder, 'controller-manager.log');
      const manager = guarded(assets.controllerManager, flags, { logFile });
      processes.push(manager);
      return manager;
    });
  }
  const kubectlWith = (input: string | undefined, args: string[]): Promise<KubectlResult> =>
    run(assets.kubectl, ['--kubeconfig', kubeconfigPath, '--cache-dir', join(folder, 'kubectl-cache'), ...args], input);
  return {
    url,
    caPem,
    adminToken,
    strangerToken,
    kubeconfig,
    kubeconfigPath,
    etcdUrl,
    folder,
    kubeconfigFor,
    clientCertificate: (user, groups) => ca.issue(user, groups ?? []),
    clientAuthority: ca,
    kubectl: (...args) => kubectlWith(undefined, args),
    kubectlWith: (input, ...args) => kubectlWith(input, args),
    compactEtcd: () => compactEtcd(etcdUrl),
    async compact() {
      await compactEtcd(etcdUrl);
      await restartApiserver();
    },
    restartApiserver,
    async snapshotEtcd() {
      const file = join(folder, `snapshot-${++copies}.db`);
      await snapshotEtcd(etcdUrl, file);
      return file;
    },
    async setBack(file, raisedBy = 0) {
      await end(apiserver);
      await end(etcd);
      rmSync(data, { recursive: true });
      await restoreEtcd(assets.etcdutl, { file, data, peerPort, raisedBy });
      etcd = startEtcd();
      apiserver = await startApiserver();
    },
    stop: surroundings.stopAll,
  };
}

const adminToken = 'admin-token';
const strangerToken = 'stranger-token';
const builtInUsers: KubeUser[] = [
  { token: adminToken, user: 'admin', groups: ['system:masters'] },
  { token: strangerToken, user: 'stranger' },
];

function temporaryRoot(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

function writeSecrets(folder: string, users: KubeUser[]): void {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(folder, 'sa.key'), pair.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(join(folder, 'sa.pub'), pair.publicKey.export({ type: 'spki', format: 'pem' }));
  const lines = users.map(({ token, user, groups = [] }) => `${token},${user},${user},"${groups.join(',')}"\n`);
  writeFileSync(join(folder, 'tokens.csv'), lines.join(''), { mode: 0o600 });
  mkdirSync(join(folder, 'certs'));
}

function apiserverFlags(at: { folder: string; etcdUrl: string; securePort: number; ca: ClusterCa }): string[] {
  return [
    `--etcd-servers=${at.etcdUrl}`,
    `--cert-dir=${join(at.folder, 'certs')}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${at.securePort}`,
    '--service-cluster-ip-range=10.0.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(at.folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(at.folder, 'sa.key')}`,
    `--token-auth-file=${join(at.folder, 'tokens.csv')}`,
    `--client-ca-file=${at.ca.certificatePath}`,
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
  ];
}

function controllerManagerFlags(at: { folder: string; kubeconfigPath: string; ca: ClusterCa }): string[] {
  return [
    `--kubeconfig=${at.kubeconfigPath}`,
    '--secure-port=0',
    '--leader-elect=false',
    // By default it writes 20 times a second, and tests with more objects wait for it.
    '--kube-api-qps=1000',
    '--kube-api-burst=2000',
    `--service-account-private-key-file=${join(at.folder, 'sa.key')}`,
    `--cluster-signing-cert-file=${at.ca.certificatePath}`,
    `--cluster-signing-key-file=${at.ca.keyPath}`,
    `--root-ca-file=${join(at.folder, 'certs', 'apiserver.crt')}`,
  ];
}

/** Waits for the self-signed certificate that kube-apiserver writes on its first start. */
async function certificateOf(folder: string, apiserver: GuardedProcess): Promise<string> {
  const file = join(folder, 'certs', 'apiserver.crt');
  return until(apiserver, async () => {
    try {
      const pem = readFileSync(file, 'utf8');
      return pem.includes('END CERTIFICATE') ? pem : undefined;
    } catch {
      return undefined;
    }
  });
}

async function ready(at: { url: string; caPem: string; apiserver: GuardedProcess }): Promise<void> {
  const client = new ApiClient({ url: at.url, caPem: at.caPem, token: adminToken });
  const has = async (path: string): Promise<boolean> => {
    try {
      return (await client.request('GET', path)).status === 200;
    } catch {
      return false;
    }
  };
  try {
    await until(at.apiserver, async () => ((await has('/readyz')) ? true : undefined));
    for (const name of defaultNamespaces)
      await until(at.apiserver, async () => ((await has(`/api/v1/namespaces/${name}`)) ? true : undefined));
    await until(at.apiserver, async () =>
      (await has('/api/v1/namespaces/default/endpoints/kubernetes')) ? true : undefined,
    );
  } finally {
    await client.close();
  }
}

/**
 * Once after its start, the endpoints controller deletes every Endpoints without a known Service, and could delete objects of
 * a test. So an Endpoints is created for this cleanup, and the start waits until it is gone.
 */
async function afterFirstSweep(
  server: { url: string; caPem: string },
  startManager: () => GuardedProcess,
): Promise<void> {
  const client = new ApiClient({ ...server, token: adminToken });
  const path = '/api/v1/namespaces/kube-public/endpoints';
  try {
    const body = { metadata: { name: 'without-a-service' } };
    const made = await client.request('POST', path, { body });
    if (made.status !== 201) throw new Error(`cannot create an Endpoints in kube-public: ${made.status} ${made.text}`);
    const manager = startManager();
    await until(manager, async () =>
      (await client.request('GET', `${path}/${body.metadata.name}`)).status === 404 ? true : undefined,
    );
  } finally {
    await client.close();
  }
}

async function until<T>(program: GuardedProcess, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = systemClock.now() + readyTimeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (!program.running) throw new Error(`a server ended while starting; its last log lines:\n${program.logTail()}`);
    if (systemClock.now() > deadline)
      throw new Error(`a server is not ready after ${readyTimeoutMs / 1000} s; its log:\n${program.logTail()}`);
    await pause(systemClock, pollMs);
  }
}

function kubeconfigText(at: {
  name: string;
  url: string;
  caPem: string;
  credential: { token: string } | ClientCertificate;
}): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const user =
    'token' in at.credential
      ? { token: at.credential.token }
      : {
          'client-certificate-data': base64(at.credential.certificatePem),
          'client-key-data': base64(at.credential.keyPem),
        };
  // JSON is YAML, and needs no quoting rules.
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: at.name, cluster: { server: at.url, 'certificate-authority-data': base64(at.caPem) } }],
      users: [{ name: at.name, user }],
      contexts: [{ name: at.name, context: { cluster: at.name, user: at.name } }],
      'current-context': at.name,
    },
    undefined,
    2,
  )}\n`;
}

function run(program: string, args: string[], input: string | undefined): Promise<KubectlResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', HOME: tmpdir() },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, stdout, stderr }));
  });
}
