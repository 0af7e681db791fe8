// How long does a daemon need to judge the most expensive configurations, and how long does it hold the event loop in that time?
// `node bench/configuration.bench.ts [BYTES] [PART OF A NAME]`. The times depend on the machine, so this is not a test. They are
// judged by the processor time of the thread, because a busy machine multiplies the others.

import { systemClock } from '../src/clock.ts';
import { formatFault } from '../src/config/fault.ts';
import { loadSteps } from '../src/config/load/load.ts';
import { runInTurns } from '../src/config/steps.ts';
import { maxFileBytes } from '../src/config/yaml/source-text.ts';
import { patchSteps } from '../src/daemon/options/load-patches.ts';
import { nastyFiles } from '../test/config/nasty-files.ts';

const allowedMs = 2_000;
const allowedTurnMs = 50;

function* judged(text: string) {
  const names = { VCLUSTER_NAME: 'my-vc', NAMESPACE: 'hns' };
  return yield* patchSteps(yield* loadSteps({ files: [{ name: 'f.yaml', text }], environment: names }));
}

async function measure(text: string) {
  let turnBegan = process.threadCpuUsage();
  let longestMs = 0;
  const endTurn = () => {
    longestMs = Math.max(longestMs, millisecondsSince(turnBegan));
  };
  const turn = async () => {
    endTurn();
    await new Promise((resolve) => setImmediate(resolve));
    turnBegan = process.threadCpuUsage();
  };
  const began = performance.now();
  const cpu = process.threadCpuUsage();
  const loaded = await runInTurns(judged(text), { clock: systemClock, turn });
  const found = [...(loaded.kind === 'faults' ? loaded.faults : []), ...loaded.warnings];
  const said = found.map((one) => formatFault(one, loaded.texts)).join('\n');
  endTurn();
  return { ms: performance.now() - began, cpuMs: millisecondsSince(cpu), longestMs, said };
}

function millisecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const [bytes = String(maxFileBytes), part = ''] = process.argv.slice(2);
for (const { name, text } of nastyFiles.filter((file) => file.name.includes(part))) {
  const { ms, cpuMs, longestMs, said } = await measure(text(Number(bytes)));
  const marks = [cpuMs > allowedMs ? 'SLOW' : '', longestMs > allowedTurnMs ? 'LONG TURN' : ''].join(' ');
  console.log(
    `${name.padEnd(50)} ${ms.toFixed(0).padStart(6)} ms (${cpuMs.toFixed(0)} ms of CPU), longest turn ${longestMs.toFixed(0).padStart(5)} ms ${marks}`,
  );
  if (part !== '') console.log(said.slice(0, 1_000));
}
