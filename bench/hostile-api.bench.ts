// Can the weakest key stop the management server? Runs the shipped server under the memory limit of config/management.yaml, attacks it
// with a corpus of hostile requests (fixtures/hostile-api/) and with what a search grows out of the costliest of them, and looks
// from outside: alive, memory, what others wait for /livez, and restarts, also on a database that was filled before the server had
// limits. What others wait is counted beyond a bare server's and without the time in which other programs had the processors, so that
// a busy machine says the same. `node bench/hostile-api.bench.ts [--gate] [--limit MiB] [--seconds N of search] [--seed N] [--corpus FILE] [--only TEXT]
// [--plant unlimited-bodies]`
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { threadCpuUsage } from 'node:process';
import { parseArgs } from 'node:util';
import { makeAuthority, makeServingCertificate } from '../src/apiserver/tls/certificates.ts';
import { freePorts } from '../src/cli/demo/free-ports.ts';
import { AskedProcesses } from './asked-process.ts';
import type { BareProxyCommand } from './bare-proxy.ts';
import { gateFigures, hostileApiGateLimits } from './gate.ts';
import { Harness } from './harness.ts';
import { bodyText, type HostileCase, type Send, type Template } from './hostile-body.ts';
import type { AttackCommand, AttackResult } from './hostile-client.ts';
import { type Candidate, search } from './hostile-search.ts';
import { databaseBytes, fillDatabase, makeStage, type Stage } from './hostile-stage.ts';
import { LimitedServer, shippedLimitMb } from './limited-server.ts';
import { load, wait } from './processes.ts';
import { Report } from './report.ts';
import { median, percentile, round } from './statistics.ts';

const { values: args } = parseArgs({
  options: {
    gate: { type: 'boolean', default: false },
    limit: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string', default: '30' },
    corpus: { type: 'string' },
    only: { type: 'string', default: '' },
    plant: { type: 'string', default: 'none' },
  },
});

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'hostile-api');
const corpora = args.corpus === undefined ? readdirSync(fixtures).map((name) => join(fixtures, name)) : [args.corpus];
const cases = corpora.flatMap((path) => JSON.parse(readFileSync(path, 'utf8')) as HostileCase[]);
/** What is no attack. */
const further = ['filled'];
if (args.only !== '' && ![...cases.map(({ name }) => name), ...further].some((name) => name.includes(args.only))) {
  const names = [...cases.map(({ name }) => name), ...further].map((name) => `  ${name}\n`);
  process.stderr.write(`--only "${args.only}": no case has that in its name; want a part of one of\n${names.join('')}`);
  process.exit(2);
}
const limitMb = Number(args.limit ?? shippedLimitMb());
/** In the gate, for what only keeps a processor busy: a second says what two say. */
const busySeconds = args.gate ? 1 : Number.POSITIVE_INFINITY;
/** The same for uploads that never end. Not for answers that nobody reads: they make others wait at their beginning alone, and a p99 needs the rest. */
const heldSeconds = args.gate ? 2 : Number.POSITIVE_INFINITY;
const searchMs = Number(args.seconds ?? (args.gate ? 5 : 120)) * 1000;
/** As a probe of somebody else: often enough for a p99 of each attack. */
const probeEveryMs = 20;
const sampleMs = 50;
/**
 * What others wait is work of the server, so a machine of half the speed makes them wait twice as long. Work of Node alone says how fast
 * this one is, and a limit in milliseconds holds for a machine that does the work in so long.
 */
const workMs = 33;
const workText = JSON.stringify(
  Array.from({ length: 4_000 }, (_, at) => ({ name: `n${at}`, values: [at, at / 3, 'x'.repeat(20)] })),
);
const slowness: number[] = [];
/** Others are still asked after the attack, when what it left behind is done. */
const afterMs = 300;
/** A request of the search is weighed so often; the least counts, because everything else on the machine only adds. */
const weighings = 3;
/** What the search has found is sent for so long. */
const worstSeconds = args.gate ? 1 : 3;
const manyRequests = 1_000_000;
const apiRoot = '/kubernetes/management/apis/';
const report = new Report('hostile-api', load());
const harness = new Harness();
const others = new AskedProcesses();

