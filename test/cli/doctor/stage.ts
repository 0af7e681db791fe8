// Two embedded clusters for doctor: a sound virtual cluster and a sound host, which a case can break and which are sound again after it.
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Intercept } from '../../../src/apiserver/chain/chain.ts';
import type { AccessRule } from '../../../src/apiserver/request/access-rules.ts';
import { folderProblem } from '../../../src/apiserver/tls/secret-files.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import type { ClusterClient } from '../../../src/cli/line/cluster-client.ts';
import type { Context } from '../../../src/cli/line/context.ts';
import { podNamespaceFile } from '../../../src/cli/line/load-settings.ts';
import { openCluster } from '../../../src/cli/running/release.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { ResourceRef } from '../../../src/cluster/wire/scope.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { internalError, pathNotFound } from '../../../src/object/meta/status.ts';
import { endpointSlicesResource } from '../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { type Scene, scene } from '../scene.ts';

type Side = 'virtual' | 'host';

export const hostNamespace = 'vcluster-vc';
export const account = `system:serviceaccount:${hostNamespace}:hostward`;

const resources: Record<string, ResourceRef> = {
  Namespace: { path: 'api/v1', resource: 'namespaces', kind: 'Namespace' },
  Service: { path: 'api/v1', resource: 'services', kind: 'Service' },
  Endpoints: { path: 'api/v1', resource: 'endpoints', kind: 'Endpoints' },
  Secret: { path: 'api/v1', resource: 'secrets', kind: 'Secret' },
  EndpointSlice: endpointSlicesResource,
  Lease: { path: 'apis/coordination.k8s.io/v1', resource: 'leases', kind: 'Lease' },
};

export function resourceOf(kind: string): ResourceRef {
  const found = resources[kind];
  if (found === undefined) throw new Error(`the stage knows no kind ${kind}`);
  return found;
}

