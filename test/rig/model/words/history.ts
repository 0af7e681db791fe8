// What people did since the last calm point, object by object: every version that somebody but the daemon has seen.

import { annotationsOf, areSame, indexOf, labelsOf, objectKey, own, type TextMap } from './json.ts';
import type { CalmPoint, Deed, PlainObject, PlainSide } from './types.ts';

export type MapName = 'labels' | 'annotations';

/** One change of one key of one map by people. */
export interface KeyEvent {
  readonly atMs: number;
  readonly value: string | undefined;
  readonly deed: Deed;
}

const isEnded = (object: PlainObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0;

export class History {
  readonly point: CalmPoint;
  private readonly deeds = { virtual: new Map<string, Deed[]>(), host: new Map<string, Deed[]>() };
  private readonly lasts: { readonly [side in PlainSide]: Map<string, PlainObject> };
  private readonly starts: { readonly [side in PlainSide]: Map<string, PlainObject> };
  private readonly nows: { readonly [side in PlainSide]: Map<string, PlainObject> };

  constructor(point: CalmPoint) {
    this.point = point;
    this.starts = { virtual: indexOf(point.before, 'virtual'), host: indexOf(point.before, 'host') };
    this.nows = { virtual: indexOf(point.now, 'virtual'), host: indexOf(point.now, 'host') };
    this.lasts = { virtual: new Map(this.starts.virtual), host: new Map(this.starts.host) };
    for (const deed of point.deeds) {
      const object = deed.after ?? deed.before;
      if (object === undefined) continue;
      const key = objectKey(object);
      const list = this.deeds[deed.side].get(key) ?? [];
      list.push(deed);
      this.deeds[deed.side].set(key, list);
      if (deed.after === undefined || isEnded(deed.after)) this.lasts[deed.side].delete(key);
      else this.lasts[deed.side].set(key, deed.after);
    }
  }

  /** What was there when the last of the people had written, as far as people know: the daemon may have written since. */
  last(side: PlainSide, key: string): PlainObject | undefined {
    return this.lasts[side].get(key);
  }

  /** An object that the daemon has made, and that is its own no longer. */
  adopt(side: PlainSide, object: PlainObject): void {
    this.lasts[side].set(objectKey(object), object);
  }

  start(side: PlainSide, key: string): PlainObject | undefined {
    return this.starts[side].get(key);
  }

  now(side: PlainSide, key: string): PlainObject | undefined {
    return this.nows[side].get(key);
  }

  deedsOn(side: PlainSide, key: string): readonly Deed[] {
    return this.deeds[side].get(key) ?? [];
  }

  keysOf(side: PlainSide): readonly string[] {
    return [...new Set([...this.lasts[side].keys(), ...this.nows[side].keys(), ...this.starts[side].keys()])].sort();
  }

  /** Those of objects that came and went since the last calm point too. */
  everKeysOf(side: PlainSide): readonly string[] {
    return [...new Set([...this.keysOf(side), ...this.deeds[side].keys()])];
  }

  lastObjects(side: PlainSide): readonly PlainObject[] {
    return [...this.lasts[side].values()];
  }

  /** Every version of an object that was there since the last calm point and that people have seen, oldest first. */
  versions(side: PlainSide, key: string): readonly PlainObject[] {
    const found: PlainObject[] = [];
    const start = this.start(side, key);
    if (start !== undefined) found.push(start);
    for (const deed of this.deedsOn(side, key)) {
      if (deed.before !== undefined) found.push(deed.before);
      if (deed.after !== undefined) found.push(deed.after);
    }
    return found;
  }

  /** True when no deed of anybody has touched the object, and nothing of it was made or removed. */
  isUntouched(side: PlainSide, key: string): boolean {
    return this.deedsOn(side, key).length === 0;
  }

  keyEvents(side: PlainSide, key: string, map: MapName, mapKey: string): readonly KeyEvent[] {
    const events: KeyEvent[] = [];
    for (const deed of this.deedsOn(side, key)) {
      const value = own(mapOf(deed.after, map), mapKey);
      if (value !== own(mapOf(deed.before, map), mapKey)) events.push({ atMs: deed.atMs, value, deed });
    }
    return events;
  }

  /** True when both sides have the same configuration and nothing was loaded anew since the last calm point. */
  get isOneConfiguration(): boolean {
    const [first, ...others] = this.point.configurations;
    return others.every((other) => areSame(other.configuration, first.configuration));
  }
}

export const mapOf = (object: PlainObject | undefined, map: MapName): TextMap =>
  map === 'labels' ? labelsOf(object) : annotationsOf(object);
