// Tests `hostward run --wait` from the command line to the socket, with a cluster that is not up yet.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import { durationMs } from '../../../src/cli/line/duration.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import type { Daemon } from '../../../src/daemon/options/daemon-options.ts';
import { closeServer } from '../../cluster/scripted-server.ts';
import { passing, until } from '../../cluster/subject.ts';
import { type Scene, scene } from '../scene.ts';

/** A fake API server without objects that answers its version and allows everything. */
class Cluster {
  readonly #server: Server;
  port = 0;
  /** May answer a request for the version itself; false means the usual answer. */
  onVersion: (response: ServerResponse) => boolean = () => false;
  asked = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      const url = request.url ?? '';
      if (url === '/version') {
        this.asked++;
        if (!this.onVersion(response)) send(response, 200, { gitVersion: 'v1.36.3' });
      } else if (request.method === 'POST') send(response, 201, { status: { allowed: true } });
      else if (/^\/api\/v1\/namespaces\/[^/]+$/.test(url)) send(response, 200, { status: { phase: 'Active' } });
      else send(response, 503, { kind: 'Status', code: 503 });
    });
  }

  async listen(): Promise<void> {
    this.port ||= await freePort();
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    await closeServer(this.#server);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

let folder: string;
let virtual: Cluster;
let host: Cluster;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-wait-'));
  virtual = new Cluster();
  host = new Cluster();
  await Promise.all([virtual.listen(), host.listen()]);
  writeKubeconfig('virtual', virtual.port);
  writeKubeconfig('host', host.port);
});

afterEach(async () => {
  await Promise.all([virtual.close(), host.close()]);
  rmSync(folder, { recursive: true });
});

function writeKubeconfig(name: string, port: number): void {
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'secret' } }],
  };
  writeFileSync(join(folder, name), JSON.stringify(config));
}

interface Run extends Scene {
  ended: Promise<number>;
  daemon(): Daemon;
  logged(message: string): Record<string, unknown>[];
  port: number;
}

async function start(...more: string[]): Promise<Run> {
  const port = await freePort();
  let daemon: Daemon | undefined;
  const made = scene({
    files: { '/home/v.yaml': `hostward: {listen: "127.0.0.1:${port}", endpoints: {enabled: true}}\n` },
    daemonModule: {
      assembleDaemon: (options) => {
        daemon = daemonModule.assembleDaemon(options);
        return daemon;
      },
    },
  });
  const named = ['--vcluster-name', 'vc', '--host-namespace', 'n'];
  const paths = ['--virtual-kubeconfig', join(folder, 'virtual'), '--host-kubeconfig', join(folder, 'host')];
  const ended = runCommandLine(made.context, ['run', '-c', 'v.yaml', ...named, ...paths, ...more]);
  const lines = (): Record<string, unknown>[] =>
    made
      .out()
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return {
    ...made,
    ended,
    port,
    daemon: () => daemon as Daemon,
    logged: (message) => lines().filter(({ msg }) => msg === message),
  };
}

const waiting = 'waiting for a cluster';
const refusal = (port: number, name = 'virtual') =>
  `reaching the ${name} cluster: GET /version: connecting to "http://127.0.0.1:${port}": connection refused, nothing listens there`;

async function exitOf(run: Run): Promise<{ code: number; afterMs: number }> {
  let code: number | undefined;
  void run.ended.then((exit) => {
    code = exit;
  });
  const afterMs = await passing(run.clock, () => code !== undefined, { stepMs: 250, limitMs: 400_000 });
  return { code: code as number, afterMs };
}

