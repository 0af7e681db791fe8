// What the files of the way back hand to each other. Types only.
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
  /** Host values by virtual key, as they stand on the host; null for a key that the host removed. */
  raw: BackValues;
}

export interface Reversed {
  /** What the virtual object is to hold, by virtual key; a key with a failure is not among them. */
  values: BackValues;
  failures: BackflowFailures;
  /** Who owns each key once the tenant has taken these values; undefined where nothing changes about that. */
  ownerOf?: Draft['ownerOf'] | undefined;
}

/** A key that the host has set to another value. */
export interface ChangedKey {
  map: MapName;
  /** In virtual spelling. */
  key: string;
  hostKey: string;
  /** Begins as the host's value; undefined or null once a reverse expression takes the key away. */
  value: unknown;
  /** Why the value cannot be reversed: no further patch runs for the key. */
  failure: PatchFailure | undefined;
}

/** An object that holds changed keys, and how it spells them. */
export interface KeyView {
  object: PatchView;
  keys: readonly ChangedKey[];
  spellingOf(key: ChangedKey): string;
  /** The keys that one match of a path stands for, or leads to. */
  keysAt(matches: Matches, at: number, among: readonly ChangedKey[]): ChangedKey[];
}

/** A patch, the places that it matches, and the view that these places are in. */
export interface Asked {
  patch: CompiledPatch;
  view: KeyView;
  matches: Matches;
  /** The keys that its results count for. */
  keys: readonly ChangedKey[];
}
