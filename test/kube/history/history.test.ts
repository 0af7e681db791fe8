// Two replicas behind a balancer on a real kube-apiserver are killed, frozen and cut off while clients of client-go contend for a few
// keys. The program in Go beside this file judges what they saw; its model is written from the design and knows no code of the server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pause, systemClock } from '../../../src/clock.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { Replicas } from '../store/replicas.ts';

const assets = kubeAssets();
const program = join(assets.found?.folder ?? '', 'management-history');
const reason = assets.found === undefined ? assets.reason : missing();

function missing(): string | undefined {
  try {
    accessSync(program, constants.X_OK);
    return undefined;
  } catch {
    return `management-history not found in "${assets.found?.folder}": run "bash test/kube/build.sh"`;
  }
}

class Judge {
  readonly #child: ChildProcess;
  #out = '';
  #err = '';

  constructor(...args: string[]) {
    this.#child = spawn(program, args);
    this.#child.stdout?.on('data', (part) => {
      this.#out += part;
    });
    this.#child.stderr?.on('data', (part) => {
      this.#err += part;
    });
  }

  get drives(): boolean {
    return this.#err.includes('driving');
  }

  /** A line that it writes into the history. */
  note(what: string): void {
    this.#child.stdin?.write(`${what}\n`);
  }

  async ended(): Promise<{ code: number | null; out: Record<string, unknown>; err: string }> {
    const [code] = (await once(this.#child, 'close')) as [number | null];
    return { code, out: JSON.parse(this.#out || '{}'), err: this.#err };
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

describe.skipIf(reason !== undefined)('what clients see of two replicas while both have bad days', () => {
  let host: KubeCluster;
  let replicas: Replicas;
  let judge: Judge | undefined;
  let record: string;
  beforeAll(async () => {
    host = await startKube({ name: 'history' });
    replicas = new Replicas(host, await newNamespace(host));
    await replicas.start();
    record = join(replicas.folder, 'history.json');
  }, 120_000);
  afterAll(async () => {
    judge?.kill();
    await replicas.stop();
    await host.stop();
  });

  it('is one order of writes and reads, watches without a gap, and lists of one revision', async () => {
    const seed = process.env['HOSTWARD_HISTORY_SEED'] ?? '1';
    judge = new Judge('-kubeconfig', replicas.kubeconfigPath, '-seed', seed, '-record', record);
    await until(() => judge?.drives === true, 'the clients', 20_000);
    const [a, b] = [replicas.replica(0), replicas.replica(1)];
    await pause(systemClock, 2_500);
    judge.note('kill a');
    await a.end('SIGKILL');
    await pause(systemClock, 1_000);
    await a.start();
    judge.note('started a');
    await pause(systemClock, 2_000);
    judge.note('freeze b');
    b.signal('SIGSTOP');
    // Longer than a replica may be silent.
    await pause(systemClock, 6_000);
    b.signal('SIGCONT');
    judge.note('thaw b');
    await pause(systemClock, 2_500);
    judge.note('host restarts');
    await host.restartApiserver();
    judge.note('started host');
    await until(async () => (await a.isReady()) && (await b.isReady()), 'both replicas', 20_000);
    await pause(systemClock, 2_500);
    judge.note('end');
    const { code, out, err } = await judge.ended();
    expect({ code, faults: out['faults'], err }).toMatchObject({ code: 0, faults: [] });
    expect(out).toMatchObject({ kills: 1, freezes: 1, hostRestarts: 1, relisted: expect.toSatisfy((n) => n > 0) });
    if (process.env['HOSTWARD_HISTORY_SHOW']) console.log(JSON.stringify(out));
  }, 120_000);

  it('would be found out with each of twelve faults in it', async () => {
    judge = new Judge('-judge', record, '-plant');
    const { code, out, err } = await judge.ended();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(Object.keys(out)).toHaveLength(12);
    if (process.env['HOSTWARD_HISTORY_SHOW']) console.log(JSON.stringify(out, undefined, 1));
  }, 120_000);
});