/** In time of this thread, which other programs cannot take. */
function slownessNow(): number {
  const began = threadCpuUsage();
  for (let turn = 0; turn < 10; turn++)
    createHash('sha256')
      .update(JSON.stringify(JSON.parse(workText)))
      .digest();
  const { user, system } = threadCpuUsage(began);
  return (user + system) / 1000 / workMs;
}

interface Seen {
  waits: number[];
  bareWaits: number[];
  refused: number;
  peakMb: number;
  /** Of the time in which the server had something to do, the part in which it had a processor. */
  share: number;
}

const all: Seen = { waits: [], bareWaits: [], refused: 0, peakMb: 0, share: 1 };
let deaths = 0;
let slowestRestartMs = 0;
let largestDatabase = 0;

async function main(): Promise<void> {
  harness.build('none');
  if (args.plant === 'unlimited-bodies') plantUnlimitedBodies(join(harness.folder, 'package', 'dist'));
  const [port, operationsPort] = (await freePorts(2)) as [number, number];
  const stage = await makeStage(harness.folder, { port, operationsPort }, await clusterBehind());
  const launcher = join(harness.folder, 'package', 'src', 'launcher', 'hostward.mjs');
  const logPath = join(harness.folder, 'server.log');
  const { configPath, caPem } = stage;
  const server = new LimitedServer({ launcher, configPath, logPath, port, caPem, limitMb });
  const attacker = others.start<AttackCommand>('hostile-client.ts');
  const bare = await others.start<{ kind: 'bare'; body: string }>('management-process.ts').ask<Bare>({
    kind: 'bare',
    body: 'ok',
  });
  const scene: Scene = { stage, server, attacker, port, bare };
  try {
    const started = await server.start();
    if (started === undefined)
      throw new Error(`the server did not start: ${readFileSync(logPath, 'utf8').slice(-2000)}`);
    const how = server.isGrouped ? 'a control group' : 'no control group can be made: resident memory alone';
    report.add({ name: 'start', value: started.ownMs, unit: 'ms', note: `${limitMb} MiB, ${how}` });
    await quiet(scene);
    for (const one of cases.filter(({ name }) => name.includes(args.only))) await attack(scene, one);
    if (args.only === '') await worstFound(scene);
    await restart(scene, 'restart after the attacks');
    if (further.some((name) => name.includes(args.only))) await filledBefore(scene);
    verdict();
    if (deaths > 0) process.stdout.write(`${readFileSync(logPath, 'utf8').slice(-1500)}\n`);
  } finally {
    await server.close();
  }
}

/** An API server behind the proxy, which sends logs as long as is asked for. */
async function clusterBehind(): Promise<{ port: number; caPem: string }> {
  const now = new Date();
  const authority = await makeAuthority('behind', now);
  const certificate = await makeServingCertificate('behind', ['localhost', '127.0.0.1'], now, authority);
  const port = await others.start<BareProxyCommand>('bare-proxy.ts').ask<number>({ kind: 'upstream', certificate });
  return { port, caPem: authority.certPem };
}

interface Bare {
  port: number;
  caPem: string;
}

interface Scene {
  stage: Stage;
  server: LimitedServer;
  attacker: ReturnType<typeof others.start<AttackCommand>>;
  port: number;
  bare: Bare;
}

function verdict(): void {
  const p99 = percentile(all.waits, 0.99);
  const bareP99 = percentile(all.bareWaits, 0.99);
  report.add({ name: 'times the server ended', value: deaths, unit: '', wanted: { atMost: 0 } });
  report.add({
    name: 'share of the memory limit at the peak',
    value: all.peakMb / limitMb,
    unit: '',
    wanted: { atMost: 1 },
  });
  report.add({ name: 'slowest restart', value: slowestRestartMs, unit: 'ms', wanted: { atMost: 5_000 } });
  report.add({ name: '/livez p99 over all attacks', value: p99, unit: 'ms', note: `a bare server: ${round(bareP99)}` });
  const worst = Math.max(...report.figures.filter(({ name }) => name.endsWith('/livez p99')).map(({ value }) => value));
  slowness.push(slownessNow());
  const slower = Math.max(1, median(slowness));
  report.add({
    name: 'worst /livez p99 beyond a bare server',
    value: worst / slower,
    unit: 'ms',
    wanted: { atMost: 250 },
    note: `${round(worst)} ms on this machine, which is slower by ${round(slower)}`,
  });
  report.add({ name: 'requests of others refused', value: all.refused, unit: '', wanted: { atMost: 0 } });
  report.add({ name: 'largest database', value: largestDatabase / 1024 ** 2, unit: 'MiB' });
}

