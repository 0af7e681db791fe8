// Runs reference patches back: a host name that the host has changed becomes the virtual name. A name that has none fails the
// keys that hold it, and no others.
import type { CompiledPath, JsonMap } from '../../../expression/path/path.ts';
import { mapOfKeys } from '../../plan/keys/key-rules.ts';
import type { PatcherOptions } from '../entry/pass.ts';
import { type Cell, mapOfCell, referencesBack } from '../entry/reference-patch.ts';
import { withPlaces } from '../entry/runs.ts';
import { failureOf } from '../set/failure.ts';
import type { CompiledReference } from '../set/patch-set.ts';
import type { BackInput, BackwardRun, ChangedKey } from './back-types.ts';
import { readBack } from './write-back.ts';

export function referBack(asked: BackwardRun, input: BackInput, options: PatcherOptions): void {
  const { patch, matches, view, keys } = asked;
  const { translation, host, virtual } = input;
  const reference = patch.reference as CompiledReference;
  const keyAt = (cell: Cell): ChangedKey | undefined => {
    const map = mapOfCell(cell, view.object.metadata);
    return keys.find((one) => one.map === map && view.spellingOf(one) === String(cell.key));
  };
  const { changes, lost } = referencesBack(reference, matches, {
    virtual,
    host,
    placement: translation.placement,
    resolver: options.references,
    hostText: (cell) => {
      const map = mapOfCell(cell, view.object.metadata);
      if (map === undefined) return undefined;
      if (keyAt(cell) !== undefined) return { text: cell.text, isChanged: true };
      const spelled = String(cell.key);
      const hostKey = translation[map].toHost(spelled) ?? spelled;
      return { text: mapOfKeys(host[map]).get(hostKey) ?? cell.text, isChanged: false };
    },
  });
  for (const { at, message, cells, isEarly = false } of lost) {
    const read = cells?.flatMap((cell) => keyAt(cell) ?? []) ?? keysRead(reference, asked, at);
    // The wrong name was written by the tenant, so it is no failure of the way back.
    if (read.length === 0) continue;
    const error = { kind: 'type' as const, message, ...(isEarly && { retryAfterMs: earlyRetryMs }) };
    const failed = withPlaces({ patch, matches, errors: [{ at, error }] }, view.object);
    const failure = failureOf(failed, options.sourceOf(patch.index, 'path'));
    options.counts.failed(patch.index, 'type', failure.message);
    for (const key of read) key.failure ??= failure;
  }
  options.counts.changed(patch.index, changes);
  readBack(asked);
}

/** After a start the objects that a name can belong to get their passes within seconds, unless the sync of a kind waits for its rights. */
const earlyRetryMs = 10_000;

/** The changed keys that one match of a reference reads. */
function keysRead(reference: CompiledReference, { view, matches, keys }: BackwardRun, at: number): ChangedKey[] {
  const paths = [reference.namePath, reference.namespacePath, reference.kindPath, reference.apiVersionPath];
  const below = paths.filter((path): path is CompiledPath => path !== undefined);
  if (reference.namePath === undefined) return view.keysAt(matches, at, keys);
  const root = matches.values[at] as JsonMap;
  const read = new Set(below.flatMap((path) => path.match(root).keys.map(String)));
  return view.keysAt(matches, at, keys).filter((one) => read.has(view.spellingOf(one)));
}
