// Runs reference patches back: a host name that the host has changed becomes the virtual name. A name without a virtual name
// fails the keys that the reference reads, and no others.
import type { CompiledPath, JsonMap } from '../../../expression/path/path.ts';
import { entriesOf } from '../../plan/keys.ts';
import type { PatcherOptions } from '../entry/pass.ts';
import { mapOfCell, referencesBack } from '../entry/reference-patch.ts';
import { withPlaces } from '../entry/runs.ts';
import { failureOf } from '../set/failure.ts';
import type { CompiledReference } from '../set/patch-set.ts';
import type { Asked, BackInput, ChangedKey } from './back-types.ts';
import { readBack } from './write-back.ts';

export function referBack(asked: Asked, input: BackInput, options: PatcherOptions): void {
  const { patch, matches, view, keys } = asked;
  const { translation, host, virtual } = input;
  const reference = patch.reference as CompiledReference;
  const written = referencesBack(reference, matches, {
    virtual,
    host,
    placement: translation.placement,
    resolver: options.references,
    hostText: (cell) => {
      const map = mapOfCell(cell, view.object.metadata);
      if (map === undefined) return undefined;
      const spelled = String(cell.key);
      if (keys.some((one) => one.map === map && view.spellingOf(one) === spelled))
        return { text: cell.text, isChanged: true };
      const hostKey = translation[map].toHost(spelled) ?? spelled;
      return { text: entriesOf(host[map]).get(hostKey) ?? cell.text, isChanged: false };
    },
  });
  if (written.kind === 'ok') {
    options.counts.changed(patch.index, written.changes);
    readBack(asked);
    return;
  }
  const { at, message } = written;
  const read = keysRead(reference, asked, at);
  // The wrong name was written by the tenant, so it is no failure of the way back.
  if (read.length === 0) return;
  options.counts.failed(patch.index, 'type');
  const errors = [{ at, error: { kind: 'type' as const, message } }];
  const failed = withPlaces({ patch, matches, errors }, view.object);
  const failure = failureOf(failed, options.sourceOf(patch.index, 'path'));
  for (const key of read) key.failure = failure;
}

/** The changed keys that one match of a reference reads. */
function keysRead(reference: CompiledReference, { view, matches, keys }: Asked, at: number): ChangedKey[] {
  const paths = [reference.namePath, reference.namespacePath, reference.kindPath, reference.apiVersionPath];
  const below = paths.filter((path): path is CompiledPath => path !== undefined);
  if (reference.namePath === undefined) return view.keysAt(matches, at, keys);
  const root = matches.values[at] as JsonMap;
  const read = new Set(below.flatMap((path) => path.match(root).keys.map(String)));
  return view.keysAt(matches, at, keys).filter((one) => read.has(view.spellingOf(one)));
}
