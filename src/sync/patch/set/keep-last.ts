// onError: keepLast. Remembers which parts of a draft a failed patch leaves as they are on the host: single labels and
// annotations, or the whole payload for any path below it. Pure.
import type { Draft } from '../../plan/draft.ts';
import { mapOfKeys } from '../../plan/keys/key-rules.ts';
import type { HostItem, SyncedKind } from '../../plan/kind.ts';
import { isOfWholeMap, type MapName, type Part } from './changed-parts.ts';
import { type Failed, isPartial } from './failure.ts';
import { isProtectedAnnotation, isProtectedLabel } from './protected.ts';

type Parts = Pick<Draft, Part>;

export class Kept {
  readonly #keys = { labels: new Set<string>(), annotations: new Set<string>() };
  readonly #whole = new Set<MapName>();
  keepsPayload = false;

  add(failed: Failed): void {
    const { patch, matches, errors } = failed;
    const keys = isPartial(failed) ? errors.map(({ at }) => matches.keys[at]) : matches.keys;
    const isOfWhole = isOfWholeMap(patch.path);
    for (const part of patch.parts) {
      if (part === 'payload') this.keepsPayload = true;
      else if (isOfWhole) this.#whole.add(part);
      else for (const matched of keys) this.#keys[part].add(String(matched));
    }
  }

  /** The patched draft, with the host's own values wherever a failed patch leaves them. */
  overlay(patched: Parts, host: HostItem | undefined, kind: SyncedKind): Parts {
    return {
      labels: this.#overlay('labels', patched.labels, { host, kind }),
      annotations: this.#overlay('annotations', patched.annotations, { host, kind }),
      payload: this.keepsPayload && host ? kind.payloadOf(host) : patched.payload,
    };
  }

  #overlay(
    name: MapName,
    patched: Parts[MapName],
    { host, kind }: { host: HostItem | undefined; kind: SyncedKind },
  ): Parts[MapName] {
    const kept = this.#keys[name];
    const isWhole = this.#whole.has(name);
    if (!isWhole && kept.size === 0) return patched;
    const isProtected = name === 'labels' ? (key: string) => isProtectedLabel(key, kind) : isProtectedAnnotation;
    const found = mapOfKeys(host?.[name]);
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
