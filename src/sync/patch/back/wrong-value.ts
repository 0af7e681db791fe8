// Checks the result of reverse expressions for a key. The virtual API server would refuse a wrong value too, but its message
// could not name the patch. Pure.
import { labelValueProblems, withoutPattern } from '../../../object/meta/qualified-name.ts';
import { shownKey, shownPlace } from '../../plan/excerpt.ts';
import type { VirtualItem } from '../../plan/kind.ts';
import type { PatchFailure } from '../../plan/step.ts';
import { isOfWholeMap, leadsTo } from '../set/changed-parts.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import type { ChangedKey } from './back-types.ts';

export function faultOfValue(one: ChangedKey, patches: readonly CompiledPatch[]): PatchFailure | undefined {
  const { map, value } = one;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return wrongValue(one, patches);
  const [problem] = map === 'labels' ? labelValueProblems(value).map(withoutPattern) : [];
  return problem === undefined ? undefined : wrongValue(one, patches, problem);
}

/**
 * An expression of a whole map that gives nothing for a key which the virtual object lacks too, because it gives the key another
 * name. The change has no place on the virtual side, and the key may belong to the host's people, so it stays on the host.
 */
export function faultOfLostKey(
  { map, key, hostKey, value }: Pick<ChangedKey, 'map' | 'key' | 'hostKey' | 'value'>,
  virtual: VirtualItem,
  patches: readonly CompiledPatch[],
): PatchFailure | undefined {
  if ((value !== undefined && value !== null) || Object.hasOwn(virtual[map] ?? {}, key)) return undefined;
  const leading = patches.filter(({ path }) => leadsTo(path, map, hostKey));
  // Without an expression forward the host owns the keys, and may have more of them.
  const isPair = leading.some(({ forward }) => forward !== undefined);
  const patch = leading.find(({ back }) => back !== undefined);
  if (patch === undefined || !isPair || !leading.every(({ path }) => isOfWholeMap(path))) return undefined;
  const shown = `metadata.${map}["${shownKey(key)}"]`;
  const message = `the virtual object has no ${shown}, and the reverse expression of patch ${patch.index} gives none`;
  const at = shownPlace(['metadata', map, hostKey].join('.'));
  return { at, class: 'type', message, patch: patch.index, path: patch.entry.path };
}

/** Names the patch if only one patch has a path to the key. */
export function wrongValue(
  { map, key, hostKey }: ChangedKey,
  patches: readonly CompiledPatch[],
  problem?: string,
): PatchFailure {
  const place = ['metadata', map, hostKey];
  const [patch, ...others] = patches.filter(({ path }) => leadsTo(path, map, hostKey));
  const shown = `metadata.${map}["${shownKey(key)}"]`;
  const wanted = problem === undefined ? `a string for ${shown}` : `a good value for ${shown}: ${problem}`;
  const message = `reverse expressions must give ${wanted}`;
  const failure = { at: shownPlace(place.join('.')), class: 'type', message };
  return patch === undefined || others.length > 0
    ? failure
    : { ...failure, patch: patch.index, path: patch.entry.path };
}
