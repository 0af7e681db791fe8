// Opens the patches of a configuration for commands without a daemon. In: a configuration. Out: a patcher, or undefined when
// there are no patches. Patches run in the sandbox process here too, because an endless expression must not hang the command.

import { mappingsOf } from '../../config/settings/host-namespaces.ts';
import { ChildSandbox } from '../../expression/sandbox/child-sandbox.ts';
import { silentLog } from '../../log.ts';
import type { Trace } from '../../sync/patch/entry/pass.ts';
import { type OpenedPatcher, type OpenPatcherOptions, openPatcher } from '../../sync/patch/run/open-patcher.ts';
import { CommandFault, type Context, exitCodes } from '../line/context.ts';
import type { GoodConfiguration } from '../line/load-settings.ts';
import { hasPatches } from './offline-kinds.ts';

/** What running expressions takes. A caller that runs many configurations gives them one process with `openSandbox`. */
export type OfflineMeans = Pick<Context, 'clock' | 'nodePath' | 'openSandbox'> & {
  /** Failures carry the position of the throw. Only for a second run after a failure, see EvaluatorOptions. */
  traces?: boolean;
};

export function openOfflinePatches(
  means: OfflineMeans,
  { settings, compiled }: Pick<GoodConfiguration, 'settings' | 'compiled'>,
  trace?: Trace,
): OpenedPatcher | undefined {
  if (!hasPatches(compiled)) return undefined;
  return openPatcher({
    settings,
    set: compiled.set,
    sourceOf: compiled.sourceOf,
    others: { ...compiled.slices, list: 'endpointSlices' },
    mappings: mappingsOf(settings),
    openSandbox: sandboxOpener(means),
    clock: means.clock,
    traces: means.traces ?? false,
    ...(trace && { trace, isOneByOne: true }),
  });
}

export function sandboxOpener({ clock, nodePath, openSandbox }: OfflineMeans): OpenPatcherOptions['openSandbox'] {
  if (openSandbox !== undefined) return openSandbox;
  return (setup) => new ChildSandbox({ setup, clock, log: silentLog, nodePath });
}

/** A sandbox that cannot start is a fault of the environment. */
export async function startSandbox(start: () => Promise<void>): Promise<void> {
  try {
    await start();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CommandFault(exitCodes.environment, `the sandbox for expressions cannot be started: ${why}`, { cause });
  }
}
