import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { systemClock } from '../../src/clock.ts';
import { scene } from './scene.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-devcluster-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The authority in the kubeconfig that the command writes. */
async function authorityOf(...argv: string[]): Promise<string> {
  const { context, files, send, out } = scene();
  const ended = runCommandLine({ ...context, clock: systemClock }, ['devcluster', '--kubeconfig', 'k.yaml', ...argv]);
  await expect.poll(out, { timeout: 20_000 }).toContain('serving on');
  send('stop');
  expect(await ended).toBe(0);
  const { clusters } = parse(files.get('/home/k.yaml')?.text ?? '');
  return clusters[0].cluster['certificate-authority-data'];
}

it('devcluster --data keeps its authority over a restart, and without --data there is a new one each time', async () => {
  const data = join(folder, 'objects.db');
  const first = await authorityOf('--data', data);
  expect(await authorityOf('--data', data)).toBe(first);
  expect(await authorityOf()).not.toBe(await authorityOf());
});
