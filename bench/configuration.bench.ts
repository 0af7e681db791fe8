// How long does a daemon need to judge the most expensive configurations, and how long does it hold the event loop meanwhile?
// `node bench/configuration.bench.ts [BYTES] [PART OF A NAME]`. The times depend on the machine, so this is not a test.

import { systemClock } from '../src/clock.ts';
import { formatFault } from '../src/config/fault.ts';
import { loadSteps } from '../src/config/load/load.ts';
import { runInTurns } from '../src/config/steps.ts';
import { maxFileBytes } from '../src/config/yaml/source-text.ts';
import { patchSteps } from '../src/daemon/load-patches.ts';
import { nastyFiles } from '../test/config/nasty-files.ts';

const allowedMs = 2_000;
const allowedTurnMs = 50;

function* judged(text: string) {
  const names = { VCLUSTER_NAME: 'my-vc', NAMESPACE: 'hns' };
  return yield* patchSteps(yield* loadSteps({ files: [{ name: 'f.yaml', text }], environment: names }));
}

async function measure(text: string) {
  let turnBegan = performance.now();
  let longestMs = 0;
  const endTurn = () => {
    longestMs = Math.max(longestMs, performance.now() - turnBegan);
  };
  const turn = async () => {
    endTurn();
    await new Promise((resolve) => setImmediate(resolve));
    turnBegan = performance.now();
  };
  const began = performance.now();
  const cpu = process.cpuUsage();
  const loaded = await runInTurns(judged(text), { clock: systemClock, turn });
  const found = [...(loaded.kind === 'faults' ? loaded.faults : []), ...loaded.warnings];
  const said = found.map((one) => formatFault(one, loaded.texts)).join('\n');
  endTurn();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1_000, longestMs, said };
}

const [bytes = String(maxFileBytes), part = ''] = process.argv.slice(2);
for (const { name, text } of nastyFiles.filter((file) => file.name.includes(part))) {
  const { ms, cpuMs, longestMs, said } = await measure(text(Number(bytes)));
  const marks = [ms > allowedMs ? 'SLOW' : '', longestMs > allowedTurnMs ? 'LONG TURN' : ''].join(' ');
  console.log(
    `${name.padEnd(50)} ${ms.toFixed(0).padStart(6)} ms (${cpuMs.toFixed(0)} ms of CPU), longest turn ${longestMs.toFixed(0).padStart(5)} ms ${marks}`,
  );
  if (part !== '') console.log(said.slice(0, 1_000));
}
