// onError: keepLast. Remembers which parts of a draft a failed patch leaves as they are on the host: single labels and
// annotations, or the whole payload for any path below it. Pure.
import type { Matches } from '../../expression/path.ts';
import { entriesOf } from '../keys.ts';
import type { HostItem } from '../kind.ts';
import type { CompiledPatch } from './patch-set.ts';
import { isProtectedAnnotation, isProtectedLabel } from './protected.ts';

type MapName = 'labels' | 'annotations';

export class Kept {
  readonly #keys = { labels: new Set<string>(), annotations: new Set<string>() };
  readonly #whole = new Set<MapName>();
  keepsPayload = false;

  add(patch: CompiledPatch, matches: Matches): void {
    const [root, map, key] = patch.path.segments;
    if (root?.kind === 'key' && root.key !== 'metadata') {
      this.keepsPayload = true;
      return;
    }
    if (root?.kind !== 'key') this.keepsPayload = true;
    const maps: MapName[] = map?.kind === 'key' ? [map.key as MapName] : ['labels', 'annotations'];
    for (const name of maps) {
      if (key === undefined) this.#whole.add(name);
      else for (const matched of matches.keys) this.#keys[name].add(String(matched));
    }
  }

  /** The patched map with the host's values where they are to stay. */
  overlay(name: MapName, patched: Map<string, string>, host: HostItem | undefined): Map<string, string> {
    const kept = this.#keys[name];
    const isWhole = this.#whole.has(name);
    if (!isWhole && kept.size === 0) return patched;
    const isProtected = name === 'labels' ? isProtectedLabel : isProtectedAnnotation;
    const found = entriesOf(host?.[name]);
    const result = new Map(isWhole ? [] : patched);
    for (const key of isWhole ? found.keys() : kept) {
      if (isProtected(key)) continue;
      const value = found.get(key);
      if (value === undefined) result.delete(key);
      else result.set(key, value);
    }
    return result;
  }
}
