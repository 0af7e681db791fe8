// How long after a key does the playground answer, with ten patches, over its port? And with Chromium (HOSTWARD_CHROMIUM): how long after
// a key is the new result drawn? `node bench/playground.bench.ts [--keys N]`
import { parseArgs } from 'node:util';
import { LocalServer } from '../src/apiserver/local/local-server.ts';
import { Evaluations } from '../src/cli/offline/playground/evaluations.ts';
import { systemClock } from '../src/clock.ts';
import { Playground } from '../src/pages/playground/playground.ts';
import { linkOf } from '../src/pages/playground-link.ts';
import { findChromium, openChromium, openPage } from '../test/pages/browser/chromium.ts';
import { load } from './processes.ts';
import { Report } from './report.ts';
import { spread } from './statistics.ts';

const { values } = parseArgs({ options: { keys: { type: 'string', default: '200' } } });
/** Of the whole, which a person waits for, the answer may take so much: the page waits 25 ms for the next key, and has to draw. */
const [wholeMs, answerMs] = [150, 100];

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

/** As text, because it runs in the browser. Drawn is what is there after the next picture. */
const watchKeys = `
let pressedMs = 0;
addEventListener('keydown', () => { pressedMs = performance.now(); }, true);
globalThis.untilDrawn = (text) => new Promise((resolve) => {
  const isThere = () => [...document.querySelectorAll('.diff ins')].some((one) => one.textContent.trim() === '+     ' + text);
  const told = () => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(performance.now() - pressedMs);
    port2.postMessage(0);
  });
  if (isThere()) return told();
  const observer = new MutationObserver(() => {
    if (!isThere()) return;
    observer.disconnect();
    told();
  });
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
});
`;

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
  add('answer after a key, p95', times, answerMs);
  const found = findChromium();
  if (found.program === undefined) process.stdout.write(`the page is not measured: ${found.reason}\n`);
  else add('result drawn after a key, p95', await keysInPage(found.program), wholeMs);
  process.stdout.write(`${report.save(load())}\n`);
} finally {
  await server.stop();
  await evaluations.stop();
}

function add(name: string, times: readonly number[], atMost: number): void {
  const { p50, p90, p99, max } = spread([...times]);
  const p95 = times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? 0;
  const note = `p50 ${p50}, p90 ${p90}, p99 ${p99}, most ${max}`;
  report.add({ name, value: Math.round(p95), unit: 'ms', wanted: { atMost }, note });
}

/** Types into an expression, a key at a time, and waits after each until the page has drawn what came of it. */
async function keysInPage(program: string): Promise<number[]> {
  const browser = await openChromium(program);
  try {
    const origin = `http://127.0.0.1:${server.address.port}`;
    const { page } = await openPage(browser, origin);
    const times: number[] = [];
    // A label has 63 characters, so each page takes a few keys.
    const keysOfPage = 40;
    for (let begun = 0; begun < Number(values.keys); begun += keysOfPage) {
      await page.goto('about:blank');
      const link = await linkOf({ config: config(begun), virtual });
      await page.goto(`${origin}/playground#token=${token}&case=${link}`);
      await page.evaluate(watchKeys);
      const prefix = `t${begun}-`;
      await page.evaluate(`untilDrawn('l0: ${prefix}a')`);
      // Into the first expression, behind its prefix.
      await page.getByText(`"${prefix}" + value`).first().click();
      await page.keyboard.press('Home');
      // Home leads behind the blanks of a line.
      const before = `expression: '"${prefix}`.length;
      for (let at = 0; at < before; at++) await page.keyboard.press('ArrowRight');
      let typed = '';
      for (let key = 0; key < keysOfPage; key++) {
        const letter = String.fromCharCode(97 + (key % 26));
        typed += letter;
        await page.keyboard.press(letter);
        times.push((await page.evaluate(`untilDrawn('l0: ${prefix}${typed}a')`)) as number);
      }
    }
    return times;
  } finally {
    await browser.close();
  }
}
