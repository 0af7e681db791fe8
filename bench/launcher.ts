// How the launcher starts the daemon: what is measured elsewhere than in it has to run in a process like it.
import { readFileSync } from 'node:fs';

/** V8's flags that the launcher gives to the daemon. */
export function launcherFlags(launcher: string): string[] {
  return [...readFileSync(launcher, 'utf8').matchAll(/'(--[a-z0-9-]+(?:=[0-9]+)?)'/g)].map(
    ([, flag]) => flag as string,
  );
}

/** What else a process would have to be started with to be like the daemon. */
export const daemonEnvironment = { MALLOC_ARENA_MAX: '1' };
