// In a process of its own, whose young generation is as small as at a start.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const file = new URL('../../src/daemon/process/hold-nursery.ts', import.meta.url);

const script = `
import { getHeapSpaceStatistics } from 'node:v8';
const { holdNursery } = await import(${JSON.stringify(file.href)});
const mib = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 2 ** 20;
const work = () => {
  let kept = [];
  for (let n = 0; n < 1_000_000; n++) {
    kept.push({ n, list: [n] });
    if (kept.length > 60_000) kept = [];
  }
};
const letGrow = holdNursery();
work();
const held = mib();
letGrow();
work();
console.log(JSON.stringify({ held, after: mib() }));
`;

it('the young generation stays small while it is held, and grows again afterwards', async () => {
  const words = ['--max-semi-space-size=16', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  const { held, after } = JSON.parse(stdout) as { held: number; after: number };
  expect(held).toBeLessThan(8);
  // How far it grows depends on how fast the threads of the collection get a processor.
  expect(after).toBeGreaterThan(9);
});
