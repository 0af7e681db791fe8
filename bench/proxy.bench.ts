// What does the proxy of the management server cost? Requests, long streams, sessions both ways, a thousand idle watches, and direct
// tokens, beside a bare TLS proxy of Node and beside the way straight to the same upstream, in turns.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeAuthority, makeServingCertificate } from '../src/apiserver/tls/certificates.ts';
import { AskedProcesses, serverFlags } from './asked-process.ts';
import type { BareProxyCommand, ProxyReadings, ProxyServing } from './bare-proxy.ts';
import { gateFigures, proxyGateLimits } from './gate.ts';
import type { ClientCommand, Load } from './management-client.ts';
import { outputFolder } from './output-folder.ts';
import type { ProxyCommand, TokenTimes } from './proxy-process.ts';
import { Report } from './report.ts';
import { median, percentile } from './statistics.ts';
import type { StreamCommand, Streamed } from './stream-client.ts';

const { values } = parseArgs({
  options: {
    gate: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
});
const { gate } = values;
const profile = outputFolder('--profile', values.profile);
const mib = 1024 * 1024;
/** The gate answers within 45 seconds. */
const size = gate
  ? { requests: 400, rounds: 4, streamMib: 64, streams: 3, echoMib: 32, watches: 200, tokenRounds: 5 }
  : { requests: 2_000, rounds: 9, streamMib: 1_024, streams: 5, echoMib: 256, watches: 1_000, tokenRounds: 15 };
/** For a quiet garbage collection and the ends of handshakes. */
const settledMs = gate ? 1_000 : 5_000;

type Way = 'direct' | 'bare' | 'hostward';
interface Place extends ProxyServing {
  server: { ask<T>(command: { kind: 'reset' } | { kind: 'read' }): Promise<T> };
  prefix: string;
}
type Places = Record<Way, Place>;
const ways: readonly Way[] = ['direct', 'bare', 'hostward'];
const pods = '/api/v1/namespaces/default/pods';

const load = () => loadavg()[0] as number;
const report = new Report('proxy', load());
const folder = mkdtempSync(join(tmpdir(), 'hostward-bench-proxy-'));
const processes = new AskedProcesses();
const client = processes.start<ClientCommand>('management-client.ts');
const streams = processes.start<StreamCommand>('stream-client.ts');

async function places(): Promise<Places> {
  const token = 'upstream-token';
  const now = new Date();
  const authority = await makeAuthority('proxy-bench', now);
  const certificate = await makeServingCertificate('proxy-bench', ['localhost', '127.0.0.1'], now, authority);
  const { certPem: caPem } = authority;
  const upstream = processes.start<BareProxyCommand>('bare-proxy.ts', serverFlags());
  const to = { port: await upstream.ask<number>({ kind: 'upstream', certificate }), caPem };
  const bare = processes.start<BareProxyCommand>('bare-proxy.ts', serverFlags());
  const bareTo = { port: await bare.ask<number>({ kind: 'bare', certificate, to, token }), caPem };
  const profiled = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const hostward = processes.start<ProxyCommand>('proxy-process.ts', [...serverFlags(), ...profiled]);
  const serving = await hostward.ask<ProxyServing>({ kind: 'hostward', folder, to, token });
  return {
    direct: { ...to, bearer: token, server: upstream, prefix: '' },
    bare: { ...bareTo, bearer: 'any', server: bare, prefix: '' },
    hostward: { ...serving, server: hostward, prefix: '/kubernetes/cluster/c1' },
  };
}

/** Each round takes the ways in another order, so that a machine that slows down slows no way more than the others. */
async function inTurns<T>(
  rounds: number,
  all: readonly Way[],
  run: (way: Way) => Promise<T>,
): Promise<Record<Way, T[]>> {
  const found: Record<Way, T[]> = { direct: [], bare: [], hostward: [] };
  for (let round = 0; round < rounds; round++)
    for (const way of round % 2 === 0 ? all : all.toReversed()) found[way].push(await run(way));
  return found;
}

/** The figures of two ways in one round, compared; the median over the rounds. */
function compared(of: readonly number[], beside: readonly number[]): number {
  return median(of.map((value, round) => value / (beside[round] as number)));
}

async function requests(at: Places, connections: number): Promise<Record<Way, (Load & ProxyReadings)[]>> {
  const run = async (way: Way) => {
    const { server, prefix, port, caPem, bearer } = at[way];
    await server.ask({ kind: 'reset' });
    const paths = [`${prefix}/api/v1/namespaces/default/configmaps/one`];
    const wanted = { kind: 'load', to: { port, caPem }, connections, requests: size.requests, method: 'GET' } as const;
    const done = await client.ask<Load>({ ...wanted, paths, keys: [bearer] });
    if (Object.keys(done.codes).join() !== '200') throw new Error(`${way}: ${JSON.stringify(done)}`);
    return { ...done, ...(await server.ask<ProxyReadings>({ kind: 'read' })) };
  };
  await inTurns(2, ways, run);
  return inTurns(size.rounds, ways, run);
}

async function latency(at: Places): Promise<void> {
  const alone = await requests(at, 1);
  const p50 = (way: Way) => alone[way].map(({ times }) => percentile(times, 0.5));
  const p99 = (way: Way) => alone[way].map(({ times }) => percentile(times, 0.99));
  const added = (way: Way) => median(p50(way).map((value, round) => value - (p50('direct')[round] as number)));
  report.add({ name: 'a request straight to the upstream, p50', value: median(p50('direct')), unit: 'ms' });
  report.add({ name: 'added by the proxy, p50', value: added('hostward'), unit: 'ms', wanted: { atMost: 0.3 } });
  report.add({ name: 'added by the bare proxy, p50', value: added('bare'), unit: 'ms' });
  report.add({ name: 'p50 / bare proxy', value: compared(p50('hostward'), p50('bare')), unit: '' });
  const slow = compared(p99('hostward'), p99('bare'));
  report.add({ name: 'p99 / bare proxy', value: slow, unit: '', wanted: { atMost: 1.5 } });
  const cpu = (way: Way) => alone[way].map(({ cpuMs }) => cpuMs / size.requests);
  report.add({ name: 'CPU a request', value: median(cpu('hostward')), unit: 'ms' });
  report.add({ name: 'CPU a request / bare proxy', value: compared(cpu('hostward'), cpu('bare')), unit: '' });
  const many = await requests(at, 16);
  const rates = (way: Way) => many[way].map(({ perSecond }) => perSecond);
  report.add({ name: 'requests of 16 connections', value: median(rates('hostward')), unit: '1/s' });
  const share = compared(rates('hostward'), rates('bare'));
  report.add({ name: 'requests of 16 connections / bare proxy', value: share, unit: '' });
}

async function bytes(at: Places): Promise<void> {
  const rate = ({ bytes: count, tookMs }: Streamed) => (count / mib / tookMs) * 1000;
  const of = (way: Way) => ({ to: at[way], bearer: at[way].bearer });
  const log = (way: Way) => `${at[way].prefix}${pods}/p/log?limitBytes=${size.streamMib * mib}`;
  const downloads = await inTurns(size.streams, ways, async (way) =>
    rate(await streams.ask<Streamed>({ kind: 'download', ...of(way), path: log(way) })),
  );
  const wanted = { atLeast: 0.9 };
  const note = `${size.streamMib} MiB`;
  report.add({ name: 'long stream', value: median(downloads.hostward), unit: 'MiB/s', note });
  report.add({
    name: 'long stream / bare proxy',
    value: compared(downloads.hostward, downloads.bare),
    unit: '',
    wanted,
  });
  report.add({ name: 'long stream / straight', value: compared(downloads.hostward, downloads.direct), unit: '' });
  const sent = size.echoMib * mib;
  const echoes = await inTurns(size.streams, ways, async (way) => {
    const path = `${at[way].prefix}${pods}/p/portforward`;
    return rate(await streams.ask<Streamed>({ kind: 'echo', ...of(way), path, bytes: sent }));
  });
  const both = `${size.echoMib} MiB there and back`;
  report.add({ name: 'session both ways', value: median(echoes.hostward), unit: 'MiB/s', note: both });
  report.add({
    name: 'session both ways / bare proxy',
    value: compared(echoes.hostward, echoes.bare),
    unit: '',
    wanted,
  });
}

async function memory(at: Places): Promise<void> {
  const seen: Partial<Record<Way, { before: number; after: number }>> = {};
  for (const way of ['bare', 'hostward'] as const) {
    const { server, port, caPem, bearer, prefix } = at[way];
    const rss = async () => {
      await new Promise((resolve) => setTimeout(resolve, settledMs));
      return (await server.ask<ProxyReadings>({ kind: 'read' })).rssMb;
    };
    const before = await rss();
    const keys = Array.from({ length: size.watches }, () => bearer);
    await client.ask({ kind: 'watch', to: { port, caPem }, path: `${prefix}${pods}?watch=true`, keys });
    const heard = await client.ask<number>({ kind: 'heard', atLeast: size.watches, withinMs: 60_000 });
    if (heard < size.watches) throw new Error(`${way}: wanted ${size.watches} watches, saw ${heard}`);
    seen[way] = { before, after: await rss() };
    await client.ask({ kind: 'leave' });
  }
  const { bare, hostward } = seen as Required<typeof seen>;
  const note = `${size.watches} watches`;
  report.add({ name: 'memory with idle watches', value: hostward.after, unit: 'MiB', note });
  report.add({ name: 'memory with idle watches, bare proxy', value: bare.after, unit: 'MiB', note });
  const total = hostward.after / bare.after;
  report.add({
    name: 'memory with idle watches / bare proxy',
    value: total,
    unit: '',
    wanted: { atMost: 1.15 },
    note: 'whole processes',
  });
  const kib = ({ before, after }: typeof bare) => ((after - before) * 1024) / size.watches;
  report.add({ name: 'memory of one idle watch', value: kib(hostward), unit: 'KiB' });
  const added = kib(hostward) / kib(bare);
  report.add({ name: 'memory of one idle watch / bare proxy', value: added, unit: '', wanted: { atMost: 1.15 } });
}

async function tokens(): Promise<void> {
  const server = processes.start<ProxyCommand>('proxy-process.ts', serverFlags());
  const times = await server.ask<TokenTimes[]>({ kind: 'tokens', rounds: size.tokenRounds });
  await server.end();
  report.add({ name: 'one crypto.verify', value: median(times.map(({ bare }) => bare)), unit: 'µs' });
  const uncached = median(times.map((round) => round.uncached / round.bare));
  report.add({ name: 'token / one crypto.verify', value: uncached, unit: '', wanted: { atMost: 1.5 } });
  const cached = median(times.map((round) => round.cached));
  report.add({ name: 'token out of the cache', value: cached, unit: 'µs', wanted: { atMost: 5 } });
  const share = median(times.map((round) => round.cached / round.bare));
  report.add({ name: 'token out of the cache / one crypto.verify', value: share, unit: '' });
}

const wants = (part: string) => values.only === '' || values.only === part;
try {
  if (wants('tokens')) await tokens();
  const at = await places();
  // First, because memory that other parts have left behind is no memory of watches.
  if (wants('memory')) await memory(at);
  if (wants('latency')) await latency(at);
  if (wants('bytes')) await bytes(at);
} finally {
  await processes.end();
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${JSON.stringify(report.figures)}\n${report.save(load())}\n`);
for (const { name } of gate ? gateFigures(report, proxyGateLimits) : []) {
  process.stdout.write(`gate tripped: ${name}\n`);
  process.exitCode = 1;
}
