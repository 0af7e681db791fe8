// The management API of the demo: one project, the demo's host as its cluster and the demo's virtual side as its virtual cluster,
// with a direct endpoint next to the host. In: the folder and the clusters of the demo. Out: a running API, the files that the
// printed commands use, and these commands.

import { join, resolve } from 'node:path';
import { FailedLogins } from '../../apiserver/limits/failed-logins.ts';
import { authorityIn } from '../../apiserver/tls/authority-folder.ts';
import { loadConfiguration } from '../../config/load/load.ts';
import type { ManagementSettings } from '../../config/settings/management-settings.ts';
import { silentLog } from '../../log.ts';
import { DirectEndpoint } from '../../management/proxy/direct/direct-endpoint.ts';
import { ManagementApi } from '../../management/server/server.ts';
import { shellWord } from '../../safe-text.ts';
import type { Side } from '../line/cluster-client.ts';
import type { Context } from '../line/context.ts';
import { kubeconfigIn } from './demo-folder.ts';
import { demoConfiguration } from './demo-patches.ts';
import { virtualClusterName } from './demo-story.ts';
import { freePort } from './free-ports.ts';

/** Words of the commands that a newcomer types, so short. */
const files = {
  configuration: 'keys.yaml',
  sync: 'sync.yaml',
  kubeconfig: 'keys.kubeconfig',
  key: 'me.key',
  virtualAuthority: 'virtual.ca.crt',
  agentKey: 'agent.key',
  alice: 'alice.kubeconfig',
  tokenRequest: 'token.yaml',
  token: 'token',
  direct: 'direct.kubeconfig',
  fetched: 'mine.kubeconfig',
  program: 'hostward',
};
const folders = { data: 'keys', clients: 'clients', direct: 'direct' };
const project = 'demo';
const cluster = 'host';

export interface DemoCluster {
  url: string;
  caPem: string;
}

export class DemoManagement {
  readonly #context: Context;
  readonly #folder: string;
  #api: ManagementApi | undefined;
  #direct: DirectEndpoint | undefined;

  constructor(context: Context, folder: string) {
    this.#context = context;
    this.#folder = folder;
  }

