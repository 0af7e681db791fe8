// For how long do hostile values delay innocent objects? Some objects at once get values on which their expressions hang, loop or
// swell, while others change at a steady rate: objects without a patch, objects with another expression, and objects with the same
// expressions on harmless values. In the midst of the bad values new objects come, one of each expression, that have no copy yet. Between two real API servers from KUBEBUILDER_ASSETS; `--embedded`: two embedded ones.
// `--playground`: nothing is bad, and two people evaluate hostile patches in the daemon's playground all the time.
// `node bench/hostile.bench.ts [--bad 0,14,70] [--playground] [--seconds N] [--embedded]`
import { parseArgs } from 'node:util';
import { ApiClient, inParallel, reachOf } from './api-client.ts';
import type { DaemonProcess } from './daemon-process.ts';
import { Harness } from './harness.ts';
import { watchHost } from './latency.ts';
import { PlaygroundLoad } from './playground-load.ts';
import { load, settledMs, wait } from './processes.ts';
import { Report } from './report.ts';
import { spread } from './statistics.ts';
import { endpointsOf, hostNameOf, type Key, keysOf, seedHost, seedVirtual, subsetsOf } from './workload.ts';

const { values } = parseArgs({
  options: {
    /** How many objects go bad at once, for each run. */
    bad: { type: 'string', default: '0,14,70' },
    seconds: { type: 'string', default: '20' },
    embedded: { type: 'boolean', default: false },
    playground: { type: 'boolean', default: false },
  },
});

/** An expression that is harmless or hostile by its value. `bad` and `good` make a new value for each number. */
interface Kind {
  name: string;
  expression: string;
  bad: (at: number) => string;
  good: (at: number) => string;
}

const kinds: readonly Kind[] = [
  {
    name: 'pattern',
    expression: 'String(new RegExp(value).test("a".repeat(40) + "!"))',
    bad: (at) => `^(a+)+$|${at}`,
    good: (at) => `^a|${at}`,
  },
  {
    name: 'loop',
    expression: 'String([...Array(value % 1e5)].map(() => [...Array(value % 1e5)].length).length)',
    bad: (at) => `${at}99999`,
    good: (at) => `${at}00003`,
  },
  {
    name: 'memory',
    expression: 'String(Array(value % 1e5).fill(0).map((_, at) => [..."x".repeat(9e4).slice(at)]).length)',
    bad: (at) => `${at}09999`,
    good: (at) => `${at}00003`,
  },
];

/** Each group with its goal: p99 in milliseconds. */
const groups = [
  { name: 'no patch', mostMs: 100, annotationsOf: () => ({}) },
  { name: 'another expression', mostMs: 100, annotationsOf: (at: number) => ({ other: `n-${at}` }) },
  {
    name: 'the same expression',
    mostMs: 2_000,
    annotationsOf: (at: number) => {
      const { name, good } = kinds[Math.floor(at / groups.length) % kinds.length] as Kind;
      return { [name]: good(at) };
    },
  },
] as const;

/** For objects without a copy, which come in the same moment as the bad values. */
const newMostMs = 1_000;
/** Changes a second in each group: the API servers must stay idle for the most part. */
const perSecond = 10;
/** Innocents may change after the last bad value has failed for the first time, but the run must not depend on it. */
const lateMs = 10_000;
const changes = Math.round(Number(values.seconds) * perSecond);
const bads = values.bad.split(',').map(Number);
const report = new Report('hostile', load());
const harness = new Harness();
let virtual: ApiClient;
let host: ApiClient;
/** Numbers never repeat, so that no answer is remembered. */
let number = 0;
let changed = 0;

try {
  await main();
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await harness.close();
}

async function main(): Promise<void> {
  harness.build('none');
  const [virtualKubeconfig, hostKubeconfig] = [await start('virtual'), await start('host')];
  virtual = new ApiClient(await reachOf(virtualKubeconfig));
  host = new ApiClient(await reachOf(hostKubeconfig));
  const keys = keysOf(groups.length * changes + kinds.length + Math.max(...bads));
  await seedHost(host);
  await seedVirtual(virtual, keys);
  const patches = [...kinds, { name: 'other', expression: 'value + "!"' }];
  const daemon = await harness.startDaemon({
    virtualKubeconfig,
    hostKubeconfig,
    playground: values.playground,
    patches: patches.map(({ name, expression }) => ({ path: `metadata.annotations.${name}`, expression })),
  });
  await daemon.untilReady();
  await daemon.untilIdle();
  await wait(settledMs);
  if (values.playground) {
    await measure(daemon, { keys, count: 0, name: 'no playground' });
    const people = await new PlaygroundLoad(daemon.base).start();
    await measure(daemon, { keys, count: 0, name: 'hostile playground' });
    report.add({ name: 'evaluations in the playground', value: await people.stop(), unit: '' });
    return;
  }
  for (const count of bads) await measure(daemon, { keys, count, name: `${count} bad` });
}

async function start(name: string): Promise<string> {
  return values.embedded ? (await harness.startCluster(name)).kubeconfig : harness.startRealCluster(name);
}

