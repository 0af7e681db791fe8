// What do the status pages cost a daemon with 100,000 objects: how long is a page, for how long does it hold the event loop while
// pages are asked for ten times a second, and what does an open page cost that has nothing new? `node bench/pages.bench.ts [--count N]
// [--seconds N]`. The client is a process of its own. Times depend on the machine, so there is no gate.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/clock.ts';
import { OperationsServer } from '../src/daemon/operations/operations-server.ts';
import { Pages } from '../src/pages/pages.ts';
import { createPageFacts } from '../src/sync/report/look/page-facts.ts';
import { joinedFacts, syncStatus, verdictFacts } from '../src/sync/report/status.ts';
import { FakeWorld, putPair } from '../test/sync/fake-sync.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '10' },
    /** The address that the client asks. */
    client: { type: 'string' },
  },
});

interface Asked {
  path: string;
  times: number;
  everyMs: number;
  /** Whether the client sends the version that it has. */
  isConditional?: boolean;
}

interface Told {
  /** Milliseconds, in order. */
  took: number[];
  status: number;
}

if (values.client === undefined) await measure();
else await beClient(values.client);

async function beClient(origin: string): Promise<void> {
  process.on('message', async ({ path, times, everyMs, isConditional }: Asked) => {
    const took: number[] = [];
    let [status, etag] = [0, ''];
    for (let at = 0; at < times; at++) {
      const began = performance.now();
      const answer = await fetch(`${origin}${path}`, { headers: isConditional ? { 'if-none-match': etag } : {} });
      await answer.arrayBuffer();
      took.push(performance.now() - began);
      etag = answer.headers.get('etag') ?? etag;
      status = answer.status;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, everyMs - (performance.now() - began))));
    }
    took.sort((a, b) => a - b);
    process.send?.({ took, status } satisfies Told);
  });
  process.send?.('ready');
}

/** The longest turn of the event loop by the processor time of the thread, because a busy machine multiplies all other times. */
function watchTurns(): { end(): number } {
  let [longestMs, isOver] = [0, false];
  let before = process.threadCpuUsage();
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    before = process.threadCpuUsage();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    end() {
      isOver = true;
      return longestMs;
    },
  };
}

async function measure(): Promise<void> {
  const report = new Report('pages', load());
  const count = Number(values.count);
  const world = new FakeWorld();
  for (let at = 0; at < count; at++) putPair(world, `object-${String(at).padStart(6, '0')}`);
  await world.run();
  while (world.sync.ledger.inSync < count) await new Promise((resolve) => setImmediate(resolve));
  const status = () => ({
    verdict: { isWell: true, sentence: `in step: ${joinedFacts([verdictFacts(world.sync)]).objects} objects` },
    ...syncStatus(world.sync),
  });
  const facts = createPageFacts({
    clock: systemClock,
    syncs: () => [world.sync],
    contents: () => [],
    referrersOf: () => [],
  });
  const pages = new Pages({ clock: systemClock, status, facts, port: () => 0 });
  const answers = {
    health: () => ({ isHealthy: true, lines: [] }),
    readiness: () => ({ isReady: true, lines: [], parts: [] }),
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    status,
    objects: () => [],
    objectStatus: () => undefined,
  };
  const server = new OperationsServer({ host: '127.0.0.1', port: 0 }, answers, { pages });
  await server.start();
  const client = fork(process.argv[1] as string, ['--client', `http://127.0.0.1:${server.address.port}`]);
  await once(client, 'message');
  const ask = async (asked: Asked): Promise<Told> => {
    client.send(asked);
    return (await once(client, 'message'))[0] as Told;
  };
  const paths = ['/', '/objects', '/objects?state=refused', '/objects?text=9999', '/objects/default/object-000007'];
  for (const path of paths) await ask({ path, times: 20, everyMs: 0 });
  for (const path of paths) {
    const { took } = await ask({ path, times: 100, everyMs: 20 });
    report.add({
      name: `${path}, median of 100`,
      value: took[50] as number,
      unit: 'ms',
      ...(path === '/' && { wanted: { atMost: 50 } }),
      note: `slowest ${(took.at(-1) as number).toFixed(1)} ms`,
    });
  }
  for (const path of paths) {
    await ask({ path, times: 1, everyMs: 0 });
    const turns = watchTurns();
    await ask({ path, times: Number(values.seconds) * 10, everyMs: 100 });
    const longestMs = turns.end();
    report.add({
      name: `${path} ten times a second, longest turn`,
      value: longestMs,
      unit: 'ms',
      wanted: { atMost: 25 },
    });
  }
  // As the script of a page asks, but in less time: the status is made again each time.
  const everyMs = 1_100;
  const times = 2 * Number(values.seconds);
  const cpu = process.threadCpuUsage();
  const { status: last } = await ask({ path: '/', times, everyMs, isConditional: true });
  const { user, system } = process.threadCpuUsage(cpu);
  const perAsk = (user + system) / 1_000 / times;
  report.add({
    name: 'an open page with nothing new, share of a core at one look in 3 s',
    value: (perAsk / 3_000) * 100,
    unit: '%',
    wanted: { atMost: 0.2 },
    note: `${perAsk.toFixed(2)} ms a look, answered ${last}`,
  });
  client.kill();
  await server.stop();
  process.stdout.write(`${report.save(load())}\n`);
  process.exit(0);
}
