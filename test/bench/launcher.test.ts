import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { launcherFlags } from '../../bench/launcher.ts';

it('finds every flag that the launcher gives to the daemon', () => {
  const launcher = fileURLToPath(new URL('../../src/launcher/hostward.mjs', import.meta.url));
  expect(launcherFlags(launcher)).toEqual([
    '--expose-gc',
    '--max-semi-space-size=16',
    '--v8-pool-size=1',
    '--disable-sigusr1',
  ]);
});