async function quiet(scene: Scene): Promise<void> {
  const seen = await watched(scene, () => wait(1_500));
  report.add({
    name: 'in quiet: memory',
    value: seen.peakMb,
    unit: 'MiB',
    note: `/livez p99 ${round(percentile(seen.waits, 0.99))} ms`,
  });
}

async function attack(scene: Scene, one: HostileCase): Promise<void> {
  const commands = commandOf(scene, one);
  let result: AttackResult | undefined;
  const seen = await watched(scene, async () => {
    result = await scene.attacker.ask<AttackResult>(commands);
  });
  await tell(scene, one.name, seen, result);
}

async function tell(scene: Scene, name: string, seen: Seen, result: AttackResult | undefined): Promise<void> {
  const { server, stage } = scene;
  all.waits.push(...seen.waits);
  all.bareWaits.push(...seen.bareWaits);
  all.refused += seen.refused;
  all.peakMb = Math.max(all.peakMb, seen.peakMb);
  largestDatabase = Math.max(largestDatabase, databaseBytes(stage.dataDir));
  const bareP99 = percentile(seen.bareWaits, 0.99);
  const codes = Object.entries(result?.codes ?? {}).map(([code, count]) => `${code}: ${count}`);
  const most = Math.max(...seen.waits);
  report.add({
    name: `${name.slice(0, 60)}: /livez p99`,
    value: Math.max(0, percentile(seen.waits, 0.99) - bareP99) * seen.share,
    unit: 'ms',
    note: `most ${round(most)}, bare ${round(bareP99)}, on a processor ${round(seen.share)}; ${Math.round(seen.peakMb)} MiB; refused to others ${seen.refused}; ${codes.join(', ')}`,
  });
  if (server.isAlive) return;
  deaths++;
  await restart(scene, `restart after ${name}`);
}

async function restart(scene: Scene, name: string): Promise<void> {
  const { server } = scene;
  await server.kill();
  const took = await server.start();
  const ms = took?.ownMs ?? Number.POSITIVE_INFINITY;
  slowestRestartMs = Math.max(slowestRestartMs, ms);
  if (took === undefined) deaths++;
  const note = `${Math.round(took?.ms ?? 0)} with the time that others had the processors; ${Math.round(server.memoryMb())} MiB`;
  report.add({ name, value: ms, unit: 'ms', note });
}

/** A database from before the limits: 80 keys of 1.3 MiB and a history of more than the memory. */
async function filledBefore(scene: Scene): Promise<void> {
  const { server, stage } = scene;
  await server.kill();
  const bytes = await fillDatabase(stage.dataDir);
  const seen = await watched(scene, async () => {
    await restart(scene, 'restart on a database that was filled before');
    await wait(2_000);
  });
  all.peakMb = Math.max(all.peakMb, seen.peakMb);
  report.add({
    name: 'database that was filled before, after its start',
    value: databaseBytes(stage.dataDir) / 1024 ** 2,
    unit: 'MiB',
    note: `before ${Math.round(bytes / 1024 ** 2)}; ${Math.round(seen.peakMb)} MiB of memory`,
  });
  if (!server.isAlive) deaths++;
}

