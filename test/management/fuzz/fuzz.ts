// Runs schemathesis against a management API over TLS and judges the run: no answer of 500, more than half of the requests past
// authentication, a 2xx of every operation, and a planted 500 that is found. Called by .ci/fuzz with the program, the seconds and
// the seed of the first round.
// A busy machine makes fewer requests in the same time, so a run goes on until it has made enough of them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Bench, keysPath, openBench } from '../server/bench.ts';
import { fuzzDocument, type Operation } from './document.ts';

const hooks = fileURLToPath(new URL('hooks.py', import.meta.url));
/** No request of the fuzzer waits for anything, so this is only met by a server that hangs. */
const requestTimeoutSeconds = 60;
const plantedSeconds = 8;
/** What an idle machine makes at the least; a run goes on until it has made as many. */
const requestsPerSecond = 20;
/** A run that is this many times longer than asked ends with what it has. */
const longestFactor = 4;
/** Of each operation: a program that is left alone spends its time on the operations with the largest bodies. */
const examplesOfARound = 20;
const shortestRoundSeconds = 5;

interface RunOptions {
  seconds: number;
  round: number;
  caFile?: string;
  control: string;
  name: string;
  document: object;
  operations: Operation[];
}

interface Run {
  code: number | null;
  output: string;
  /** Label and status of each answer. */
  answers: [string, number][];
}

const [program = '', seconds = '60', firstSeed = '1'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'hostward-fuzz-'));

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers with a key of an administrator that is good now, after the keys that operations name were made again. */
function controlOf(bench: Bench): Server {
  let key = bench.admin;
  let count = 0;
  const keep = async () => {
    if ((await bench.ask('GET', `${keysPath}?limit=1`, { key })).code !== 200) {
      const made = await bench.api.createKey({ metadata: { name: `fuzz-admin-${count++}` }, spec: { user: 'admin' } });
      key = (made['spec'] as { key: string }).key;
    }
    for (const name of ['fuzz-there', 'fuzz-gone'])
      if ((await bench.ask('GET', `${keysPath}/${name}`, { key })).code === 404)
        await bench.ask('POST', keysPath, { key, body: { metadata: { name }, spec: { user: 'alice' } } });
  };
  return createServer((_, response) => {
    keep().then(
      () => response.end(key),
      (error: unknown) => response.writeHead(503).end(String(error)),
    );
  });
}