async function measure(
  daemon: DaemonProcess,
  { keys, count, name: run }: { keys: Key[]; count: number; name: string },
): Promise<void> {
  const lags = groups.map((): number[] => []);
  const due = new Map<string, { atMs: number; group: number }>();
  const lagsOfNew: number[] = [];
  const dueNew = new Map<string, number>();
  const stop = await watchHost(host, (name, atMs) => {
    const createdMs = dueNew.get(name);
    if (createdMs !== undefined) lagsOfNew.push(atMs - createdMs);
    dueNew.delete(name);
    const sent = due.get(name);
    if (sent === undefined) return;
    due.delete(name);
    lags[sent.group]?.push(atMs - sent.atMs);
  });
  const fresh = keys.slice(groups.length * changes, groups.length * changes + kinds.length);
  for (const key of fresh) await virtual.expect({ method: 'DELETE', path: pathOf(key) });
  await daemon.untilIdle();
  await wait(settledMs);
  const before = await daemon.metrics();
  await daemon.longestStallMs();
  const [beganMs, cpuMs, cpuMsOfAll] = [performance.now(), daemon.cpuMs, daemon.cpuMsOfAll];
  const bad = keys.slice(groups.length * changes + kinds.length, groups.length * changes + kinds.length + count);
  const spoil = (some: readonly Key[]) =>
    inParallel(some, some.length, (key) => {
      const { name, bad: badValue } = kinds[number % kinds.length] as Kind;
      return change(key, { [name]: badValue(++number) });
    });
  const sent: Promise<unknown>[] = [spoil(bad.slice(0, count / 2))];
  for (const [at, key] of fresh.entries()) {
    dueNew.set(hostNameOf(key), performance.now());
    sent.push(createAnew(key, kinds[at] as Kind));
  }
  sent.push(spoil(bad.slice(count / 2)));
  for (let at = 0; at < changes; at++) {
    for (const [group, { annotationsOf }] of groups.entries()) {
      const key = keys[group * changes + at] as Key;
      const dueMs = beganMs + ((at + group / groups.length) * 1_000) / perSecond;
      await wait(Math.max(0, dueMs - performance.now()));
      due.set(hostNameOf(key), { atMs: performance.now(), group });
      sent.push(change(key, annotationsOf(++number)));
    }
  }
  await Promise.all(sent);
  const endMs = performance.now() + lateMs;
  while (due.size + dueNew.size > 0 && performance.now() < endMs) await wait(100);
  stop();
  const tookMs = performance.now() - beganMs;
  for (const [group, { name, mostMs }] of groups.entries()) {
    const { p50, p90, p99, max, samples } = spread(lags[group] ?? []);
    const unseen = [...due.values()].filter((one) => one.group === group).length;
    const note = `p50 ${p50}, p90 ${p90}, most ${max}, ${samples} seen, ${unseen} not`;
    report.add({ name: `${run}, ${name}, p99`, value: p99, unit: 'ms', wanted: { atMost: mostMs }, note });
  }
  const most = Math.max(...lagsOfNew, ...[...dueNew.values()].map((sinceMs) => performance.now() - sinceMs));
  const note = `${lagsOfNew.map(Math.round).join(', ')}, ${dueNew.size} not seen`;
  report.add({ name: `${run}, new objects, slowest`, value: most, unit: 'ms', wanted: { atMost: newMostMs }, note });
  const after = await daemon.metrics();
  const told = ['hostward_sandbox_starts_total', 'hostward_expression_evaluations_total'].flatMap((series) =>
    [...after]
      .filter(([name, value]) => name.startsWith(series) && value > (before.get(name) ?? 0))
      .map(([name, value]) => `${name.slice(name.indexOf('"'), -1)} ${value - (before.get(name) ?? 0)}`),
  );
  report.add({
    name: `${run}, longest stall of the daemon`,
    value: await daemon.longestStallMs(),
    unit: 'ms',
    note: `CPU of a core: daemon ${share(daemon.cpuMs - cpuMs, tookMs)}, with sandbox ${share(daemon.cpuMsOfAll - cpuMsOfAll, tookMs)}; ${told.join(', ')}`,
  });
  for (const key of bad) await change(key, Object.fromEntries(kinds.map(({ name }) => [name, null])));
  await daemon.untilIdle();
}

function share(cpuMs: number, ofMs: number): string {
  return `${Math.round((100 * cpuMs) / ofMs)} %`;
}

function createAnew(key: Key, { name, good }: Kind): Promise<string> {
  const made = endpointsOf(key, ++changed, 7) as { metadata: object };
  const metadata = { ...made.metadata, annotations: { [name]: good(++number) } };
  return virtual.expect({
    method: 'POST',
    path: `/api/v1/namespaces/${key.namespace}/endpoints`,
    body: JSON.stringify({ ...made, metadata }),
    contentType: 'application/json',
  });
}

function pathOf({ namespace, name }: Key): string {
  return `/api/v1/namespaces/${namespace}/endpoints/${name}`;
}

/** Changes the addresses and some annotations, so that every change needs a write on the host. */
function change(key: Key, annotations: Record<string, string | null>): Promise<string> {
  return virtual.expect({
    method: 'PATCH',
    path: pathOf(key),
    body: JSON.stringify({ metadata: { annotations }, subsets: subsetsOf(++changed & 0xffff, 7) }),
    contentType: 'application/merge-patch+json',
  });
}