/** Runs an attack and looks at the server as others see it. */
async function watched(scene: Scene, run: () => Promise<void>): Promise<Seen> {
  const { server, port, bare, stage } = scene;
  const seen: Seen = { waits: [], bareWaits: [], refused: 0, peakMb: 0, share: 1 };
  slowness.push(slownessNow());
  const before = server.turns();
  const kept = { keepAlive: true, maxSockets: 64 };
  const agent = new Agent({ ...kept, ca: stage.caPem });
  const bareAgent = new Agent({ ...kept, ca: bare.caPem });
  const authorization = `Bearer ${stage.innocent}`;
  let turn = 0;
  const asked = new Set<Promise<unknown>>();
  const ask = (one: Promise<unknown>) => {
    asked.add(one);
    void one.finally(() => asked.delete(one));
  };
  const probe = setInterval(() => {
    if (!server.isAlive) return;
    ask(probed(agent, port, '/livez', {}).then(({ ms }) => seen.waits.push(ms)));
    ask(probed(bareAgent, bare.port, '/', {}).then(({ ms }) => seen.bareWaits.push(ms)));
    if (++turn % 5 > 0) return;
    const own = `${apiRoot}management.platform/v1/ownedaccesskeys/innocent`;
    // On a connection of its own: a newcomer must get one too.
    ask(
      probed(false, port, own, { authorization }, stage.caPem).then(({ code }) => {
        if (code !== 200) seen.refused++;
      }),
    );
  }, probeEveryMs);
  const sample = setInterval(() => {
    seen.peakMb = Math.max(seen.peakMb, server.memoryMb());
  }, sampleMs);
  try {
    await run();
    await wait(afterMs);
    const { ranMs, waitedMs } = server.turns();
    const [ran, waited] = [ranMs - before.ranMs, waitedMs - before.waitedMs];
    // A server that was started again in between has figures of its own.
    seen.share = ran > 0 && waited >= 0 ? ran / (ran + waited) : 1;
  } finally {
    clearInterval(probe);
    clearInterval(sample);
    await Promise.all(asked);
    agent.destroy();
    bareAgent.destroy();
  }
  return seen;
}

/** A server that does not answer has made others wait as long as they would. */
const longestWaitMs = 10_000;

function probed(agent: Agent | false, port: number, path: string, headers: Record<string, string>, ca?: string) {
  const sentMs = performance.now();
  return new Promise<{ ms: number; code: number }>((resolve) => {
    const done = (code: number) => resolve({ ms: performance.now() - sentMs, code });
    const sent = request(
      { host: '127.0.0.1', servername: 'localhost', port, path, agent, headers, ca, timeout: longestWaitMs },
      (answer) => {
        answer.resume();
        answer.on('end', () => done(answer.statusCode ?? 0));
        answer.on('error', () => done(0));
      },
    );
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => done(0));
    sent.end();
  });
}

function commandOf({ stage, port }: Scene, one: HostileCase): AttackCommand {
  const { key = 'plain', send, body = null, times, seconds, connections = 1, unread, taken, idle, sessions } = one;
  const [unfinished, pieces] = [held(one.unfinished), held(one.pieces)];
  const keys = key === 'many' || key === 'large' ? stage[key] : key === 'none' ? [] : [stage[key]];
  const self = keys[0]?.name ?? '';
  const to = { port, caPem: stage.caPem };
  const texts = keys.map(({ text }) => text);
  const filledSend = send && { ...send, path: pathOf(send.path, self, one.values) };
  const text = bodyText(body).replaceAll('{self}', self);
  if (unfinished !== undefined) return { kind: 'unfinished', to, keys: texts, send: filledSend as Send, ...unfinished };
  if (pieces !== undefined) return { kind: 'pieces', to, keys: texts, send: filledSend as Send, ...pieces };
  if (idle !== undefined) return { kind: 'idle', to, keys: texts, send: filledSend as Send, ...idle };
  if (taken !== undefined) return { kind: 'taken', to, keys: texts, ...taken };
  if (sessions !== undefined) return { kind: 'sessions', to, keys: texts, ...sessions };
  if (unread !== undefined) {
    const meanwhile = filledSend === undefined ? {} : { send: filledSend };
    const path = pathOf(unread.path, self, undefined);
    return { kind: 'unread', to, keys: texts, pipelined: 1, ...unread, path, ...meanwhile, body: text };
  }
  return {
    ...{ kind: 'bodies', to, keys: texts, send: filledSend as Send, body: text, connections },
    ...{ times: times ?? manyRequests, seconds: times === undefined ? Math.min(seconds ?? 30, busySeconds) : 30 },
  };
}

function held<T extends { seconds: number }>(attack: T | undefined): T | undefined {
  return attack && { ...attack, seconds: Math.min(attack.seconds, heldSeconds) };
}

function pathOf(path: string, self: string, values: Template | undefined): string {
  return path
    .replace('{keys}', `${apiRoot}management.platform/v1/ownedaccesskeys`)
    .replace('{tokens}', `${apiRoot}management.platform/v1/directclusterendpointtokens`)
    .replace('{reviews}', `${apiRoot}authorization.k8s.io/v1/selfsubjectaccessreviews`)
    .replace('{reports}', `${apiRoot}management.platform/v1/agentreports`)
    .replace('{self}', self)
    .replace('{values}', values === undefined ? '' : bodyText(values));
}

