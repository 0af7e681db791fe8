// The values that the files of the way back exchange: input, result, and the views in between. Types only.
import type { Matches } from '../../../expression/path/path.ts';
import type { Draft, Translation } from '../../plan/draft.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import type { BackflowFailures, BackValues, PatchFailure } from '../../plan/step.ts';
import type { MapName } from '../set/changed-parts.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import type { PatchView } from '../set/view.ts';

export interface BackInput {
  virtual: VirtualItem;
  host: HostItem;
  translation: Translation;
  /** Host values by virtual key, as the host has them; null for a key that the host removed. */
  raw: BackValues;
}

export interface Reversed {
  /** The new values of the virtual object, by virtual key, without the keys that failed. */
  values: BackValues;
  failures: BackflowFailures;
  /** The owner of each key once the tenant has these values; undefined when the owners do not change. */
  ownerOf?: Draft['ownerOf'] | undefined;
}

/** A key that the host has set to another value or removed. */
export interface ChangedKey {
  map: MapName;
  /** In virtual spelling. */
  key: string;
  hostKey: string;
  /** At first the host's value, then the result of each reverse expression; undefined or null removes the key. */
  value: unknown;
  /** Why the value cannot be reversed. After a failure no further patch runs for the key. */
  failure: PatchFailure | undefined;
  /** The host has removed it: no patch runs for it. */
  isRemoved?: boolean;
}

/** An object that a reverse expression sees, the changed keys in it, and their spelling there. */
export interface KeyView {
  object: PatchView;
  keys: readonly ChangedKey[];
  spellingOf(key: ChangedKey): string;
  /** The keys, of those given, that one match of a path is or contains. */
  keysAt(matches: Matches, at: number, among: readonly ChangedKey[]): ChangedKey[];
}

/** A patch to run back, the view that it sees, and its matches there. */
export interface BackwardRun {
  patch: CompiledPatch;
  view: KeyView;
  matches: Matches;
  /** The keys whose values its results may change. */
  keys: readonly ChangedKey[];
}