/** What config/role.yaml grants. */
export const soundRules: readonly AccessRule[] = [
  { apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** Has the rights that a start needs in the virtual cluster, and may read no namespace. */
const tenant = {
  name: 'tenant',
  token: 'tenant-token',
  rules: [
    {
      apiGroups: ['', 'discovery.k8s.io'],
      resources: ['endpoints', 'endpointslices', 'services'],
      verbs: ['get', 'list', 'watch', 'patch'],
    },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ] satisfies readonly AccessRule[],
};

/** A ServiceAccount of Hostward's own in the virtual cluster, with one right more than it needs. */
export const generous = {
  name: 'system:serviceaccount:kube-system:hostward',
  token: 'generous-token',
  rules: [...tenant.rules, { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] satisfies readonly AccessRule[],
};

export const soundConfiguration = {
  hostward: {
    endpoints: { enabled: true },
    endpointSlices: { enabled: true },
    leaderElection: 'never',
  },
  sync: { toHost: { endpoints: { enabled: false }, endpointSlices: { enabled: false } } },
};

export interface DoctorRun {
  /** JSON of the configuration; absent = the sound one. */
  configuration?: unknown;
  /** The text of the configuration, in place of `configuration`. */
  text?: string;
  /** The configuration is not where the command line says. */
  isMissing?: boolean;
  /** Options that are left out. */
  drop?: readonly string[];
  kubeconfigs?: { virtual?: string; host?: string };
  clock?: Clock;
  environment?: Record<string, string>;
  podNamespace?: string;
  fetch?: Context['fetch'];
  /** Gets the scene, to send signals to it. */
  during?: (scene: Scene) => void;
}

const file = '/home/vcluster.yaml';
const names = ['--vcluster-name', 'vc', '--host-namespace', hostNamespace];
const baseNames = [...names, '--config', file];
const isName = (word = '') => ['--vcluster-name', '--host-namespace'].includes(word);

export interface RunningDaemon {
  readonly ended: Promise<number>;
  /** The lines of the log. */
  logged(): Record<string, unknown>[];
  readiness(): Promise<{ isReady: boolean; text: string }>;
  stop(): Promise<void>;
}

export interface Checked {
  code: string;
  verdict: string;
  says: string;
  details?: string[];
  mend?: string;
}

export class Stage {
  /** Requests that a cluster answers with a fault, or not at all (0); "*" are all. */
  answers: readonly { side: Side; resource: string; code: number }[] = [];
  /** Called before each request. */
  heard: (side: Side, method: string, path: string) => void = () => {};
  readonly folder = mkdtempSync(join(tmpdir(), 'hostward-doctor-'));
  virtual!: Devcluster;
  host!: Devcluster;
  virtualClient!: ClusterClient;
  hostClient!: ClusterClient;

  async start(): Promise<void> {
    const users = [{ name: account, token: 'account-token', rules: soundRules }];
    [this.virtual, this.host] = await Promise.all([
      startDevcluster({ name: 'virtual', users: [tenant, generous], intercept: this.#intercept('virtual') }),
      startDevcluster({ name: 'host', users, intercept: this.#intercept('host') }),
    ]);
    await writeFile(this.path('virtual'), this.virtual.kubeconfig, { mode: 0o600 });
    await writeFile(this.path('tenant'), this.virtual.kubeconfigFor(tenant.name, tenant.token), { mode: 0o600 });
    await writeFile(this.path('generous'), this.virtual.kubeconfigFor(generous.name, generous.token), { mode: 0o600 });
    await writeFile(this.path('host'), this.host.kubeconfigFor(account, 'account-token'), { mode: 0o600 });
    await writeFile(this.path('admin'), this.host.kubeconfig, { mode: 0o600 });
    this.virtualClient = await openCluster(real(scene().context), {
      name: 'virtual',
      kubeconfig: this.path('virtual'),
    });
    this.hostClient = await openCluster(real(scene().context), { name: 'host', kubeconfig: this.path('admin') });
    await this.create('host', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: hostNamespace } });
    await this.create('host', ownerService());
  }

  #intercept(side: Side): Intercept {
    return ({ resource }, request) => {
      this.heard(side, request.method ?? '', request.url ?? '');
      const answer = this.answers.find(
        (one) => one.side === side && (one.resource === '*' || one.resource === resource),
      );
      if (answer === undefined) return { kind: 'pass' };
      if (answer.code === 0) return { kind: 'cut', handled: false };
      return { kind: 'answer', status: answer.code === 404 ? pathNotFound() : internalError('broken by the test') };
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.virtualClient?.close(), this.hostClient?.close()]);
    await Promise.all([this.virtual?.stop(), this.host?.stop()]);
    rmSync(this.folder, { recursive: true });
  }

  path(name: string): string {
    return join(this.folder, `${name}.kubeconfig`);
  }

  client(side: 'virtual' | 'host'): ClusterClient {
    return side === 'virtual' ? this.virtualClient : this.hostClient;
  }

  async create(side: 'virtual' | 'host', object: KubeObject): Promise<void> {
    const answer = await this.client(side).create(resourceOf(object.kind ?? ''), object);
    if (answer.kind !== 'ok') throw new Error(`make ${object.kind}: ${JSON.stringify(answer)}`);
  }

  #kubeconfigs(run: DoctorRun): string[] {
    const { virtual = this.path('virtual'), host = this.path('host') } = run.kubeconfigs ?? {};
    return [
      ...(run.drop?.includes('--virtual-kubeconfig') ? [] : ['--virtual-kubeconfig', virtual]),
      ...['--host-kubeconfig', host],
    ];
  }

  /** Text of a run; with `-o json` among the arguments also its findings. */
  async doctor(argv: readonly string[], run: DoctorRun = {}) {
    const text = run.text ?? JSON.stringify(run.configuration ?? soundConfiguration);
    const files = {
      ...(run.isMissing ? {} : { [file]: text }),
      ...(run.podNamespace !== undefined && { [podNamespaceFile]: run.podNamespace }),
    };
    const stage = scene({ files, environment: run.environment ?? {} });
    const nobody: Context['fetch'] = async () => {
      throw Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
      });
    };
    const context = { ...real(stage.context), clock: run.clock ?? systemClock, fetch: run.fetch ?? nobody };
    run.during?.(stage);
    const code = await runCommandLine(context, [
      'doctor',
      ...(run.drop?.includes('names') ? [] : names),
      ...(run.drop?.includes('--config') ? [] : ['--config', file]),
      ...this.#kubeconfigs(run),
      ...argv,
    ]);
    return { code, out: stage.out(), err: stage.err() };
  }

  /** Runs the daemon itself on the same set-up, with the flags of the shipped values. */
  async daemon(argv: readonly string[], run: DoctorRun & { isTaken: boolean }): Promise<RunningDaemon> {
    const listen = `127.0.0.1:${await freePort()}`;
    const blocker = createServer();
    if (run.isTaken)
      await new Promise<void>((resolve) => blocker.listen(Number(listen.split(':')[1]), '127.0.0.1', resolve));
    const whole = run.text ?? JSON.stringify(run.configuration ?? soundConfiguration);
    const text = whole.replace(/("?hostward"?: ?\{)/, `$1"listen": "${listen}",`);
    const made = scene({ files: run.isMissing ? {} : { [file]: text }, environment: run.environment ?? {} });
    const context = { ...real(made.context), clock: run.clock ?? systemClock, loadDaemon: async () => daemonModule };
    const names = argv.filter((_, at) => isName(argv[at]) || isName(argv[at - 1]));
    const ended = runCommandLine(context, ['run', '--wait', '5m', ...baseNames, ...names, ...this.#kubeconfigs(run)]);
    const logged = () => {
      const lines = made.out().split('\n').slice(0, -1);
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    };
    return {
      ended,
      logged,
      async readiness() {
        const answer = await fetch(`http://${listen}/readyz`);
        return { isReady: answer.status === 200, text: await answer.text() };
      },
      async stop() {
        made.send('stop');
        await ended;
        if (run.isTaken) await new Promise((resolve) => blocker.close(resolve));
      },
    };
  }

  async findings(argv: readonly string[] = [], run: DoctorRun = {}) {
    const { code, out, err } = await this.doctor(['-o', 'json', ...argv], run);
    const report = JSON.parse(out === '' ? '{"checks":[],"hidden":[]}' : out) as {
      checks: Checked[];
      hidden: { code: string; because: string }[];
    };
    return { code, err, ...report, of: (one: string) => report.checks.find((check) => check.code === one) };
  }
}

export function ownerService(
  labels: Record<string, string> = { app: 'vcluster', chart: 'vcluster-0.34.0' },
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'vc', namespace: hostNamespace, labels },
    spec: { ports: [{ name: 'https', port: 443 }], selector: { app: 'vcluster', release: 'vc' } },
  };
}

/** Certificates are valid now, and kubeconfigs lie in a real folder. */
function real(context: Context): Context {
  const { files } = context;
  const isReal = (path: string) => path.startsWith(tmpdir());
  return {
    ...context,
    clock: systemClock,
    files: {
      ...files,
      modeOf: (path) =>
        isReal(path)
          ? stat(path).then(
              ({ mode }) => mode & 0o777,
              () => undefined,
            )
          : files.modeOf(path),
      list: (path) => (isReal(path) ? readdir(path) : files.list(path)),
      folderProblem: (path) => (isReal(path) ? folderProblem(path) : files.folderProblem(path)),
      read: (path) => (isReal(path) ? readFile(path, 'utf8') : files.read(path)),
      readConfiguration: async (path) =>
        isReal(path)
          ? readFile(path, 'utf8').then(
              (text) => ({ name: path, text }),
              () => ({ name: path, problem: 'missing' as const }),
            )
          : files.readConfiguration(path),
    },
  };
}
