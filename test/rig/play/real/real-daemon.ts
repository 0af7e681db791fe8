// One daemon of a run as a process of its own: `hostward run` with files, ports and signals. In: a configuration and two kubeconfigs. Out: what
// it wrote into its log, how it ended, and its own words about itself over HTTP.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostNamespace, virtualCluster } from '../../traffic/acts.ts';

const launcher = fileURLToPath(new URL('../../../../src/launcher/hostward.mjs', import.meta.url));

export interface RealDaemonOptions {
  name: string;
  folder: string;
  kubeconfigs: Readonly<Record<'virtual' | 'host', string>>;
  configuration: object;
  port: number;
}

export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class RealDaemon {
  readonly name: string;
  readonly ended: Promise<End>;
  isAlive = true;
  isHeld = false;
  log = '';
  /** Signals that this run has sent. */
  readonly sent = new Set<NodeJS.Signals>();
  readonly #options: RealDaemonOptions;
  readonly #child: ChildProcess;

  constructor(options: RealDaemonOptions) {
    this.#options = options;
    this.name = options.name;
    this.#write(options.configuration);
    const { virtual, host } = options.kubeconfigs;
    const places = ['--vcluster-name', virtualCluster, '--host-namespace', hostNamespace];
    const servers = ['--virtual-kubeconfig', virtual, '--host-kubeconfig', host, '--wait', '60s'];
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, POD_NAME: options.name, NO_COLOR: '1' };
    const words = [launcher, 'run', '--config', this.#path, ...places, ...servers];
    this.#child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'], env });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.log += text;
      });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        this.isAlive = false;
        resolve({ code, signal });
      });
    });
  }

  get #path(): string {
    return join(this.#options.folder, `${this.name}.json`);
  }

  /** By rename, as an operator's tools do it: nobody reads half a file. */
  #write(configuration: object): void {
    const { hostward } = configuration as { hostward: object };
    const own = { ...configuration, hostward: { ...hostward, listen: `127.0.0.1:${this.#options.port}` } };
    writeFileSync(`${this.#path}.new`, JSON.stringify(own));
    renameSync(`${this.#path}.new`, this.#path);
  }

  send(signal: NodeJS.Signals): void {
    this.sent.add(signal);
    this.#child.kill(signal);
  }

  reload(configuration: object): void {
    this.#write(configuration);
    this.send('SIGHUP');
  }

  hold(): void {
    this.isHeld = true;
    this.send('SIGSTOP');
  }

  resume(): void {
    this.isHeld = false;
    this.send('SIGCONT');
  }

  #waitedMs = 0;

  /** How long its main thread was ready to run and other programs had the processors: no time of its own. Only Linux tells. */
  get waitedMs(): number {
    // Its number may be that of another process by now.
    if (!this.isAlive) return this.#waitedMs;
    try {
      const [, waitedNs] = readFileSync(`/proc/${this.#child.pid}/schedstat`, 'utf8').split(' ');
      this.#waitedMs = Number(waitedNs) / 1e6;
    } catch {
      // It is gone, and has waited for as long as was seen last.
    }
    return this.#waitedMs;
  }

  async isReady(): Promise<boolean> {
    return (await this.#get('/readyz'))?.code === 200;
  }

  #get(path: string): Promise<{ code: number; text: string } | undefined> {
    return new Promise((resolve) => {
      const asked = request({ host: '127.0.0.1', port: this.#options.port, path, timeout: 2_000 }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text }));
        answer.on('error', () => resolve(undefined));
      });
      asked.on('timeout', () => asked.destroy());
      asked.on('error', () => resolve(undefined));
      asked.end();
    });
  }
}