describe('hostward run --wait', () => {
  it('is not the default: without --wait a cluster that cannot be reached ends the daemon with 3 at once', async () => {
    await virtual.close();
    const run = await start();
    expect(await run.ended).toBe(3);
    expect(run.err()).toBe(
      `hostward: ${refusal(virtual.port)}; check the server address and that the API server runs\n`,
    );
    expect(run.logged(waiting)).toEqual([]);
  });

  it('logs the reason once, is alive but not ready in the meantime, and begins when the cluster is up', async () => {
    await virtual.close();
    const run = await start('--wait', '5m');
    await passing(run.clock, () => run.logged(waiting).length > 0);
    await run.clock.advance(30_000);
    expect(run.logged(waiting)).toEqual([
      expect.objectContaining({ level: 'warn', trouble: refusal(virtual.port), waitSeconds: 300 }),
    ]);
    expect(host.asked).toBe(1);
    const ask = (path: string) => fetch(`http://127.0.0.1:${run.port}${path}`);
    expect((await ask('/healthz')).status).toBe(200);
    const ready = await ask('/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain(`sync: waiting for the clusters\n${refusal(virtual.port)}\n`);
    expect(run.daemon().status()).toMatchObject({ waitingFor: [refusal(virtual.port)] });

    await virtual.listen();
    await passing(run.clock, () => run.logged('both clusters can be reached').length > 0, { stepMs: 250 });
    await until(() => run.daemon().readiness().lines.includes('sync: waiting for the first lists'));
    expect(run.daemon().status()).not.toHaveProperty('waitingFor');
    run.send('stop');
    expect((await exitOf(run)).code).toBe(0);
  });

  it('ends with 3 and the same sentence when the time has passed', async () => {
    await virtual.close();
    const run = await start('--wait', '1m30s');
    let hasEnded = false;
    void run.ended.then(() => {
      hasEnded = true;
    });
    const begun = run.clock.now();
    await passing(run.clock, () => hasEnded || run.clock.now() - begun >= 89_750, { stepMs: 250, limitMs: 90_000 });
    expect(hasEnded).toBe(false);
    await passing(run.clock, () => run.clock.now() - begun >= 95_000, { stepMs: 250, limitMs: 10_000 });
    // The clock stands still while sockets close, however long a busy machine takes for it.
    expect(await run.ended).toBe(3);
    expect(run.err()).toBe(
      `hostward: ${refusal(virtual.port)}; check the server address and that the API server runs\n`,
    );
  });

  it('stops at once on a signal while it waits', async () => {
    await virtual.close();
    const run = await start('--wait', '5m');
    await until(() => run.logged(waiting).length > 0);
    run.send('stop');
    expect(await run.ended).toBe(0);
    expect(run.clock.pendingTimers).toBe(0);
  });

  it('stops at once on a signal while a server has not answered yet', async () => {
    virtual.onVersion = () => true;
    const run = await start('--wait', '5m');
    await until(() => virtual.asked > 0);
    run.send('stop');
    expect(await run.ended).toBe(0);
    expect(run.clock.pendingTimers).toBe(0);
  });

  it('logs each reason once: first nothing listens, then a server is not ready', async () => {
    await virtual.close();
    virtual.onVersion = (response) => {
      send(response, 503, { kind: 'Status', message: 'etcd is not there yet', code: 503 });
      return true;
    };
    const run = await start('--wait', '5m');
    await passing(run.clock, () => run.logged(waiting).length > 0);
    await virtual.listen();
    await passing(run.clock, () => virtual.asked > 3, { stepMs: 250 });
    expect(run.logged(waiting).map(({ trouble }) => trouble)).toEqual([
      refusal(virtual.port),
      `reaching the virtual cluster: GET /version at http://127.0.0.1:${virtual.port}: 503 etcd is not there yet`,
    ]);
    run.send('stop');
    expect((await exitOf(run)).code).toBe(0);
  });

  it('waits for a server that accepts the request and does not answer', async () => {
    virtual.onVersion = () => true;
    const run = await start('--wait', '5m');
    await until(() => virtual.asked > 0);
    await passing(run.clock, () => run.logged(waiting).length > 0, { stepMs: 500 });
    expect(run.logged(waiting)[0]).toMatchObject({
      trouble: expect.stringContaining('no complete answer within 10 s'),
    });
    virtual.onVersion = () => false;
    await passing(run.clock, () => run.logged('both clusters can be reached').length > 0, { stepMs: 250 });
    run.send('stop');
    expect((await exitOf(run)).code).toBe(0);
  });

  it('waits for a kubeconfig that the virtual cluster has not written yet', async () => {
    rmSync(join(folder, 'virtual'));
    const run = await start('--wait', '5m');
    await passing(run.clock, () => run.logged(waiting).length > 0);
    expect(run.logged(waiting)[0]).toMatchObject({ trouble: expect.stringContaining('there is no such file') });
    writeKubeconfig('virtual', virtual.port);
    await passing(run.clock, () => run.logged('both clusters can be reached').length > 0, { stepMs: 250 });
    run.send('stop');
    expect((await exitOf(run)).code).toBe(0);
  });

  it.each([
    { status: 401, says: 'the credentials are wrong or have expired' },
    { status: 403, says: 'let the user read /version' },
  ])('waits only for as long as a server may be young that answers with $status', async ({ status, says }) => {
    let isYoung = true;
    virtual.onVersion = (response) => {
      if (isYoung) send(response, status, { kind: 'Status', message: 'no', code: status });
      return isYoung;
    };
    const patient = await start('--wait', '5m');
    await passing(patient.clock, () => virtual.asked > 3, { stepMs: 250 });
    expect(JSON.stringify(patient.logged(waiting)[0])).toContain(says);
    isYoung = false;
    await passing(patient.clock, () => patient.logged('both clusters can be reached').length > 0, { stepMs: 250 });
    patient.send('stop');
    expect((await exitOf(patient)).code).toBe(0);
    isYoung = true;
    await host.close();
    const run = await start('--wait', '5m');
    const { code, afterMs } = await exitOf(run);
    expect([code, afterMs > 14_000 && afterMs < 200_000]).toEqual([3, true]);
    expect(run.err()).toContain(says);
    expect(run.err()).toContain(refusal(host.port, 'host'));
  });

  it('does not wait for a server that is not Kubernetes', async () => {
    await host.close();
    virtual.onVersion = (response) => {
      send(response, 200, {});
      return true;
    };
    const run = await start('--wait', '5m');
    expect(await run.ended).toBe(3);
    expect(run.err()).toContain('the answer is not from a Kubernetes API server');
    expect(run.err()).toContain(refusal(host.port, 'host'));
  });

  it('says which flag and which setting name a kubeconfig that is not there', async () => {
    for (const side of ['virtual', 'host']) rmSync(join(folder, side));
    const run = await start();
    expect(await run.ended).toBe(3);
    for (const side of ['virtual', 'host'])
      expect(run.err()).toMatch(
        new RegExp(`no such file; name .*by --${side}-kubeconfig or hostward.${side}Kubeconfig`),
      );
  });

  it('refuses a host that is named as its own virtual cluster', async () => {
    writeKubeconfig('virtual', host.port);
    const run = await start('--wait', '5m');
    expect(await run.ended).toBe(3);
    expect(run.err()).toContain(`both kubeconfigs lead to the API server http://127.0.0.1:${host.port}/; name `);
  });

  it('uses the configuration that arrived during the wait', async () => {
    await virtual.close();
    const run = await start('--wait', '5m');
    await until(() => run.logged(waiting).length > 0);
    const text = `${run.files.get('/home/v.yaml')?.text}# off\nsync: {toHost: {endpoints: {enabled: false}}}\n`;
    run.files.set('/home/v.yaml', { text: text.replace('enabled: true', 'enabled: false'), mode: 0 });
    run.send('reload');
    await until(() => run.logged('configuration accepted').length > 0);
    await virtual.listen();
    await passing(run.clock, () => run.logged('both clusters can be reached').length > 0, { stepMs: 250 });
    await until(() => run.daemon().readiness().isReady);
    expect(run.daemon().readiness().lines).toEqual(['sync: switched off']);
    run.send('stop');
    expect((await exitOf(run)).code).toBe(0);
  });

  it('refuses a value that is not a time as a usage fault', async () => {
    const run = await start('--wait', 'soon');
    expect(await run.ended).toBe(2);
    expect(run.err()).toBe('hostward: --wait wants a time such as 30s, 5m or 1h30m, found "soon"\n');
  });
});

describe('durationMs()', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['1h30m', 5_400_000],
  ])('reads %s', (text, ms) => expect(durationMs('wait', text)).toBe(ms));

  it.each(['', '5', '5 m', '-5m', '5x', 'm', '5m!', '1e3s'])('refuses "%s"', (text) =>
    expect(() => durationMs('wait', text)).toThrow('--wait wants a time'),
  );

  it('refuses more than a week', () => expect(() => durationMs('wait', '169h')).toThrow('a week at most'));
});
