// Whose the keys would be that the host has changed, if the tenant took them as they are. What a patch of a whole map makes
// something else of is the virtual side's, also where its expression has not met the key yet. In: the values that are about to
// flow back, the forward patches. Out: the owners, or none where all is as before. Writes nothing.
import { type Draft, draftHost } from '../draft.ts';
import { entriesOf } from '../keys.ts';
import type { VirtualItem } from '../kind.ts';
import type { MapName } from './dirty.ts';
import type { ForwardInput } from './pass.ts';
import type { CompiledPatch } from './patch-set.ts';
import type { BackInput } from './reverse.ts';

/** Which keys it changes only its expression knows, and with a reverse expression none would be lost. */
export function mayOwnAnyKey({ forward, back, path, parts }: CompiledPatch): boolean {
  const isOfMap = parts.some((part) => part !== 'payload');
  return forward !== undefined && back === undefined && isOfMap && path.segments.length < 3;
}

export async function ownersIfTaken(
  { virtual, host, translation, raw }: BackInput,
  /** The patched draft; undefined where a patch fails. */
  forward: (input: ForwardInput) => Promise<Draft | undefined>,
): Promise<Draft['ownerOf'] | undefined> {
  const taken = (map: MapName): VirtualItem[MapName] => {
    const values = new Map(entriesOf(virtual[map]));
    for (const [key, value] of raw[map]) if (value !== null) values.set(key, value);
    return Object.fromEntries(values);
  };
  const candidate = { ...virtual, labels: taken('labels'), annotations: taken('annotations') };
  const draft = draftHost(candidate, { namespace: host.namespace, name: host.name }, translation);
  return (await forward({ virtual: candidate, host, draft, translation, isTrial: true }))?.ownerOf;
}
