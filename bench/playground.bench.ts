// How long after a key does the playground answer, with ten patches, over its port? `node bench/playground.bench.ts [--keys N]`
import { parseArgs } from 'node:util';
import { LocalServer } from '../src/apiserver/local/local-server.ts';
import { Evaluations } from '../src/cli/offline/playground/evaluations.ts';
import { systemClock } from '../src/clock.ts';
import { Playground } from '../src/pages/playground/playground.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';
import { spread } from './statistics.ts';

const { values } = parseArgs({ options: { keys: { type: 'string', default: '200' } } });
/** The page waits so long for the next key, and needs about as long to draw. */
const pageMs = 2 * 25;

const labels = Array.from({ length: 8 }, (_, at) => `l${at}`);
const virtual = `apiVersion: v1
kind: Endpoints
metadata: {name: db, namespace: shop, labels: {${labels.map((label) => `${label}: a`).join(', ')}}}
subsets:
- addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}, {ip: 10.0.0.3}]
  ports: [{port: 5432}]
`;

/** Ten patches, eight of them in both directions; every key changes the expressions, so that no answer is remembered. */
function config(key: number): string {
  const prefix = `t${key}-`;
  const pairs = labels.map(
    (label) =>
      `- path: metadata.labels.${label}\n  expression: '"${prefix}" + value'\n  reverseExpression: value.slice(${prefix.length})\n`,
  );
  const addresses = '- path: subsets[*].addresses[*].ip\n  expression: value.replace("10.", "11.")\n';
  return `${pairs.join('')}${addresses}- path: subsets[*].ports[*].port\n  expression: value + ${key}\n`;
}

const report = new Report('playground', load());
const token = 'bench';
const evaluations = new Evaluations({ clock: systemClock, nodePath: process.execPath });
const routes = [new Playground({ evaluate: evaluations.evaluate, token, isAlone: true })];
const server = new LocalServer({ listen: { host: '127.0.0.1', port: 0 }, routes });
await server.start();
try {
  const times: number[] = [];
  for (let key = 0; key <= Number(values.keys); key++) {
    const beganMs = performance.now();
    const answer = await fetch(`http://127.0.0.1:${server.address.port}/api/render`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ config: config(key), virtual }),
    });
    const { forward } = (await answer.json()) as { forward?: { patches: unknown[] } };
    if (forward?.patches.length !== 10) throw new Error(`the playground answers ${answer.status} without ten patches`);
    // The first key waits for the thread.
    if (key > 0) times.push(performance.now() - beganMs);
  }
  const { p50, p90, p99, max } = spread(times);
  const p95 = times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? 0;
  const note = `p50 ${p50}, p90 ${p90}, p99 ${p99}, most ${max}; the page adds about ${pageMs}`;
  report.add({
    name: 'answer after a key, p95',
    value: Math.round(p95),
    unit: 'ms',
    wanted: { atMost: 150 - pageMs },
    note,
  });
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await server.stop();
  await evaluations.stop();
}
