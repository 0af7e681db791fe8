// Writes the results of a reverse expression into its view, and takes from the view the keys that the host changed, no others.
import type { GroupResult } from '../../../expression/evaluate/request.ts';
import { writeResults } from '../../../expression/path/write-results.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { PatchFailure } from '../../plan/step.ts';
import type { MapName } from '../set/changed-parts.ts';
import type { BackwardRun } from './back-types.ts';
import { wrongValue } from './wrong-value.ts';

/** Returns how many values changed. */
export function writeBack(asked: BackwardRun, { results }: Pick<GroupResult, 'results'>): number {
  const { patch, matches } = asked;
  const written = writeResults(matches, results);
  const { index, entry } = patch;
  const fault: PatchFailure | undefined =
    written.kind === 'fault'
      ? {
          patch: index,
          path: entry.path,
          at: entry.path,
          class: 'type',
          message: `patch ${index} failed: ${written.message}`,
        }
      : undefined;
  readBack(asked, fault);
  return written.kind === 'written' ? written.changes : 0;
}

/** Takes the values of the keys from the view, or records why they failed. */
export function readBack({ patch, view, keys }: BackwardRun, fault?: PatchFailure): void {
  for (const one of keys) {
    if (one.failure !== undefined) continue;
    const made = madeOf(view.object, one.map);
    const spelled = view.spellingOf(one);
    if (fault !== undefined) one.failure = fault;
    else if (made === undefined) one.failure = wrongValue(one, [patch]);
    else one.value = Object.hasOwn(made, spelled) ? made[spelled] : undefined;
  }
}

/** The labels or annotations after the expression; a missing map counts as empty, and any other value gives undefined. */
function madeOf({ metadata }: { metadata?: unknown }, map: MapName): Record<string, unknown> | undefined {
  const made = isRecord(metadata) ? metadata[map] : metadata;
  if (made === undefined || made === null) return {};
  return isRecord(made) ? made : undefined;
}
