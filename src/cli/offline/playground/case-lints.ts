// What the playground says of the patches as a whole: a text that is something else, and whether each pair of expressions restores what
// it changed. In: the loaded configuration, and what its expressions did on samples and on the object in sight. Out: marks and rows. Pure.
import type { Fault } from '../../../config/fault.ts';
import { patchListPath, slicePatchListPath } from '../../../daemon/options/load-patches.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Mark, RoundTrip } from '../../../pages/playground-api.ts';
import type { LoadedAll } from '../../line/load-settings.ts';
import { parseDocuments } from '../yaml-text.ts';

/** A text of something else is no mistake for a loader, which reads only the settings that it knows. */
export function strangerIn({ kind, compiled }: LoadedAll, text: string): Mark | undefined {
  if (kind !== 'ok' || compiled.set.patches.length + compiled.slices.set.patches.length > 0) return undefined;
  const { documents } = parseDocuments(text) as { documents?: readonly unknown[] };
  const keys = (documents ?? []).flatMap((one) => (isRecord(one) ? Object.entries(one) : []));
  if (keys.length === 0) return undefined;
  const isConfiguration = keys.some(([key]) => ['sync', 'hostward', 'global'].includes(key));
  const [, ofKind] = keys.find(([key]) => key === 'kind') ?? [];
  const found =
    typeof ofKind === 'string'
      ? `this is YAML of the kind "${ofKind.slice(0, 100)}"`
      : 'there is no patch in this text';
  const wanted = `a list of patches, or a vcluster.yaml with patches under ${patchListPath.join('.')} or ${slicePatchListPath.join('.')}`;
  const at = { text: 'config', code: 'NO_PATCHES', line: 1, column: 1 } as const;
  return { ...at, severity: isConfiguration ? 'warning' : 'fault', message: `${found}; wanted ${wanted}` };
}

/** A patch with one of these writes no object, whatever its samples did. */
const failingLints: ReadonlySet<string> = new Set([
  ...['PATCH_ALWAYS_FAILS', 'PATCH_ENDLESS', 'PATCH_INVALID_RESULT', 'PATCH_REFUSED_ADDRESS'],
]);

interface Trials {
  tried: readonly Fault[];
  /** Those of which a sample went to the host and back, as `LIST[INDEX]`. */
  bothWays: ReadonlySet<string>;
  /** Those that failed on the object in sight. */
  failing: ReadonlySet<string>;
}

export function roundTripsOf({ compiled }: LoadedAll, { tried, bothWays, failing }: Trials): RoundTrip[] {
  if (tried.some(({ code }) => code === 'PATCH_NOT_TRIED')) return [];
  return [
    { list: patchListPath.join('.'), set: compiled.set },
    { list: slicePatchListPath.join('.'), set: compiled.slices.set },
  ].flatMap(({ list, set }) =>
    set.patches
      .filter(({ forward, back }) => forward !== undefined && back !== undefined)
      .map(({ index, entry }) => {
        const name = `${list}[${index}]`;
        const own = tried.filter(({ path }) => path.startsWith(name));
        const sentenceOf = (lint: string) => own.find(({ code }) => code === lint)?.sentence;
        const isFailing = failing.has(name) || own.some(({ code }) => failingLints.has(code));
        const problem =
          sentenceOf('PATCH_ROUND_TRIP') ??
          (isFailing ? 'Round trip: not known, because the patch fails.' : undefined) ??
          // What comes back cut.
          sentenceOf('PATCH_REVERSE_CUTS') ??
          (bothWays.has(name) ? undefined : 'Round trip: not known, because no sample gets to the host and back.');
        return { list, patch: index, path: entry.path, problem };
      }),
  );
}
