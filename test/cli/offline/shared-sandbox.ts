// One sandbox process for all commands of a test file: a process of its own for each of a hundred commands is most of their time. That a
// command starts one by itself is seen in the tests that do not take this.
import { afterAll } from 'vitest';
import { SharedSandbox } from '../../../src/expression/sandbox/shared-sandbox.ts';
import { silentLog } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';

export function sharedSandbox(): Pick<SharedSandbox, 'open'> {
  const sandbox = new SharedSandbox({ clock: new VirtualClock(), log: silentLog, nodePath: process.execPath });
  afterAll(() => sandbox.stop());
  return sandbox;
}
