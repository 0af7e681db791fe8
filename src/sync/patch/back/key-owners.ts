// Whose a key is where a patch leads to a whole map: what it changes is the virtual side's or shared, which only its results
// tell; and so it is of what the host has changed, as the patch would have it if the tenant took it. In: a pass before and
// after such a patch, or values that are about to flow back. Out: owners. Writes nothing to the object.
import { type Draft, draftHost } from '../../plan/draft.ts';
import { entriesOf } from '../../plan/keys.ts';
import type { VirtualItem } from '../../plan/kind.ts';
import type { KeyOwner } from '../../plan/merge-keys.ts';
import type { ForwardInput, Pass } from '../entry/pass.ts';
import { isOfWholeMap, type MapName } from '../set/changed-parts.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { changedKeys, type PatchView } from '../set/view.ts';
import type { BackInput } from './reverse.ts';

interface Maps {
  labels: Map<string, string>;
  annotations: Map<string, string>;
}

export function mapsOf({ metadata }: PatchView): Maps {
  const textsOf = (map: unknown): Map<string, string> => new Map(Object.entries((map ?? {}) as Record<string, string>));
  return { labels: textsOf(metadata?.labels), annotations: textsOf(metadata?.annotations) };
}

export function noteWholeOwners(patch: CompiledPatch, before: Maps, pass: Pass): void {
  const after = mapsOf(pass.view);
  const owner: KeyOwner = patch.back === undefined ? 'virtual' : 'shared';
  pass.wholeOwners ??= { labels: new Map(), annotations: new Map() };
  for (const map of ['labels', 'annotations'] as const) {
    for (const key of changedKeys(before[map], after[map])) pass.wholeOwners[map].set(key, owner);
  }
}

/** Which keys it changes only its expression knows, and with a reverse expression none would be lost. */
export function mayOwnAnyKey({ forward, back, path, parts }: CompiledPatch): boolean {
  const isOfMap = parts.some((part) => part !== 'payload');
  return forward !== undefined && back === undefined && isOfMap && isOfWholeMap(path);
}

export async function ownersIfTaken(
  { virtual, host, translation, raw }: BackInput,
  /** The patched draft; undefined where a patch fails. */
  forward: (input: ForwardInput) => Promise<Draft | undefined>,
): Promise<Draft['ownerOf'] | undefined> {
  const taken = (map: MapName): VirtualItem[MapName] => {
    const values = new Map(entriesOf(virtual[map]));
    // What the host removed stays, or its patch would have nothing to own.
    for (const [key, value] of raw[map]) if (value !== null) values.set(key, value);
    return Object.fromEntries(values);
  };
  const candidate = { ...virtual, labels: taken('labels'), annotations: taken('annotations') };
  const draft = draftHost(candidate, { namespace: host.namespace, name: host.name }, translation);
  return (await forward({ virtual: candidate, host, draft, translation, isTrial: true }))?.ownerOf;
}
