// Imports that were made and lost their host object since the last calm point: they stay, since an import never goes because the host object is missing
// (DESIGN 4.12), and their mark counts no longer, so they are the tenant's.

import type { History } from './words/history.ts';
import { annotationsOf, canonical, type JsonMap, labelsOf, own } from './words/json.ts';
import { IMPORTABLE, IMPORTED_FROM } from './words/marks.ts';
import type { PlainObject } from './words/types.ts';

export const payloadOf = (object: object): string => {
  const { apiVersion: _a, kind: _k, metadata: _m, ...payload } = object as JsonMap;
  return canonical(payload);
};

/** `importableKey`: the host object that an import of a virtual key is a copy of. */
export function adoptLeftImports(history: History, importableKey: (key: string) => string): void {
  for (const key of history.keysOf('virtual')) {
    const now = history.now('virtual', key);
    if (now === undefined || history.last('virtual', key) !== undefined) continue;
    if (isLeft(now, history, importableKey(key))) history.adopt('virtual', now);
  }
}

function isLeft(now: PlainObject, history: History, hostKey: string): boolean {
  const mark = own(annotationsOf(now), IMPORTED_FROM);
  if (mark === undefined || history.last('host', hostKey)?.metadata.uid === mark) return false;
  return history
    .versions('host', hostKey)
    .some(
      (host) =>
        host.metadata.uid === mark && own(labelsOf(host), IMPORTABLE) === 'true' && payloadOf(host) === payloadOf(now),
    );
}