/** The costliest body for each byte that the search finds, sent with one key and with many. */
async function worstFound(scene: Scene): Promise<void> {
  const { stage, server, attacker, port } = scene;
  const to = { port, caPem: stage.caPem };
  let at = 0;
  const weighOnce = async (send: Send, body: string): Promise<number> => {
    // Keys in turn, so that none of them reaches its limits.
    const key = stage.many[at++ % stage.many.length] as (typeof stage.many)[number];
    const path = pathOf(send.path, key.name, undefined);
    const command = { kind: 'bodies' as const, to, keys: [key.text], connections: 1, times: 1, seconds: 10 };
    const beforeMs = server.cpuMs();
    await attacker.ask<AttackResult>({
      ...command,
      send: { ...send, path },
      body: body.replaceAll('{self}', key.name),
    });
    return server.cpuMs() - beforeMs;
  };
  const weigh = async ({ send, body }: Candidate): Promise<number | undefined> => {
    if (!server.isAlive) return undefined;
    const text = bodyText(body);
    const costs: number[] = [];
    for (let turn = 0; turn < weighings; turn++)
      costs.push((await weighOnce(send, text)) - (await weighOnce({ ...send, type: 'application/json' }, '{}')));
    return Math.min(...costs);
  };
  const own = cases.filter(({ key, send }) => key === undefined && send !== undefined);
  const untilMs = performance.now() + searchMs;
  let found: Awaited<ReturnType<typeof search>> = { best: [], tried: 0 };
  const seen = await watched(scene, async () => {
    found = await search(own, weigh, { untilMs, now: () => performance.now(), seed: Number(args.seed) });
  });
  await tell(scene, 'the search itself', seen, undefined);
  const [worst] = found.best;
  if (worst === undefined) return;
  const { name, send, msPerKib, bytes } = worst;
  report.details['worst'] = found.best;
  report.add({
    name: 'cost of the worst body found',
    value: msPerKib,
    unit: 'ms/KiB',
    note: `${bytes} bytes of ${send.type}, from "${name}"; ${found.tried} tried`,
  });
  for (const key of ['plain', 'many'] as const)
    await attack(scene, {
      ...worst,
      name: `the worst body, ${key}`,
      why: '',
      key,
      seconds: worstSeconds,
      connections: 8,
    });
}

/** Takes limits of the management API away, as it once had none. */
function plantUnlimitedBodies(dist: string): void {
  const limits = [
    [/bodyBytes:[\d*]+,storedBytes:[\d*]+,counts:\{labels[^}]*\}/, 'bodyBytes:3145728,storedBytes:1572864,counts:{}'],
    [/bodies:\{ofOne:[^}]*\}/, 'bodies:{ofOne:1e12,altogether:1e12}'],
    [/refusal\(\w+,\w+,\w+,\{perOwner\}\)\{/, '$&return;'],
    [/ofOne:0?\.25,ofOwner:0?\.5,altogether:0?\.75,small:0?\.02/, 'ofOne:1,ofOwner:1,altogether:1,small:1'],
  ] as const;
  const texts = new Map(
    readdirSync(dist)
      .filter((file) => file.endsWith('.js'))
      .map((file) => [file, readFileSync(join(dist, file), 'utf8')]),
  );
  for (const [limit, none] of limits) {
    const [file, text] = [...texts].find(([, each]) => limit.test(each)) ?? [];
    if (file === undefined || text === undefined)
      throw new Error(`the bundle no longer has ${limit}, which is planted away`);
    texts.set(file, text.replace(limit, none));
  }
  for (const [file, text] of texts) writeFileSync(join(dist, file), text);
}

try {
  await main();
  const tripped = args.gate ? gateFigures(report, hostileApiGateLimits) : [];
  for (const { name, value } of tripped) process.stdout.write(`gate: ${name} is ${value}\n`);
  if (tripped.length > 0) process.exitCode = 1;
  if (!args.gate) process.stdout.write(`${report.save(load())}\n`);
} finally {
  await others.end();
  await harness.close();
}
