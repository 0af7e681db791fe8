// Digests of patches: of a whole set, and of the patches that can touch one label or annotation. They change with everything
// that results depend on except the objects: entries, their order, and the configuration values that expressions read. Pure.
import { createHash } from 'node:crypto';
import { emptyUse, mergeUse, project, useOf } from '../../../expression/language/context-use.ts';
import { patchDigestLength } from '../../plan/keys/base.ts';
import { leadsTo, type MapName } from './changed-parts.ts';
import type { CompiledPatch, PatchSet } from './patch-set.ts';

export interface PatchDigests {
  /** '' without patches. */
  ofSet: string;
  /** The digest of the patches that have a path to the key, in host spelling; '' without such patches. */
  ofKey(map: MapName, hostKey: string): string;
}

export function digestsOf({ patches }: PatchSet, vcluster: unknown): PatchDigests {
  const each = patches.map((patch) => digestOf(patch, vcluster));
  const ofPlace = (map: MapName, key: string): string =>
    joined(each.filter((_, at) => leadsTo((patches[at] as CompiledPatch).path, map, key)));
  const byKey = { labels: new Map<string, string>(), annotations: new Map<string, string>() };
  for (const { path } of patches) {
    const [, map, key] = path.segments;
    if (key?.kind !== 'key' || map === undefined) continue;
    for (const name of ['labels', 'annotations'] as const)
      if (map.kind === 'every' || map.key === name) byKey[name].set(key.key, '');
  }
  for (const map of ['labels', 'annotations'] as const)
    for (const key of byKey[map].keys()) byKey[map].set(key, ofPlace(map, key));
  // No path names another key, so the same patches lead to all of them.
  const rest = { labels: ofPlace('labels', ''), annotations: ofPlace('annotations', '') };
  return { ofSet: joined(each), ofKey: (map, key) => byKey[map].get(key) ?? rest[map] };
}

function digestOf({ entry, forward, back }: CompiledPatch, vcluster: unknown): string {
  const use = emptyUse();
  for (const one of [forward, back]) if (one !== undefined) mergeUse(use, useOf(one.context, 'vcluster') ?? emptyUse());
  return shortHash([
    entry.path,
    entry.expression ?? null,
    entry.reverseExpression ?? null,
    entry.reference ?? null,
    entry.labels ?? null,
    entry.onMissing,
    entry.onError,
    use.isWhole || use.keys.size > 0 ? project(vcluster, use) : null,
  ]);
}

function joined(digests: readonly string[]): string {
  return digests.length === 0 ? '' : shortHash(digests);
}

function shortHash(said: unknown): string {
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url').slice(0, patchDigestLength);
}
