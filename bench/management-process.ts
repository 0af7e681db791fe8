// A management API in a process of its own, with a stopwatch; or, for comparison, a bare TLS server that sends bytes it was given,
// and the authentication of a key beside a bare HMAC and look-up.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseTarget } from '../src/apiserver/request/target.ts';
import { makeAuthority, makeServingCertificate } from '../src/apiserver/tls/certificates.ts';
import { systemClock } from '../src/clock.ts';
import { silentLog } from '../src/log.ts';
import { hmacSha256 } from '../src/management/keys/secret/pepper.ts';
import { databaseFor } from '../src/management/server/host/database-for.ts';
import { closeParts, openParts } from '../src/management/server/open-parts.ts';
import { ManagementApi } from '../src/management/server/server.ts';
import { MemoryStore } from '../src/store/memory-store.ts';
import { answerCommands, Usage } from './answering.ts';
import { openApi, type Population, serverSettings, settingsOf } from './management-seed.ts';

export type ServerCommand =
  | { kind: 'serve'; folder: string; population: Population; store: 'sqlite' | 'memory' }
  | { kind: 'bare'; body: string }
  /** Sends a line to every watcher of the bare server, so many times. */
  | { kind: 'send'; line: string; times: number }
  | { kind: 'authenticate'; folder: string; population: Population; accessKey: string; rounds: number }
  | { kind: 'reset' }
  | { kind: 'read' };

export interface Serving {
  port: number;
  caPem: string;
  admin: string;
}

export interface Readings {
  /** User and system time since the last reset. */
  cpuMs: number;
  longestStallMs: number;
  rssMb: number;
}

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const usage = new Usage();
const watchers = new Set<ServerResponse>();

async function answer(command: ServerCommand): Promise<unknown> {
  switch (command.kind) {
    case 'serve':
      return serve(command);
    case 'bare':
      return bare(command.body);
    case 'send':
      return send(command.line, command.times);
    case 'authenticate':
      return authenticate(command);
    case 'reset':
      delay.reset();
      return usage.reset();
    case 'read':
      return { ...usage.read(), longestStallMs: delay.max / 1e6 } satisfies Readings;
    default:
      return command satisfies never;
  }
}

async function serve({ folder, population, store }: Extract<ServerCommand, { kind: 'serve' }>): Promise<Serving> {
  const api = store === 'sqlite' ? openApi(folder, population) : await inMemory(folder, population);
  await api.open();
  const made = await api.createKey({ metadata: { generateName: 'bench-' }, spec: { user: 'admin' } });
  await api.serve();
  return { port: api.port, caPem: api.caPem, admin: (made['spec'] as { key: string }).key };
}

async function inMemory(folder: string, population: Population): Promise<ManagementApi> {
  const copyTo = () => Promise.reject(new Error('nothing is copied here'));
  const database = Object.assign(new MemoryStore({ clock: systemClock }), { copyTo });
  const shared = { clock: systemClock, log: silentLog, version: '0.1.0', database };
  return new ManagementApi({ settings: settingsOf(population), server: serverSettings(folder), ...shared });
}

/** What TLS and HTTP of Node cost without anything behind them. */
async function bare(body: string): Promise<Serving> {
  const now = new Date();
  const authority = await makeAuthority('bare', now);
  const { certPem, keyPem } = await makeServingCertificate('bare', ['localhost', '127.0.0.1'], now, authority);
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (!request.url?.includes('watch=')) return void response.end(body);
    response.flushHeaders();
    watchers.add(response);
    response.on('close', () => watchers.delete(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, caPem: authority.certPem, admin: 'none' };
}

async function send(line: string, times: number): Promise<number> {
  for (let count = 0; count < times; count++) {
    for (const watcher of watchers) watcher.write(line);
    // One turn for each change, as with a server that answers a writer.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return watchers.size * times;
}

/** Microseconds of one authentication, and of one HMAC with one look-up, in turns. */
async function authenticate({
  folder,
  population,
  accessKey,
  rounds,
}: Extract<ServerCommand, { kind: 'authenticate' }>) {
  const settings = settingsOf(population);
  const server = { listen: '', baseURL: 'https://localhost', dataDir: folder, ingressListen: undefined };
  const database = await databaseFor({ server, clock: systemClock, log: silentLog });
  const of = {
    folder,
    secretsFolder: folder,
    database,
    baseURL: 'https://localhost',
    settings: () => settings,
    kinds: () => [],
  };
  const revocationsLost = () => undefined;
  const parts = await openParts({ ...of, revocationsLost, clock: systemClock, log: silentLog });
  const authorization = `Bearer ${accessKey}`;
  const headers = { headers: { authorization }, headersDistinct: { authorization: [authorization] } };
  const request = { ...headers, url: '/', socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage;
  const exchange = { request, target: parseTarget('GET', '/') };
  const pepper = parts.peppers.newest.bytes;
  const index = new Map([...parts.book.facts()].map((facts) => [facts.record.id, facts]));
  const id = accessKey.split('_')[1] ?? '';
  const times: [number, number][] = [];
  const each = 2000;
  for (let round = 0; round <= rounds; round++) {
    const beganMs = performance.now();
    for (let n = 0; n < each; n++) await parts.callers.authenticate(exchange);
    const betweenMs = performance.now();
    for (let n = 0; n < each; n++)
      if (index.get(id) === undefined || hmacSha256(pepper, accessKey).length === 0) throw new Error('no key');
    const endMs = performance.now();
    if (round > 0) times.push([((betweenMs - beganMs) * 1000) / each, ((endMs - betweenMs) * 1000) / each]);
  }
  await closeParts(parts, silentLog);
  return times;
}

answerCommands<ServerCommand>(answer);
