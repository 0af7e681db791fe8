// Tells how the launcher starts the daemon, so that measurements in other processes use the same flags and environment.
import { readFileSync } from 'node:fs';

/** The V8 flags that the launcher gives to the daemon. */
export function launcherFlags(launcher: string): string[] {
  return [...readFileSync(launcher, 'utf8').matchAll(/'(--[a-z0-9-]+(?:=[0-9]+)?)'/g)].map(
    ([, flag]) => flag as string,
  );
}

/** The environment variables that the launcher sets for the daemon. */
export const daemonEnvironment = { MALLOC_ARENA_MAX: '1' };
