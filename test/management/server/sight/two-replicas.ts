// Replicas of the management API in one process, over one namespace of an embedded cluster, each with folders of its own: a test decides
// when a file arrives at which of them.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ManagementSettings } from '../../../../src/config/settings/management-settings.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi, type ManagementOptions } from '../../../../src/management/server/server.ts';
import { ApiClient } from '../../../contract/client.ts';
import { newNamespace } from '../../../contract/store/on-host.ts';
import { keysPath, type MovedClock, movedClock, people, until } from '../bench.ts';

const fireEveryMs = 200;

export interface Replica {
  readonly name: string;
  readonly dataDir: string;
  readonly secretsDir: string;
  api: ManagementApi;
}

export class TwoReplicas {
  readonly clock: MovedClock = movedClock();
  readonly folder = mkdtempSync(join(tmpdir(), 'hostward-two-replicas-'));
  namespace = '';
  #host: Devcluster | undefined;
  readonly #opened: ManagementApi[] = [];
  admin = '';
  #firedMs = 0;

  async start(): Promise<void> {
    this.#host = await startDevcluster({ name: 'host' });
    this.namespace = await newNamespace(this.#host);
    writeFileSync(this.kubeconfig, this.#host.kubeconfig, { mode: 0o600 });
  }

  get host(): Devcluster {
    if (this.#host === undefined) throw new Error('ask for the host: want it started, it is not');
    return this.#host;
  }

  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  maxRecords = 10_000;
  callerLimits: ManagementOptions['callerLimits'] = {};

  folders(name: string): { dataDir: string; secretsDir: string } {
    return { dataDir: join(this.folder, name), secretsDir: join(this.folder, `${name}-secrets`) };
  }

  management(name: string) {
    const store = { kubernetes: { kubeconfig: this.kubeconfig, namespace: this.namespace } };
    return { listen: '127.0.0.1:0', baseURL: 'https://localhost', ...this.folders(name), store };
  }

  make(name: string, settings: Partial<ManagementSettings> = {}): ManagementApi {
    const { store, ...places } = this.management(name);
    const { maxRecords, clock, callerLimits } = this;
    const server = { ...places, ingressListen: undefined, store: { ...store, maxRecords, maxBytes: 10_000_000 } };
    const all = { ...people, ...settings };
    const api = new ManagementApi({ settings: all, server, clock, callerLimits, log: silentLog, version: '0.1.0' });
    this.#opened.push(api);
    return api;
  }

  async replica(name: string, settings: Partial<ManagementSettings> = {}): Promise<Replica> {
    const api = this.make(name, settings);
    await api.open();
    await api.serve();
    if (this.admin === '') {
      const made = await api.createKey({ metadata: { name: 'root' }, spec: { user: 'admin' } });
      this.admin = (made['spec'] as { key: string }).key;
    }
    return { name, ...this.folders(name), api };
  }

  /** The secrets of one replica as another one finds them. */
  copySecrets(from: string, to: string): void {
    cpSync(this.folders(from).secretsDir, this.folders(to).secretsDir, { recursive: true });
  }

  addPepper(name: string, version: number, fill: number): void {
    const path = join(this.folders(name).secretsDir, 'secrets.json');
    const secrets = JSON.parse(readFileSync(path, 'utf8'));
    secrets.peppers.push({ version, bytes: Buffer.alloc(32, fill).toString('base64') });
    writeFileSync(path, JSON.stringify(secrets));
  }

  client({ api }: Replica, token = this.admin): ApiClient {
    return new ApiClient({ url: `https://localhost:${api.port}`, caPem: api.caPem, token });
  }

  async makeKey(replica: Replica, name: string, spec: object = { user: 'alice' }): Promise<string> {
    const made = await this.client(replica).request('POST', keysPath, { body: { metadata: { name }, spec } });
    if (made.status !== 201) throw new Error(`key ${name} was answered ${made.status}: ${made.text}`);
    return (made.json as { spec: { key: string } }).spec.key;
  }

  /** What a key is answered that asks for itself. */
  async use(replica: Replica, name: string, key: string): Promise<number> {
    return (await this.client(replica, key).request('GET', `${keysPath}/${name}`)).status;
  }

  /** Moves the clock, and then waits until the heartbeats of all replicas have come back. */
  async pass(ms: number, replicas: readonly Replica[]): Promise<void> {
    this.clock.moveMonotonic(ms);
    await this.until(() => replicas.every(({ api }) => api.status().store?.troubles.length === 0), 'the heartbeats');
  }

  /** As `until`, and time passes at each look at which the heartbeats have come back. */
  untilLater(isSo: () => boolean, replicas: readonly Replica[], stepMs: number, what: string): Promise<void> {
    return this.until(() => {
      if (replicas.every(({ api }) => api.writeTrouble === undefined)) this.clock.moveMonotonic(stepMs);
      return isSo();
    }, what);
  }

  /** The chores of both replicas, until the condition holds. */
  async until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    await until(
      async () => {
        this.#fire();
        return await isSo();
      },
      what,
      50_000,
    );
  }

  /** For a command that first listens whether a replica runs, and hears none. */
  async alone<T>(running: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    running.then(over, over);
    await this.until(() => {
      this.clock.fire(3_000);
      return isOver;
    }, 'the end of the command');
    return running;
  }

  /** A heartbeat that finds its replica deaf opens the watch again, which must have time to open. */
  #fire(): void {
    if (performance.now() - this.#firedMs < fireEveryMs) return;
    this.#firedMs = performance.now();
    for (const delayMs of [2_000, 4_000, 6_000]) this.clock.fire(delayMs);
  }

  async stop(): Promise<void> {
    for (const api of this.#opened) await api.close();
    await this.#host?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
