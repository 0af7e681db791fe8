import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { type OpenedPatcher, openPatcher } from '../../../src/sync/patch/run/open-patcher.ts';
import { compilePatchSet } from '../../../src/sync/patch/set/patch-set.ts';
import type { SyncedKind } from '../../../src/sync/plan/kind.ts';
import { InProcessSandbox } from '../../expression/in-process-sandbox.ts';
import { VirtualClock } from '../../virtual-clock.ts';

export function entry(fields: Partial<PatchEntry> & { path: string }): PatchEntry {
  return { onMissing: 'skip', onError: 'fail', ...fields };
}

export type TestPatcherOptions = Partial<Pick<Parameters<typeof openPatcher>[0], 'openSandbox' | 'clock'>> & {
  kind?: SyncedKind;
  /** context.vcluster.config. */
  vcluster?: Record<string, unknown>;
};

/** A patcher with the same harness as the daemon's, inside this process. */
export function openTestPatcher(
  entries: readonly PatchEntry[],
  trace?: Parameters<typeof openPatcher>[0]['trace'],
  {
    openSandbox = (setup) => new InProcessSandbox(setup),
    clock = new VirtualClock(),
    kind = endpointsKind,
    vcluster = { sync: { toHost: { endpoints: { enabled: true } } } },
  }: TestPatcherOptions = {},
): OpenedPatcher {
  const compiled = compilePatchSet(
    entries.map((one, index) => ({ index, entry: one })),
    kind,
  );
  if (compiled.kind === 'faults') throw new Error(compiled.faults.map((fault) => fault.message).join('; '));
  return openPatcher({
    settings: {
      virtualClusterName: 'vc',
      hostNamespace: 'vcluster-vc',
      vcluster,
    },
    set: compiled.set,
    mappings: undefined,
    openSandbox,
    clock,
    ...(trace && { trace }),
  });
}
