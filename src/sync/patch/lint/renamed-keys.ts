// Tries whether a pair on a whole map gives keys other names. In: a patch set and an evaluator. Out: for each such pair a key that it
// renames. The host's value of a renamed key never comes back, because only results for the keys that changed on the host count.
import { isRecord } from '../../../object/text/json.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { examplesOf, isOfMetadata, mayBe, type Pair, valuesOf } from './round-trip.ts';
import { runOnSamples, sampleObjectOf, type Trial } from './sample-run.ts';

export interface RenamedKey {
  back: CompiledPatch;
  map: 'labels' | 'annotations';
  key: string;
  onHost: string;
}

export function findRenamedKeys(patches: readonly CompiledPatch[], trial: Trial): Promise<RenamedKey[]> {
  return examplesOf(patches, trial, (pair) => renamedKey(pair, trial));
}

const maps = ['labels', 'annotations'] as const;

/** Two keys, so that a name which is made for one special key is no renaming of all. */
const sample = { app: 'web', 'example.com/note': 'sample' };

async function renamedKey({ forward, back }: Pair, trial: Trial): Promise<RenamedKey | undefined> {
  const { canonical: path, segments } = forward.path;
  const isOfObject = segments.length === 0;
  const isOfMap = segments.length === 2 && isOfMetadata(forward);
  if (!isOfObject && !isOfMap) return undefined;
  const values = isOfObject ? [objectWith(trial)] : [sample];
  const [made] = valuesOf(await runOnSamples(trial, forward.forward, { values, path }));
  for (const map of maps) {
    if (isOfMap && !mayBe(segments[1], map)) continue;
    const kept = isOfObject ? memberOf(memberOf(made, 'metadata'), map) : made;
    const keys = Object.keys(isRecord(kept) ? kept : {});
    const left = Object.keys(sample).find((key) => !keys.includes(key));
    const value = left === undefined ? undefined : sample[left as keyof typeof sample];
    const onHost = keys.find((key) => !(key in sample) && memberOf(kept, key) === value);
    if (left !== undefined && onHost !== undefined) return { back, map, key: left, onHost };
  }
  return undefined;
}

function objectWith({ kind }: Trial): unknown {
  const object = sampleObjectOf(kind);
  return { ...object, metadata: { name: 'sample', namespace: 'default', labels: sample, annotations: sample } };
}

function memberOf(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}
