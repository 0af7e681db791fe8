// Says what a check could not judge because of a fault, and which fault that is. In: a configuration with faults. Out: a sentence for
// each, so that nobody takes silence for praise.
import type { Fault } from '../../../config/fault.ts';
import { isOfPatches, type LoadedList } from '../../../config/load/load.ts';
import { patchListPath, slicePatchListPath } from '../../../daemon/load-patches.ts';
import type { CompiledPatch } from '../../../sync/patch/set/patch-set.ts';
import type { LoadedAll } from '../../line/load-settings.ts';

export function unjudgedNotes(loaded: LoadedAll): string[] {
  if (loaded.kind === 'ok') return [];
  const { faults, tentative, compiled } = loaded;
  const others = faults.filter((one) => !isOfPatches(one));
  if (tentative === undefined) {
    const because = placeOf(others[0] ?? faults[0]);
    return [`patches were not tried on samples, and settings not compared with one another, because of ${because}`];
  }
  const broken = [
    ...untried(loaded, compiled.set.patches, patchListPath.join('.')),
    ...untried(loaded.slices, compiled.slices.set.patches, slicePatchListPath.join('.')),
  ];
  const notes: string[] = [];
  if (broken.length > 0)
    notes.push(
      `${shortList(broken)} ${broken.length === 1 ? 'was' : 'were'} not tried on samples, because of the faults in ${broken.length === 1 ? 'it' : 'them'}`,
    );
  // A configuration of the management API alone has nothing to compare.
  if (others.length > 0 && tentative.virtualClusterName !== '')
    notes.push(`settings were not compared with one another, because of ${placeOf(others[0])}`);
  return notes;
}

/** Entries with faults of their own, which cannot run. */
function untried({ patches, mistaken }: LoadedList, compiled: readonly CompiledPatch[], list: string): string[] {
  const running = new Set(compiled.map(({ index }) => index));
  const indexes = [...patches, ...mistaken].map(({ index }) => index).filter((index) => !running.has(index));
  return indexes.toSorted((one, other) => one - other).map((index) => `${list}[${index}]`);
}

const shownEntries = 5;

function shortList(entries: readonly string[]): string {
  const more = entries.length - shownEntries;
  return `${entries.slice(0, shownEntries).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function placeOf(fault: Fault | undefined): string {
  const place = [fault?.file, fault?.line, fault?.column].filter((part) => part !== undefined).join(':');
  if (place !== '') return `the fault at ${place}`;
  return fault?.path ? `the fault of ${fault.path}` : 'the faults';
}
