// The management API of the demo: one project, the demo's host as its cluster and the demo's virtual side as its virtual cluster.
// In: the folder of the demo. Out: a running API, the files that the printed commands use, and these commands.
import { join, resolve } from 'node:path';
import { loadConfiguration } from '../../config/load/load.ts';
import { silentLog } from '../../log.ts';
import { ManagementApi } from '../../management/server/management-api.ts';
import type { Context } from '../line/context.ts';
import { kubeconfigIn } from './demo-folder.ts';
import { virtualClusterName } from './demo-story.ts';

/** Words of the commands that a newcomer types, so short. */
const files = { configuration: 'keys.yaml', kubeconfig: 'keys.kubeconfig', key: 'me.key' };
const dataFolder = 'keys';

export class DemoManagement {
  readonly #context: Context;
  readonly #folder: string;
  #api: ManagementApi | undefined;

  constructor(context: Context, folder: string) {
    this.#context = context;
    this.#folder = folder;
  }

  async open(): Promise<void> {
    const { clock, version } = this.#context;
    // Keys of a demo that was killed belong to nobody.
    await this.#remove();
    const text = `${JSON.stringify(this.#configuration(), undefined, 2)}\n`;
    const loaded = loadConfiguration({ files: [{ name: files.configuration, text }] });
    if (loaded.kind === 'faults') throw new Error(`the management API of the demo: ${loaded.faults[0]?.sentence}`);
    const { management, managementServer } = loaded.settings;
    if (management === undefined || managementServer === undefined)
      throw new Error('start the management API of the demo: want its settings, there are none');
    // Any free port, so that several demos run side by side.
    const server = { ...managementServer, listen: '127.0.0.1:0' };
    const api = new ManagementApi({ settings: management, server, clock, log: silentLog, version });
    this.#api = api;
    await api.open();
    await api.serve();
    await this.#write(files.configuration, text);
    await this.#write(files.kubeconfig, this.#kubeconfig(api));
  }

  /** Typed as they stand: make a key, look at it with kubectl, disable it. */
  get commands(): string[] {
    const path = (name: string) => join(this.#folder, name);
    return [
      `npx hostward keys create me --admin -c ${path(files.configuration)} > ${path(files.key)}`,
      `export KUBECONFIG=${path(files.kubeconfig)}`,
      'kubectl get ownedaccesskeys',
      `kubectl patch oak me --type merge -p '{"spec":{"disabled":true}}'`,
    ];
  }

  async close(): Promise<void> {
    await this.#api?.close();
    await this.#remove();
  }

  async #remove(): Promise<void> {
    for (const name of Object.values(files)) await this.#context.files.remove(this.#path(name));
    await this.#context.files.removeFolder(this.#path(dataFolder));
  }

  #path(name: string): string {
    return resolve(this.#context.cwd, this.#folder, name);
  }

  #write(name: string, text: string): Promise<void> {
    return this.#context.files.write(this.#path(name), text, { mode: 0o600 });
  }

  #configuration(): object {
    const kubeconfigOf = (side: 'virtual' | 'host') => resolve(this.#context.cwd, kubeconfigIn(this.#folder, side));
    const member = { user: 'alice' };
    const virtualCluster = { name: virtualClusterName, kubeconfig: kubeconfigOf('virtual') };
    const project = { name: 'demo', members: [{ ...member, role: 'admin' }], virtualClusters: [virtualCluster] };
    const management = {
      dataDir: this.#path(dataFolder),
      users: [{ name: 'alice' }],
      clusters: [{ name: 'host', kubeconfig: kubeconfigOf('host'), members: [member] }],
      projects: [project],
    };
    return { hostward: { management } };
  }

  /** The key is in a file of its own, which the first command writes. */
  #kubeconfig(api: ManagementApi): string {
    const name = 'hostward-demo';
    const server = `https://localhost:${api.port}/kubernetes/management`;
    const authority = Buffer.from(api.caPem).toString('base64');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, 'certificate-authority-data': authority } }],
      users: [{ name: 'me', user: { tokenFile: files.key } }],
      contexts: [{ name, context: { cluster: name, user: 'me' } }],
      'current-context': name,
    };
    return `${JSON.stringify(config, undefined, 2)}\n`;
  }
}
