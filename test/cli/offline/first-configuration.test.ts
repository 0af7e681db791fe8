import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { scene } from '../scene.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it('the first configuration of docs/try.md is valid as printed with the sample of the vcluster.yaml', async () => {
  const [printed = ''] = /^# hostward\.yaml\n[\s\S]*?(?=^```$)/m.exec(read('docs/try.md')) ?? [];
  expect(printed).toContain('addressPolicy:');
  const files = { '/home/vcluster.yaml': read('config/vcluster.yaml'), '/home/hostward.yaml': printed };
  const environment = { VCLUSTER_NAME: 'my-vcluster', NAMESPACE: 'vcluster-my-vcluster' };
  for (const names of [['hostward.yaml'], ['vcluster.yaml', 'hostward.yaml']]) {
    const { context, out } = scene({ files, environment });
    expect([await runCommandLine(context, ['check', ...names]), out()]).toEqual([
      0,
      expect.stringContaining('no faults'),
    ]);
  }
});
