// A management API of its own for a test: a folder, a free port, and a client that speaks TLS and trusts its authority alone.
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Held, Limit } from '../../../src/apiserver/limits/caller-limits.ts';
import type { LoopShares } from '../../../src/apiserver/limits/loop-time.ts';
import { type Clock, systemClock, type Timer } from '../../../src/clock.ts';
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import { type Log, silentLog } from '../../../src/log.ts';
import type { Database } from '../../../src/management/server/host/database-for.ts';
import { ManagementApi } from '../../../src/management/server/server.ts';
import type { Metrics } from '../../../src/metrics.ts';

export const keysPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';

export const people: ManagementSettings = {
  administrators: { users: ['root'], groups: ['masters'] },
  users: [
    { name: 'alice', groups: ['devs'], disabled: false },
    { name: 'bob', groups: [], disabled: false },
    { name: 'carol', groups: [], disabled: true },
  ],
  teams: [{ name: 'red', users: ['alice'], groups: [] }],
  clusters: [{ name: 'c1', members: [{ user: 'alice' }] }],
  projects: [
    {
      name: 'shop',
      members: [{ user: 'alice', role: 'user' }],
      virtualClusters: [
        {
          name: 'v1',
          ingress: { server: 'https://v1.example.com', servedBy: 'virtualCluster' },
          clientCert: { clusterRole: 'cluster-admin', maxTTL: 0 },
        },
        { name: 'v2', clientCert: { clusterRole: 'cluster-admin', maxTTL: 0 } },
      ],
      spaces: [],
    },
    { name: 'bank', members: [{ user: 'bob', role: 'viewer' }], virtualClusters: [], spaces: [] },
  ],
  keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 20 },
  audit: { reads: false, keepFiles: 100 },
  kubeconfigs: { allowedServers: [] },
};

export interface Answer {
  code: number;
  headers: IncomingHttpHeaders;
  text: string;
  body: Body;
}

/** Any JSON; a test knows what it looks at. */
export interface Body {
  [field: string]: Body;
}

export interface Ask {
  key?: string | undefined;
  headers?: Record<string, string>;
  body?: object | string | undefined;
  type?: string;
}

export interface Bench {
  api: ManagementApi;
  folder: string;
  /** Of an administrator. */
  admin: string;
  ask(method: string, path: string, how?: Ask): Promise<Answer>;
  /** A key with this spec; its value. */
  keyFor(name: string, spec?: object): Promise<string>;
  /** Lines of a stream, until it ends or `stop` is called. */
  follow(path: string, key: string): Promise<Stream>;
  stop(): Promise<void>;
  restart(settings?: Partial<ManagementSettings>): Promise<void>;
}

export interface Stream {
  events: Body[];
  ended: Promise<void>;
  /** The answer has come to its end, and was not cut off. */
  isWhole(): boolean;
  stop(): void;
}

export interface MovedClock extends Clock {
  moveSeconds(seconds: number): void;
  /** The time between two readings grows by this much. */
  moveMonotonic(ms: number): void;
  /** Runs the timers that wait for this long, now. */
  fire(delayMs: number): void;
  /** Timers of this delay that wait. A chore that repeats itself waits again when it is done. */
  waitingFor(delayMs: number): number;
}

/** A clock whose wall time a test moves on; timers run by the real time, unless the test fires them. */
export function movedClock(): MovedClock {
  let movedMs = 0;
  let monotonicMs = 0;
  const waiting = new Map<() => void, { delayMs: number; timer: Timer }>();
  return {
    ...systemClock,
    after(delayMs, run) {
      const timer = systemClock.after(delayMs, () => {
        waiting.delete(run);
        run();
      });
      waiting.set(run, { delayMs, timer });
      return {
        cancel() {
          waiting.delete(run);
          timer.cancel();
        },
      };
    },
    fire(wanted) {
      for (const [run, { delayMs, timer }] of [...waiting]) {
        if (delayMs !== wanted) continue;
        waiting.delete(run);
        // A timer runs once; the second run would fall into the tests of another file.
        timer.cancel();
        run();
      }
    },
    waitingFor: (wanted) => [...waiting.values()].filter(({ delayMs }) => delayMs === wanted).length,
    wallTime: () => new Date(systemClock.wallTime().getTime() + movedMs),
    now: () => systemClock.now() + monotonicMs,
    moveMonotonic(ms) {
      monotonicMs += ms;
    },
    moveSeconds(seconds) {
      movedMs += seconds * 1000;
    },
  };
}

/** Short beside what is waited for, and long enough to leave the processor to it. */
const lookAgainMs = 10;

