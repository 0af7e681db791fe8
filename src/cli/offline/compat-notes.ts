// `check --compat`: lists where Hostward runs a configuration differently from vCluster's own patch engine, with positions.
import { formatFault, type Position, warning } from '../../config/fault.ts';
import { patchListPath, pathOf, slicePatchListPath } from '../../daemon/load-patches.ts';
import { rulesOf } from '../../daemon/rules-of.ts';
import { type CompatNote, compatNotes, type NameContext } from '../../sync/patch/lint/compat.ts';
import type { LoadedAll } from '../line/load-settings.ts';

export interface PositionedNote extends Partial<Position> {
  path: string;
  rule: string;
  hostward: string;
  vcluster: string;
}

export function positionedNotes(loaded: LoadedAll): PositionedNote[] {
  const { compiled, positions } = loaded;
  const lists = [
    { path: patchListPath, patches: compiled.set.patches },
    { path: slicePatchListPath, patches: compiled.slices.set.patches },
  ];
  return lists.flatMap(({ path, patches }) =>
    compatNotes(patches, namesOf(loaded)).map(({ index, field, ...note }: CompatNote) => ({
      ...positions.positionOf([...path, index, field]),
      path: pathOf(path, index, field),
      ...note,
    })),
  );
}

export function noteText({ path, hostward, vcluster, ...note }: PositionedNote, texts: LoadedAll['texts']): string {
  const { file, line, column } = note;
  const at = file !== undefined && line !== undefined && column !== undefined ? { file, line, column } : undefined;
  const place = at === undefined ? 'configuration' : `${at.file}:${at.line}:${at.column}`;
  // Borrows the line and the caret of a fault, so that notes look like faults.
  const caret = formatFault(warning({ code: '', at, sentence: '' }), texts)
    .split('\n')
    .slice(1);
  return [`${place}: differs: ${path}: Hostward ${hostward}; vCluster ${vcluster}`, ...caret].join('\n');
}

function namesOf(loaded: LoadedAll): NameContext | undefined {
  if (loaded.kind !== 'ok') return undefined;
  const { settings } = loaded;
  return { placement: rulesOf(settings).translation.placement, naming: settings.references.naming };
}
