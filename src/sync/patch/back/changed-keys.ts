// Holds the labels and annotations that changed on the host while reverse expressions run: the value of each so far, or why it
// failed. Builds the objects that reverse expressions see. Pure.
import { isRecord } from '../../../object/text/json.ts';
import { mapOfKeys } from '../../plan/keys/key-rules.ts';
import type { HostItem } from '../../plan/kind.ts';
import type { BackValues, PatchFailure } from '../../plan/step.ts';
import { leadsTo, type MapName, mapNames, mapsOnPath } from '../set/changed-parts.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { type PatchView, plainMap, viewOf } from '../set/view.ts';
import type { BackInput, ChangedKey, KeyView, Reversed } from './back-types.ts';

export interface ChangedKeys {
  readonly input: BackInput;
  /** Keys without a failure, removed ones too. */
  unfailed(): ChangedKey[];
  /** An object with just the changed keys that a path to single keys matches, in host spelling. */
  keyView(patch: CompiledPatch): KeyView | undefined;
  /**
   * The candidate, in virtual spelling, for a path to a whole map or the whole object: the virtual object overlaid with the
   * changes of the host. With `only`, the overlay holds just that one value. Undefined when nothing changed in the maps on the
   * path.
   */
  wholeView(patch: CompiledPatch, only?: ChangedKey): KeyView | undefined;
  result(): Reversed;
}

export function changedKeysOf(input: BackInput): ChangedKeys {
  const all = mapNames.flatMap((map) =>
    [...input.raw[map]].flatMap(([key, value]): ChangedKey[] => {
      const hostKey = input.translation[map].toHost(key) ?? key;
      return [{ map, key, hostKey, value, failure: undefined, ...(value === null && { isRemoved: true }) }];
    }),
  );
  const unfailed = (): ChangedKey[] => all.filter(({ failure }) => failure === undefined);
  const live = (): ChangedKey[] => unfailed().filter(({ isRemoved }) => !isRemoved);
  const liveOn = ({ path }: CompiledPatch): ChangedKey[] => {
    const maps = mapsOnPath(path);
    return live().filter(({ map }) => maps.includes(map));
  };
  return {
    input,
    unfailed,
    keyView(patch) {
      // Reading back a key of another patch would overwrite the other patch's result.
      const keys = liveOn(patch).filter(({ map, hostKey }) => leadsTo(patch.path, map, hostKey));
      return keys.length === 0 ? undefined : keyViewOf(keys);
    },
    wholeView(patch, only) {
      const keys = only === undefined ? liveOn(patch) : [only];
      return keys.length === 0 ? undefined : wholeViewOf(patch, keys, { input, shown: only ? keys : live() });
    },
    result: () => resultOf(all),
  };
}

function keyViewOf(keys: readonly ChangedKey[]): KeyView {
  const side = (map: MapName): Record<string, unknown> => {
    const shown = plainMap([]);
    for (const one of keys) if (one.map === map && isThere(one.value)) shown[one.hostKey] = one.value;
    return shown;
  };
  const object: PatchView = { metadata: { labels: side('labels'), annotations: side('annotations') } };
  return {
    object,
    keys,
    spellingOf: ({ hostKey }) => hostKey,
    keysAt({ parents, keys: found }, at, among) {
      const isExactly = (one: ChangedKey): boolean =>
        parents[at] === object.metadata[one.map] && String(found[at]) === one.hostKey;
      // An earlier patch may have made an object of a value, and the path may lead into it.
      const isInside = (one: ChangedKey): boolean => isRecord(object.metadata[one.map][one.hostKey]);
      const exact = among.filter(isExactly);
      return exact.length > 0 ? exact : among.filter(isInside);
    },
  };
}

function wholeViewOf(
  { path }: CompiledPatch,
  keys: readonly ChangedKey[],
  { input, shown }: { input: BackInput; shown: readonly ChangedKey[] },
): KeyView {
  const { virtual, translation, raw } = input;
  // A path to one map of the two must not find the one where nothing changed.
  const maps = path.segments.length < 2 ? mapNames : mapNames.filter((map) => keys.some((one) => one.map === map));
  const side = (map: MapName): Record<string, unknown> => {
    const values: Record<string, unknown> = plainMap(mapOfKeys(virtual[map]));
    for (const [key, value] of raw[map]) if (value === null) delete values[key];
    for (const { map: of, key, value } of shown) {
      if (of !== map) continue;
      if (isThere(value)) values[key] = value;
      else delete values[key];
    }
    return values;
  };
  // Only metadata flows back; only an expression for the whole object has to see it.
  const payload = path.segments.length === 0 ? translation.kind.payloadOf(virtual as unknown as HostItem) : {};
  const metadata = Object.fromEntries(maps.map((map) => [map, side(map)])) as PatchView['metadata'];
  const object: PatchView = { ...viewOf({ labels: [], annotations: [] }, payload), metadata };
  return {
    object,
    keys,
    spellingOf: ({ key }) => key,
    keysAt({ parents, keys: found }, at, among) {
      return parents[at] === metadata ? among.filter(({ map }) => map === found[at]) : [...among];
    },
  };
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function resultOf(all: readonly ChangedKey[]): Reversed {
  const values: BackValues = { labels: new Map(), annotations: new Map() };
  const failures = { labels: new Map<string, PatchFailure>(), annotations: new Map<string, PatchFailure>() };
  for (const { map, key, value, failure } of all) {
    if (failure !== undefined) failures[map].set(key, failure);
    else values[map].set(key, isThere(value) ? (value as string) : null);
  }
  return { values, failures };
}