  /** The CA of client certificates, which the virtual cluster must trust from its start. */
  async clientAuthority(): Promise<string> {
    // Keys of a demo that was killed belong to nobody.
    await this.#remove();
    const { clock } = this.#context;
    return (await authorityIn(this.#path(folders.clients), 'demo-clients', clock.wallTime())).certPem;
  }

  /** Answers with the settings, for the roles that the clusters need. */
  async open(virtual: DemoCluster): Promise<ManagementSettings> {
    const { clock, version, environment } = this.#context;
    await this.#write(files.virtualAuthority, virtual.caPem);
    // Any free port, so that several demos run side by side; kubeconfigs and tokens contain it, so it must be known before the server listens.
    const configuration = this.#configuration(virtual, await freePort());
    const text = `${JSON.stringify(configuration, undefined, 2)}\n`;
    const loaded = loadConfiguration({ files: [{ name: files.configuration, text }] });
    if (loaded.kind === 'faults') throw new Error(`the management API of the demo: ${loaded.faults[0]?.sentence}`);
    const { management, managementServer } = loaded.settings;
    if (management === undefined || managementServer === undefined)
      throw new Error('start the management API of the demo: want its settings, there are none');
    const options = { settings: management, server: managementServer, clock, log: silentLog, version, environment };
    const api = new ManagementApi(options);
    this.#api = api;
    await api.open();
    await api.serve();
    await this.#write(files.configuration, text);
    await this.#write(files.sync, demoConfiguration);
    await this.#writeProgram();
    const server = `${managementServer.baseURL}/kubernetes/management`;
    await this.#writeKubeconfig(files.kubeconfig, { server, caPem: api.caPem }, { tokenFile: files.key });
    const alice = await this.#newKey(api, 'alice', { user: 'alice' });
    await this.#writeKubeconfig(files.alice, { server, caPem: api.caPem }, { token: alice });
    await this.#openDirect(api, managementServer.baseURL);
    return management;
  }

  async #openDirect(api: ManagementApi, platform: string): Promise<void> {
    const { clock, environment } = this.#context;
    const agent = await this.#newKey(api, 'agent', { user: 'admin', scope: { roles: [{ role: 'agent' }] } });
    await this.#write(files.agentKey, `${agent}\n`);
    const { failed } = new FailedLogins(clock);
    const settings = {
      listen: '127.0.0.1:0',
      cluster,
      kubeconfig: this.#kubeconfigOf('host'),
      platform,
      certificateAuthority: join(this.#path(folders.data), 'ca.crt'),
      keyFile: this.#path(files.agentKey),
      silence: 30,
      spaces: [],
      dataDir: this.#path(folders.direct),
    };
    this.#direct = new DirectEndpoint({ settings, environment, clock, log: silentLog, failedLogin: failed });
    await this.#direct.start();
    const { url, caPem } = this.#direct;
    const at = { server: `${url}/kubernetes/cluster/${cluster}`, caPem };
    await this.#writeKubeconfig(files.direct, at, { tokenFile: files.token });
    const request = { apiVersion: 'management.platform/v1', kind: 'DirectClusterEndpointToken', metadata: {} };
    await this.#write(files.tokenRequest, `${JSON.stringify({ ...request, spec: { ttl: 600 } })}\n`);
  }

  /** For commands that work in any folder. */
  get program(): string {
    return this.#path(files.program);
  }

  get configurationPaths(): string[] {
    return [files.sync, files.configuration].map((name) => this.#path(name));
  }

  /** Typed as they are: make a key, look at it with kubectl, disable it. */
  get keyCommands(): string[] {
    return [
      `cd ${shellWord(this.#path(''))}`,
      `./${files.program} keys create me --admin -c ${files.configuration} --out ${files.key}`,
      `export KUBECONFIG=${files.kubeconfig}`,
      'kubectl get ownedaccesskeys',
      `kubectl patch oak me --type merge -p '{"spec":{"disabled":true}}'`,
    ];
  }

  /** Typed as they are: fetch a kubeconfig and use it, make a direct token and use it. */
  get accessCommands(): string[] {
    return [
      `cd ${shellWord(this.#path(''))}`,
      `./${files.program} kubeconfig ${project}/${virtualClusterName} -c ${files.configuration} --out ${files.fetched}`,
      `kubectl --kubeconfig ${files.fetched} get endpoints -A`,
      `export KUBECONFIG=${files.alice}`,
      `kubectl create -f ${files.tokenRequest} -o jsonpath={.status.token} > ${files.token}`,
      `kubectl --kubeconfig ${files.direct} get namespaces`,
    ];
  }

  async close(): Promise<void> {
    await this.#direct?.stop();
    await this.#api?.close();
    await this.#remove();
  }

  async #remove(): Promise<void> {
    for (const name of Object.values(files)) await this.#context.files.remove(this.#path(name));
    for (const name of Object.values(folders)) await this.#context.files.removeFolder(this.#path(name));
  }

  /** The value of a key that the demo itself needs. */
  async #newKey(api: ManagementApi, name: string, spec: object): Promise<string> {
    const made = await api.createKey({ metadata: { name }, spec });
    return (made['spec'] as { key: string }).key;
  }

  #path(name: string): string {
    return resolve(this.#context.cwd, this.#folder, name);
  }

  #kubeconfigOf(side: Side): string {
    return resolve(this.#context.cwd, kubeconfigIn(this.#folder, side));
  }

  #write(name: string, text: string): Promise<void> {
    return this.#context.files.write(this.#path(name), text, { mode: 0o600 });
  }

  /** In another folder than that of the sources, npx would look for a package of this name in the registry. */
  #writeProgram(): Promise<void> {
    const { files: writer, nodePath, packageFolder } = this.#context;
    const launcher = join(packageFolder, 'src', 'launcher', 'hostward.mjs');
    const text = `#!/bin/sh\nexec ${shellWord(nodePath)} ${shellWord(launcher)} "$@"\n`;
    return writer.write(this.#path(files.program), text, { mode: 0o700 });
  }

  #configuration(virtual: DemoCluster, port: number): object {
    const member = { user: 'alice' };
    const ingress = { server: virtual.url, certificateAuthority: this.#path(files.virtualAuthority) };
    const authority = (name: string) => join(this.#path(folders.clients), name);
    const virtualCluster = {
      name: virtualClusterName,
      kubeconfig: this.#kubeconfigOf('virtual'),
      ingress: { ...ingress, servedBy: 'virtualCluster' },
      signing: { certificate: authority('ca.crt'), key: authority('ca.key') },
    };
    const management = {
      listen: `127.0.0.1:${port}`,
      dataDir: this.#path(folders.data),
      users: [{ name: 'alice' }],
      clusters: [{ name: cluster, kubeconfig: this.#kubeconfigOf('host'), members: [member] }],
      projects: [{ name: project, members: [{ ...member, role: 'admin' }], virtualClusters: [virtualCluster] }],
    };
    return { hostward: { management } };
  }

  /** A file that the user names may come later: the first command writes the key, another one the token. */
  #writeKubeconfig(file: string, at: { server: string; caPem: string }, user: object): Promise<void> {
    const name = 'hostward-demo';
    const authority = Buffer.from(at.caPem).toString('base64');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server: at.server, 'certificate-authority-data': authority } }],
      users: [{ name: 'me', user }],
      contexts: [{ name, context: { cluster: name, user: 'me' } }],
      'current-context': name,
    };
    return this.#write(file, `${JSON.stringify(config, undefined, 2)}\n`);
  }
}
