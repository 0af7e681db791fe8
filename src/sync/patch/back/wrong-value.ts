// Checks the result of reverse expressions for a key. The virtual API server would refuse a wrong value too, but its message
// could not name the patch. Pure.
import { labelValueProblems, withoutPattern } from '../../../object/meta/qualified-name.ts';
import { shownKey, shownPlace } from '../../plan/excerpt.ts';
import type { PatchFailure } from '../../plan/step.ts';
import { leadsTo } from '../set/changed-parts.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import type { ChangedKey } from './back-types.ts';

export function faultOfValue(one: ChangedKey, patches: readonly CompiledPatch[]): PatchFailure | undefined {
  const { map, value } = one;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return wrongValue(one, patches);
  const [problem] = map === 'labels' ? labelValueProblems(value).map(withoutPattern) : [];
  return problem === undefined ? undefined : wrongValue(one, patches, problem);
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
