// Counts values, changes and failures of each patch. Every series exists from the start, at zero.
import { Counter } from 'prom-client';
import { type Metrics, openTally, type Tally, type TallySum } from '../../../metrics.ts';

export interface PatchCounts {
  evaluated(patch: number, values: number): void;
  changed(patch: number, changes: number): void;
  /** `message` is for display: it never holds a whole value. */
  failed(patch: number, kind: string, message: string): void;
  /** Counts a failure that is not the fault of one patch alone. */
  failedTogether(kind: string): void;
  restored(keys: number): void;
  /** Sums of each patch, for status. */
  totals(): { patch: number; values: number; changes: number; failures: number; lastFailure?: string }[];
}

const failureKinds = ['syntax', 'rejected', 'threw', 'timeout', 'memory', 'size', 'type', 'crash'];

/** `list` names the list of the patches in the series; without it, a patch is named by its index alone. */
export function createPatchCounts(
  registry: Metrics | undefined,
  patches: readonly number[],
  list?: string,
): PatchCounts {
  const nameOf = (patch: number): string => (list === undefined ? String(patch) : `${list}[${patch}]`);
  const allPatches = list === undefined ? 'all' : `${list}[all]`;
  const series = registry && createSeries(registry, patches.map(nameOf), allPatches);
  const toldOf = (tally: Tally | undefined, patch: number): TallySum => tally?.of(nameOf(patch)) ?? { sum: 0 };
  const counts: (Count | undefined)[] = [];
  for (const patch of patches) {
    const total: Count['total'] = { patch, values: 0, changes: 0, failures: 0 };
    counts[patch] = { total, values: toldOf(series?.values, patch), changes: toldOf(series?.changes, patch) };
  }
  return {
    evaluated(patch, values) {
      const count = counts[patch];
      if (count === undefined) return;
      count.total.values += values;
      count.values.sum += values;
    },
    changed(patch, changes) {
      const count = counts[patch];
      if (count === undefined) return;
      count.total.changes += changes;
      count.changes.sum += changes;
    },
    failed(patch, kind, message) {
      const count = counts[patch];
      if (count !== undefined) {
        count.total.failures++;
        count.total.lastFailure = message;
      }
      series?.failures.inc({ patch: nameOf(patch), class: kind });
    },
    failedTogether: (kind) => series?.failures.inc({ patch: allPatches, class: kind }),
    restored: (keys) => series?.restored.inc(keys),
    totals: () => counts.flatMap((count) => count?.total ?? []),
  };
}

interface Count {
  total: ReturnType<PatchCounts['totals']>[0];
  values: TallySum;
  changes: TallySum;
}

/** `allPatches` takes the place of an index, for a failure of all patches together. */
function createSeries(registry: Metrics, patches: readonly string[], allPatches: string) {
  const find = <T extends string>(name: string, help: string, labelNames: T[]): Counter<T> =>
    // A reload makes a new patch set over the same registry; its counts go on.
    (registry.getSingleMetric(name) as Counter<T> | undefined) ??
    new Counter({ name, help, labelNames, registers: [registry] });
  const series = {
    values: openTally(registry, {
      name: 'hostward_patch_values_total',
      help: 'Values that a patch was applied to',
      label: 'patch',
    }),
    changes: openTally(registry, {
      name: 'hostward_patch_changes_total',
      help: 'Values that a patch changed',
      label: 'patch',
    }),
    failures: find('hostward_patch_failures_total', 'Failures of a patch by class', ['patch', 'class']),
    restored: find('hostward_patch_protected_keys_restored_total', 'Protected keys that a patch tried to change', []),
  };
  if (patches.length > 0) series.failures.inc({ patch: allPatches, class: 'type' }, 0);
  for (const patch of patches) {
    for (const kind of failureKinds) series.failures.inc({ patch, class: kind }, 0);
  }
  return series;
}
