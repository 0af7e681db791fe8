// A vCluster as its own chart configures it, on a real host: the program of its release runs in a root folder of its own, with an API server,
// a controller manager and an etcd of its own, under the paths that its image has. It knows nothing of Hostward.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../../../../src/cli/demo/free-ports.ts';
import { until } from '../../../contract/sync-stage/backend.ts';
import { chartSkipReason, helm, isThere, run } from '../../install/helm.ts';
import { type GuardedProcess, guarded } from '../../proxy/guarded.ts';
import { kubeAssets } from '../../start/assets.ts';
import type { KubeCluster } from '../../start/start.ts';

const program = process.env['HOSTWARD_VCLUSTER'] ?? '';
const sources = process.env['HOSTWARD_VCLUSTER_SOURCES'] ?? '';
const version = 'v0.34.0';

const howToGet =
  'run ".ci/vcluster program" and ".ci/vcluster sources", and set HOSTWARD_VCLUSTER and HOSTWARD_VCLUSTER_SOURCES to what they print';

export function vclusterSkipReason(): string | undefined {
  const ofChart = chartSkipReason();
  if (ofChart !== undefined) return ofChart;
  if (!isThere(program) || sources === '') return `no vCluster: ${howToGet}`;
  return process.getuid?.() === 0 ? undefined : 'a root folder of its own needs the rights of root';
}

/**
 * `$1`: its root folder; `$2`: the folder of Kubernetes' programs; `$3`: vCluster; `$4`, `$5`: ports of etcd; `$6`, `$7`: name and namespace;
 * what follows: NAME=VALUE of its environment.
 */
const script = `
set -e
root=$1 name=$6 namespace=$7
chroot=$(PATH="$PATH:/usr/sbin:/sbin" command -v chroot)
mount --bind "$2" "$1/binaries"
mount --bind "$3" "$1/vcluster"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
(
  until [ -s "$1/data/pki/etcd/server.key" ]; do sleep 0.05; done
  exec "$chroot" "$1" /binaries/etcd --data-dir /data/etcd --unsafe-no-fsync \\
    --listen-client-urls "https://127.0.0.1:$4" --advertise-client-urls "https://127.0.0.1:$4" \\
    --listen-peer-urls "http://127.0.0.1:$5" --initial-advertise-peer-urls "http://127.0.0.1:$5" \\
    --initial-cluster "default=http://127.0.0.1:$5" --client-cert-auth --log-level error \\
    --trusted-ca-file /data/pki/etcd/ca.crt --cert-file /data/pki/etcd/server.crt --key-file /data/pki/etcd/server.key
) &
shift 7
exec env -i PATH=/binaries HOME=/root KUBECONFIG=/host.kubeconfig VCLUSTER_NAME="$name" NAMESPACE="$namespace" \\
  POD_NAMESPACE="$namespace" POD_NAME="$name-0" POD_IP=127.0.0.1 "$@" "$chroot" "$root" /vcluster start
`;

/** The first start makes certificates and all namespaces. */
const startWithinMs = 120_000;
const started = 'Successfully started vCluster controllers';

export interface VClusterOptions {
  readonly host: KubeCluster;
  readonly name: string;
  readonly namespace: string;
}

export class RealVCluster {
  /** The kubeconfig that vCluster itself hands out, as a file. */
  readonly kubeconfigPath: string;
  /** The kubeconfig that a sidecar finds in the folder of certificates. */
  readonly sidecarKubeconfigPath: string;
  readonly #options: VClusterOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'hostward-vcluster-'));
  readonly #root = join(this.#folder, 'root');
  #ports: readonly number[] = [];
  #process: GuardedProcess | undefined;
  #starts = 0;

  constructor(options: VClusterOptions) {
    this.#options = options;
    this.kubeconfigPath = join(this.#folder, 'virtual.kubeconfig');
    this.sidecarKubeconfigPath = join(this.#root, 'data', 'pki', 'admin.conf');
    for (const below of ['binaries', 'data', 'dev', 'etc', 'proc', 'root', 'tmp', 'var/lib/vcluster'])
      mkdirSync(join(this.#root, below), { recursive: true });
    for (const file of ['vcluster', 'etc/hosts']) writeFileSync(join(this.#root, file), '127.0.0.1 localhost\n');
    writeFileSync(join(this.#root, 'host.kubeconfig'), options.host.kubeconfig, { mode: 0o600 });
  }

  /** Applies vCluster's own chart with these values, as `helm upgrade` does, and takes the configuration that the chart makes. */
  async configure(values: object): Promise<void> {
    const { host, name, namespace } = this.#options;
    if (this.#ports.length === 0) this.#ports = await freePorts(2);
    const tls = {
      caFile: '/data/pki/etcd/ca.crt',
      certFile: '/data/pki/apiserver-etcd-client.crt',
      keyFile: '/data/pki/apiserver-etcd-client.key',
    };
    const external = { enabled: true, endpoint: `localhost:${this.#ports[0]}`, tls };
    const own = {
      controlPlane: { backingStore: { etcd: { external } }, coredns: { enabled: false } },
      telemetry: { enabled: false },
    };
    const files = [own, values].map((one, at) => {
      const file = join(this.#folder, `values-${at}.yaml`);
      writeFileSync(file, stringify(one));
      return ['-f', file];
    });
    const chart = join(sources, version, 'chart');
    const where = { kubeconfig: host.kubeconfigPath, folder: this.#folder };
    const made = await run(where, helm, 'template', name, chart, '-n', namespace, ...files.flat());
    if (made.code !== 0) throw new Error(made.stderr);
    const applied = await host.kubectlWith(made.stdout, 'apply', '-n', namespace, '-f', '-');
    if (applied.code !== 0) throw new Error(applied.stderr);
    const config = await this.#fromSecret(`vc-config-${name}`, 'config\\.yaml');
    writeFileSync(join(this.#root, 'var/lib/vcluster/config.yaml'), config);
  }

  async #fromSecret(secret: string, key: string): Promise<Buffer> {
    const { host, namespace } = this.#options;
    const { stdout } = await host.kubectl('get', 'secret', '-n', namespace, secret, '-o', `jsonpath={.data.${key}}`);
    return Buffer.from(stdout, 'base64');
  }

  /** `environment`: beside what the chart sets. */
  async start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    const { name, namespace } = this.#options;
    const settings = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
    this.#starts++;
    const words = [this.#root, kubeAssets().found?.folder ?? '', program, ...this.#ports.map(String), name, namespace];
    const unshared = ['--mount', '--pid', '--fork', '--kill-child=KILL', '--'];
    const running = guarded('unshare', [...unshared, '/bin/sh', '-c', script, 'vcluster', ...words, ...settings], {
      logFile: this.#logFile,
    });
    this.#process = running;
    await until('vCluster', () => !running.running || this.log.includes(started) || undefined, startWithinMs);
    if (!running.running) throw new Error(`vCluster ended: ${running.logTail()}`);
    writeFileSync(this.kubeconfigPath, await this.#fromSecret(`vc-${name}`, 'config'), { mode: 0o600 });
  }

  get #logFile(): string {
    return join(this.#folder, `vcluster-${this.#starts}.log`);
  }

  /** What it has said since its last start. */
  get log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
    this.#process = undefined;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
