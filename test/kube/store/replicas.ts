// Two replicas of the management API as processes of their own, on one namespace of a real API server, behind a balancer that knows
// nothing of them: it gives each connection to the next one.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { ApiClient } from '../../contract/client.ts';
import { people, until } from '../../management/server/bench.ts';
import { balancer } from './balancer.ts';
import { Cable } from './cable.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const apiPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';

export interface Host {
  kubeconfigPath: string;
  url: string;
}

export class Replica {
  readonly name: string;
  readonly configPath: string;
  port: number;
  #operationsPort: number;
  readonly #folder: string;
  #management: object;
  #child: ChildProcess | undefined;
  /** The file to run: that of another version may be used instead. */
  program = main;
  output = '';

  constructor(name: string, folder: string, ports: readonly [number, number], management: object) {
    this.name = name;
    this.configPath = join(folder, `${name}.yaml`);
    [this.port, this.#operationsPort] = ports;
    this.#folder = folder;
    this.#management = management;
    this.configure(management);
  }

  configure(management: object): void {
    this.#management = management;
    const listen = `127.0.0.1:${this.port}`;
    const own = { listen, dataDir: join(this.#folder, this.name), secretsDir: join(this.#folder, 'secrets') };
    const hostward = { listen: `127.0.0.1:${this.#operationsPort}`, management: { ...own, ...management } };
    writeFileSync(this.configPath, JSON.stringify({ hostward }));
  }

  /** Again with other ports: a connection of another test may have taken one. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#start();
      } catch (error) {
        if (attempt === 3 || !this.output.includes('the port is taken')) throw error;
        [this.port, this.#operationsPort] = (await freePorts(2)) as [number, number];
        this.configure(this.#management);
      }
    }
  }

  async #start(): Promise<void> {
    this.output = '';
    const child = spawn(process.execPath, [this.program, 'run', '--config', this.configPath]);
    this.#child = child;
    const add = (text: Buffer) => {
      this.output += text;
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    const hasStarted = () => this.output.includes('management API started');
    await until(() => hasStarted() || child.exitCode !== null, `replica ${this.name}`, 40_000);
    if (!hasStarted()) throw new Error(`replica ${this.name}: ${this.output}`);
  }

  get exitCode(): number | null | undefined {
    return this.#child?.exitCode;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async status(): Promise<Record<string, unknown>> {
    const answer = await fetch(`http://127.0.0.1:${this.#operationsPort}/status`);
    return (await answer.json()) as Record<string, unknown>;
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.#operationsPort}/readyz`).catch(() => undefined);
    return answer?.status === 200;
  }
}

export class Replicas {
  readonly folder = mkdtempSync(join(tmpdir(), 'hostward-replicas-'));
  /** From each replica to the host. */
  readonly cables: Cable[] = [];
  readonly #host: Host;
  readonly #namespace: string;
  readonly #extra: object;
  readonly kubeconfigPath = join(this.folder, 'kubeconfig');
  #balancer: Server | undefined;
  all: Replica[] = [];
  admin = '';
  caPem = '';

  constructor(host: Host, namespace: string, extra: object = {}) {
    this.#host = host;
    this.#namespace = namespace;
    this.#extra = extra;
  }

  management(kubeconfig: string): object {
    const { users, teams, projects, administrators } = people;
    const store = { kubernetes: { kubeconfig, namespace: this.#namespace } };
    return { store, administrators, users, teams, projects, ...this.#extra };
  }

  /** `programs`: of replicas of another version, by name. The first one makes the store. */
  async start(names: readonly string[] = ['a', 'b'], programs: Readonly<Record<string, string>> = {}): Promise<void> {
    mkdirSync(join(this.folder, 'secrets'), { mode: 0o700 });
    const ports = await freePorts(2 * names.length + 1);
    for (const [at, name] of names.entries()) {
      const cable = new Cable(this.#host, join(this.folder, `${name}.kubeconfig`));
      await cable.open();
      this.cables.push(cable);
      const own = [ports[2 * at] as number, ports[2 * at + 1] as number] as const;
      const replica = new Replica(name, this.folder, own, this.management(cable.kubeconfigPath));
      replica.program = programs[name] ?? main;
      this.all.push(replica);
    }
    const first = this.replica(0);
    this.admin = (
      await this.#ran(first.program, ['keys', 'create', 'root', '--admin', '--config', first.configPath])
    ).trim();
    this.caPem = readFileSync(join(this.folder, 'secrets', 'ca.crt'), 'utf8');
    await Promise.all(this.all.map((replica) => replica.start()));
    await this.#balance(ports.at(-1) as number);
  }

  replica(at: number): Replica {
    return this.all[at] as Replica;
  }

  client(at: number, token = this.admin): ApiClient {
    return new ApiClient({ url: `https://localhost:${this.replica(at).port}`, caPem: this.caPem, token });
  }

  create(at: number, name: string, spec: object = { user: 'alice' }) {
    return this.client(at).request('POST', apiPath, { body: { metadata: { name }, spec } });
  }

  remove(at: number, name: string) {
    return this.client(at).request('DELETE', `${apiPath}/${name}`);
  }

  get(at: number, name: string, token = this.admin) {
    return this.client(at, token).request('GET', `${apiPath}/${name}`);
  }

  hostward(...args: string[]): Promise<string> {
    return this.#ran(main, args);
  }

  #ran(program: string, args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      execFile(process.execPath, [program, ...args], { timeout: 60_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`hostward ${args.join(' ')}: ${stderr}`, { cause: error }));
      });
    });
  }

  async stop(): Promise<void> {
    this.#balancer?.close();
    for (const cable of this.cables) cable.close();
    for (const replica of this.all) replica.signal('SIGCONT');
    await Promise.all(this.all.map((replica) => replica.end('SIGKILL')));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #balance(port: number): Promise<void> {
    this.#balancer = balancer(() => this.all.map((replica) => replica.port));
    writeFileSync(this.kubeconfigPath, this.kubeconfigOf(port), { mode: 0o600 });
    return new Promise((resolve) => this.#balancer?.listen(port, '127.0.0.1', resolve));
  }

  kubeconfigOf(port: number, token = this.admin): string {
    const server = `https://localhost:${port}/kubernetes/management`;
    const cluster = { server, 'certificate-authority-data': Buffer.from(this.caPem).toString('base64') };
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'replicas', cluster }],
      users: [{ name: 'user', user: { token } }],
      contexts: [{ name: 'replicas', context: { cluster: 'replicas', user: 'user' } }],
      'current-context': 'replicas',
    });
  }
}