/** Until the condition holds. The patience is no promise of the server: it is long, because a busy machine may run nothing for seconds. */
export async function until(isSo: () => boolean | Promise<boolean>, what: string, withinMs = 20_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`waited ${withinMs / 1000} seconds for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
  }
}

export interface BenchOptions {
  settings?: Partial<ManagementSettings>;
  clock?: Clock;
  folder?: string;
  log?: Log;
  ingressListen?: string;
  metrics?: Metrics;
  callerLimits?: Partial<Readonly<Record<Held, Limit>>>;
  loopShares?: LoopShares;
  port?: number;
  /** In place of the file. */
  database?: Database;
  /** In place of the write by which readiness looks at the disk. */
  writeAttempt?: () => Promise<void>;
}

export async function openBench(options: BenchOptions = {}): Promise<Bench> {
  const host = process.env[benchHost];
  if (host === undefined) return openAlone(options);
  const { openBalanced } = await import('./sight/balanced-bench.ts');
  return openBalanced(options, JSON.parse(host));
}

/** Names the variable with which every bench is two replicas; see sight/balanced-bench.ts. */
export const benchHost = 'HOSTWARD_BENCH_HOST';

async function openAlone(options: BenchOptions): Promise<Bench> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'hostward-management-'));
  const started = { ...people, ...options.settings };
  const server = {
    listen: `127.0.0.1:${options.port ?? 0}`,
    baseURL: `https://localhost:${options.port ?? 8443}`,
    dataDir: folder,
    ingressListen: options.ingressListen,
  };
  const open = async (settings: ManagementSettings = started) => {
    const clock = options.clock ?? systemClock;
    const { log = silentLog, metrics } = options;
    const told = {
      ...(metrics === undefined ? {} : { metrics }),
      ...(options.callerLimits === undefined ? {} : { callerLimits: options.callerLimits }),
      ...(options.loopShares === undefined ? {} : { loopShares: options.loopShares }),
      ...(options.database === undefined ? {} : { database: options.database }),
      ...(options.writeAttempt === undefined ? {} : { writeAttempt: options.writeAttempt }),
    };
    const api = new ManagementApi({ settings, server, clock, log, version: '0.1.0', ...told });
    await api.open();
    return api;
  };
  let api = await open();
  const made = await api.createKey({ metadata: { generateName: 'admin-' }, spec: { user: 'admin' } });
  const admin = (made['spec'] as { key: string }).key;
  await api.serve();
  // A handshake costs four times as much as the request behind it.
  let kept = new Agent({ keepAlive: true });
  const letGo = () => {
    kept.destroy();
    kept = new Agent({ keepAlive: true });
  };
  const ask = (method: string, path: string, how: Ask = {}) => send(api, method, path, { key: admin, ...how }, kept);
  return {
    get api() {
      return api;
    },
    folder,
    admin,
    ask,
    keyFor: (name, spec = {}) => keyFor(ask, name, spec),
    follow: (path, key) => follow(api, path, key),
    async restart(other) {
      letGo();
      await api.close();
      api = await open({ ...started, ...other });
      await api.serve();
    },
    async stop() {
      letGo();
      await api.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function keyFor(ask: Bench['ask'], name: string, spec: object): Promise<string> {
  const make = () => ask('POST', keysPath, { body: { metadata: { name }, spec } });
  let answer = await make();
  // A test that is tried again has left its key behind.
  if (answer.code === 409) {
    await ask('DELETE', `${keysPath}/${name}`);
    answer = await make();
  }
  const { code, body, text } = answer;
  if (code !== 201) throw new Error(`make the key ${name}: ${text}`);
  return String(body['spec']?.['key']);
}

/** Where requests go. */
type Front = Pick<ManagementApi, 'port' | 'caPem'>;

function optionsOf(api: Front, method: string, path: string, { key, headers = {} }: Ask) {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return {
    host: '127.0.0.1',
    port: api.port,
    ca: api.caPem,
    method,
    path,
    agent: false as const,
    headers: { ...authorization, ...headers },
  };
}

/** On a connection of its own, unless there is an agent that keeps them. */
export function send(
  api: Front,
  method: string,
  path: string,
  how: Ask,
  agent: Agent | false = false,
): Promise<Answer> {
  const text = how.body === undefined || typeof how.body === 'string' ? how.body : JSON.stringify(how.body);
  const type: Record<string, string> =
    text === undefined
      ? {}
      : { 'content-type': how.type ?? 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  const all = { ...how, headers: { ...type, ...how.headers } };
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ ...optionsOf(api, method, path, all), agent }, (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        answer += part;
      });
      response.on('end', () => {
        const isJSON = response.headers['content-type']?.includes('json') === true && answer !== '';
        const body = (isJSON ? JSON.parse(answer) : {}) as Body;
        resolve({ code: response.statusCode ?? 0, headers: response.headers, text: answer, body });
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(text);
  });
}

export function follow(api: Front, path: string, key: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(optionsOf(api, 'GET', path, { key }), (response) => {
      const events: Body[] = [];
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        const lines = (rest + part).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') events.push(JSON.parse(line) as Body);
      });
      const ended = new Promise<void>((over) => response.on('close', () => over()));
      resolve({ events, ended, isWhole: () => response.complete, stop: () => void response.destroy() });
    });
    request.on('error', reject);
    request.end();
  });
}
