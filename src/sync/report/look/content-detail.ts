// What is behind a name as a Secret or a ConfigMap, without a single value: keys, sizes and digests. In: a running sync of
// content and a key. Out: plain data. Values stay where they are.
import { createHmac } from 'node:crypto';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { type Content, digestOf } from '../../kinds/content/content-kind.ts';
import type { ContentSync } from '../../loop/content/content-sync.ts';

export interface ContentDetail {
  kind: string;
  object: Key;
  state: string;
  message?: string;
  virtual?: { resourceVersion: string; digest: string };
  host?: { object: Key; resourceVersion: string; digest: string; keys: { key: string; bytes: number }[] };
}

/** `salt` is a secret of this process: a digest tells whether both sides are equal, and no short value can be guessed by it. */
export function contentDetail(
  { world, ledger }: ContentSync,
  object: Key,
  salt: Uint8Array,
): ContentDetail | undefined {
  const salted = (digest: string): string => createHmac('sha256', salt).update(digest).digest('hex').slice(0, 16);
  const virtual = world.windows.virtual.get(object);
  const place = world.copyPlaceOf(object);
  const copy = place && world.windows.copies.get(keyOf(place.namespace, place.name));
  if (virtual === undefined && copy === undefined) return undefined;
  const outcome = ledger.entry(object)?.outcome;
  return {
    kind: world.kind.kind,
    object,
    state: outcome === undefined ? 'not referenced' : outcome.kind === 'settled' ? outcome.as : outcome.kind,
    ...(outcome !== undefined && 'message' in outcome && { message: outcome.message }),
    ...(virtual && { virtual: { resourceVersion: virtual.resourceVersion, digest: salted(virtual.digest) } }),
    ...(copy && {
      host: {
        object: keyOf(copy.namespace, copy.name),
        resourceVersion: copy.resourceVersion,
        digest: salted(digestOf(copy.content)),
        keys: keysOf(copy.content),
      },
    }),
  };
}

/** Sizes of the values, which are base64 in a Secret. */
function keysOf({ type, data = {}, binaryData = {} }: Content): { key: string; bytes: number }[] {
  const bytesOf = (value: string, isBase64: boolean) => Buffer.byteLength(value, isBase64 ? 'base64' : 'utf8');
  return [
    ...Object.entries(data).map(([key, value]) => ({ key, bytes: bytesOf(value, type !== undefined) })),
    ...Object.entries(binaryData).map(([key, value]) => ({ key, bytes: bytesOf(value, true) })),
  ];
}
