import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/cli/demo/free-ports.ts';
import { until } from '../management/server/bench.ts';

const launcher = fileURLToPath(new URL('../../src/launcher/hostward.mjs', import.meta.url));

/** What Node offers to look into a running process. Node writes its files into the working folder. */
const prying = '--inspect=127.0.0.1:0 --report-on-signal --report-signal=SIGUSR2 --heapsnapshot-signal=SIGUSR2';

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-closed-'));
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the launcher where core files are allowed, as far as the machine allows them, and waits for the words. */
async function serve(
  words: string[],
  sign: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ pid: number; said: () => string }> {
  const open = 'ulimit -S -c "$(ulimit -H -c)"; exec "$0" "$@"';
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn('/bin/sh', ['-c', open, process.execPath, launcher, ...words], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS: prying, ...env },
  });
  children.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => {
      said += part;
    });
  await until(() => said.includes(sign) || child.exitCode !== null, `"${sign}" in ${said}`, 30_000);
  expect(said).toContain(sign);
  return { pid: child.pid as number, said: () => said };
}

function coresOf(pid: number) {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  const filter = readFileSync(`/proc/${pid}/coredump_filter`, 'utf8').trim();
  return { limit: /^Max core file size +(\S+ +\S+)/m.exec(limits)?.[1]?.replace(/ +/, ' '), filter };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** The open sockets of a process on which it listens for TCP. */
function listening(pid: number): string[] {
  const own = readdirSync(`/proc/${pid}/fd`).map((fd) => targetOf(`/proc/${pid}/fd/${fd}`));
  const table = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  const listens = table.map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === '0A');
  return listens.filter((fields) => own.includes(`socket:[${fields[9]}]`)).map((fields) => String(fields[1]));
}

function targetOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed since the folder was read.
    return '';
  }
}

/** Everything that Node does at these signals, it does within a few turns of its loop; `isOn` takes some. */
async function expectClosed(pids: readonly number[], isOn: () => Promise<void>): Promise<void> {
  const states = () => pids.map((pid) => ({ ...coresOf(pid), ports: listening(pid) }));
  const before = { states: states(), files: readdirSync(folder) };
  for (const { limit, filter } of before.states)
    expect({ limit, filter }).toEqual({ limit: '0 0', filter: '00000000' });
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGUSR1'] as const) for (const pid of pids) process.kill(pid, signal);
  await isOn();
  expect({ states: states(), files: readdirSync(folder) }).toEqual(before);
}

const someTurns = 30;

async function answersOften(port: number): Promise<void> {
  for (let turn = 0; turn < someTurns; turn++)
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
}

function write(name: string, content: object): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

/** Nobody listens there. */
const cluster = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'c',
};

describe.runIf(process.platform === 'linux')('a process that holds secrets', { timeout: 60_000 }, () => {
  it('leaves no core, opens no inspector and writes no report: the management server', async () => {
    const [port, operations] = (await freePorts(2)) as [number, number];
    const management = { listen: `127.0.0.1:${port}`, dataDir: join(folder, 'data') };
    const config = write('h.yaml', { hostward: { listen: `127.0.0.1:${operations}`, management } });
    const others = {
      ...{ NODE_DEBUG: 'http', NODE_DEBUG_NATIVE: 'http', NODE_V8_COVERAGE: join(folder, 'coverage') },
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    };
    const { pid, said } = await serve(['run', '--config', config], 'management API started', others);
    const names = ['NODE_OPTIONS', ...Object.keys(others)];
    expect(said()).toContain(`${names.join(', ')} are not passed on`);
    await expectClosed([pid], () => answersOften(operations));
    const environ = readFileSync(`/proc/${pid}/environ`, 'utf8');
    for (const name of names) expect(environ).not.toContain(name);
  });

  it('is started below npm by a launcher that opens no inspector and writes no report either', async () => {
    const [port, operations] = (await freePorts(2)) as [number, number];
    const management = { listen: `127.0.0.1:${port}`, dataDir: join(folder, 'data') };
    const config = write('h.yaml', { hostward: { listen: `127.0.0.1:${operations}`, management } });
    const words = ['run', '--config', config];
    const { pid, said } = await serve(words, 'management API started', { npm_command: 'exec' });
    expect(said().split('NODE_OPTIONS is not passed on')).toHaveLength(2);
    const [server = 0] = childrenOf(pid);
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('NODE_OPTIONS');
    const files = readdirSync(folder);
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.kill(pid, signal);
    await answersOften(operations);
    expect([listening(pid), childrenOf(pid), readdirSync(folder)]).toEqual([[], [server], files]);
  });

  it('leaves no core, opens no inspector and writes no report: a direct endpoint', async () => {
    const [port, operations] = (await freePorts(2)) as [number, number];
    const direct = {
      ...{ listen: `127.0.0.1:${port}`, cluster: 'c1', kubeconfig: write('kubeconfig', cluster) },
      ...{ platform: 'https://127.0.0.1:1', keyFile: join(folder, 'agent.key'), dataDir: join(folder, 'data') },
    };
    const config = write('d.yaml', { hostward: { listen: `127.0.0.1:${operations}`, direct } });
    const { pid } = await serve(['direct', '--config', config], 'direct endpoint started');
    await expectClosed([pid], () => answersOften(operations));
  });

  it('leaves no core, opens no inspector and writes no report: a sandbox, beside the servers of the demo', async () => {
    const { pid, said } = await serve(['demo', '--folder', folder], 'Ctrl-C');
    const seconds = () => said().split('\n').length;
    await until(() => seconds() > 20, 'the first changes', 20_000);
    const sandboxes = childrenOf(pid);
    expect(sandboxes).toHaveLength(1);
    const before = seconds();
    await expectClosed([pid, ...sandboxes], () => until(() => seconds() > before + 3, 'more changes', 20_000));
  });
});