async function run(url: string, how: RunOptions): Promise<Run> {
  const [results, plan, document] = ['results', 'plan', 'document'].map((part) =>
    join(folder, `${how.name}-${part}.json`),
  ) as [string, string, string];
  writeFileSync(results, '');
  writeFileSync(
    plan,
    JSON.stringify(
      Object.fromEntries(
        how.operations.map(({ label, names, body, bodies }) => [
          label,
          { names, bodies, ...(body === undefined ? {} : { body }) },
        ]),
      ),
    ),
  );
  writeFileSync(document, JSON.stringify(how.document));
  const given = [
    'run',
    document,
    '--url',
    url,
    '--checks',
    'not_a_server_error',
    '--max-time',
    String(how.seconds),
    '--phases',
    how.round === 1 ? 'coverage,fuzzing' : 'fuzzing',
    '--max-examples',
    String(examplesOfARound),
  ];
  const more = [
    '--request-timeout',
    String(requestTimeoutSeconds),
    '--continue-on-failure',
    '--suppress-health-check',
    'all',
    '--seed',
    String(Number(firstSeed) + how.round - 1),
    '--no-color',
    '--warnings',
    'off',
    '--no-shrink',
  ];
  const trust = how.caFile === undefined ? [] : ['--tls-verify', how.caFile];
  const environment = {
    ...process.env,
    SCHEMATHESIS_HOOKS: hooks,
    HOSTWARD_FUZZ_CONTROL: how.control,
    HOSTWARD_FUZZ_RESULTS: results,
    HOSTWARD_FUZZ_PLAN: plan,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const child = spawn(program, [...given, ...more, ...trust], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
  const [code] = (await once(child, 'close')) as [number | null];
  const lines = readFileSync(results, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return { code, output, answers: lines.map((line) => JSON.parse(line) as [string, number]) };
}

/** Rounds with a seed each until the time is over; every operation gets its share of each. */
async function rounds(url: string, how: Omit<RunOptions, 'seconds' | 'round'>, forSeconds: number): Promise<Run> {
  const startMs = performance.now();
  const left = (seconds: number) => Math.ceil(seconds - (performance.now() - startMs) / 1000);
  const all: Run = { code: 0, output: '', answers: [] };
  const isEnough = () =>
    all.answers.length >= forSeconds * requestsPerSecond && unanswered(all, how.operations).length === 0;
  for (let round = 1; ; round++) {
    const isOver = left(forSeconds) < shortestRoundSeconds && isEnough();
    if (round > 1 && (isOver || left(forSeconds * longestFactor) < shortestRoundSeconds)) return all;
    const seconds = Math.max(left(forSeconds), shortestRoundSeconds * 2);
    const { code, output, answers } = await run(url, { ...how, round, seconds });
    all.answers.push(...answers);
    if (code !== 0) return { ...all, code, output };
  }
}

/** The operations that were never answered with 2xx. */
function unanswered({ answers }: Run, operations: readonly Operation[]): string[] {
  const good = new Set(answers.filter(([, status]) => status >= 200 && status < 300).map(([label]) => label));
  return operations.map(({ label }) => label).filter((label) => !good.has(label));
}

/** The cause of a fault is before the request that met it, and such a request may be a line of many kilobytes. */
function outline(output: string): string {
  const lines = output.split('\n').map((line) => (line.length > 300 ? `${line.slice(0, 300)}…` : line));
  return lines.slice(-80).join('\n');
}

/** What is wrong with a run; nothing when it holds. */
function faultsOf({ code, output, answers }: Run, operations: readonly Operation[]): string[] {
  const faults: string[] = [];
  const broken = answers.filter(([, status]) => status >= 500);
  for (const [label, status] of broken.slice(0, 10)) faults.push(`${label} was answered with ${status}`);
  if (code !== 0) faults.push(`schemathesis ended with ${code}: ${outline(output)}`);
  const past = answers.filter(([, status]) => status !== 401 && status !== 429).length;
  if (past * 2 < answers.length)
    faults.push(`${past} of ${answers.length} requests passed authentication, want half of them`);
  for (const label of unanswered({ code, output, answers }, operations))
    faults.push(`${label} was never answered with 2xx`);
  return faults;
}

function codesOf({ answers }: Run, label: string): string {
  const counts = new Map<number, number>();
  for (const [of, status] of answers) if (of === label) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
}

async function main(): Promise<number> {
  const bench = await openBench({
    settings: { keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1_000_000 } },
  });
  const control = controlOf(bench);
  const planted = createServer((request, response) => {
    request.resume();
    const isPlanted = request.method === 'PATCH';
    response.writeHead(isPlanted ? 500 : 200, { 'content-type': 'application/json' }).end('{}');
  });
  try {
    const parts = { ...(await fuzzDocument(bench)), control: await listening(control) };
    const found = await run(`${await listening(planted)}/kubernetes/management`, {
      ...parts,
      seconds: plantedSeconds,
      round: 1,
      name: 'planted',
    });
    const isFound =
      found.code !== 0 && faultsOf(found, parts.operations).some((fault) => / was answered with 500/.test(fault));
    const caFile = join(folder, 'ca.crt');
    writeFileSync(caFile, bench.api.caPem);
    const url = `https://localhost:${bench.api.port}/kubernetes/management`;
    const held = await rounds(url, { ...parts, caFile, name: 'held' }, Number(seconds));
    const faults = faultsOf(held, parts.operations);
    if (!isFound) faults.push(`a planted 500 was not found: ${found.output.slice(-2_000)}`);
    const past = held.answers.filter(([, status]) => status !== 401).length;
    console.log(
      `${held.answers.length} requests to ${parts.operations.length} operations, ${past} past authentication`,
    );
    for (const { label } of parts.operations) console.log(`  ${label}: ${codesOf(held, label)}`);
    for (const fault of faults) console.log(fault);
    return faults.length === 0 ? 0 : 1;
  } finally {
    control.close();
    planted.close();
    await bench.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
