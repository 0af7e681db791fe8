// The patches of a configuration, compiled where the rooms meet: config knows where an expression stands, expression knows
// what is wrong inside it, and the user gets both in one report with everything else.
import { type Fault, fault, sortFaults, warning } from '../config/fault.ts';
import type { Loaded } from '../config/load/load.ts';
import type { SettingsPath } from '../config/yaml/settings-path.ts';
import type { PatcherOptions } from '../sync/patch/entry/pass.ts';
import { lintPatches, type PatchWarning } from '../sync/patch/lint/lint-patches.ts';
import { patchableFields } from '../sync/patch/run/open-patcher.ts';
import { compilePatchSet, type PatchFault, type PatchSet } from '../sync/patch/set/patch-set.ts';
import { rulesOf } from './rules-of.ts';

export interface LoadedPatches {
  set: PatchSet;
  /** `file:line:column` of a member of an entry. */
  sourceOf: PatcherOptions['sourceOf'];
}

export const patchListPath: SettingsPath = ['sync', 'toHost', 'endpoints', 'patches'];
const referenceFields: readonly string[] = ['namePath', 'namespacePath', 'kindPath', 'apiVersionPath'];

export function withPatches(loaded: Loaded): Loaded & { compiled: LoadedPatches } {
  const result = compilePatchSet(loaded.patches, patchableFields);
  const compiled = { set: result.set, sourceOf: sourceIn(loaded) };
  const warnings = allWarnings(loaded, result.set);
  const alsoMistaken = compilePatchSet(loaded.mistaken, patchableFields);
  const faults = [result, alsoMistaken].flatMap((one) => (one.kind === 'faults' ? one.faults : []));
  if (faults.length === 0) return { ...loaded, warnings, compiled };
  const others = loaded.kind === 'faults' ? loaded.faults : [];
  const { patches, mistaken, positions, texts } = loaded;
  const inOrder = sortFaults([...others, ...faults.map((one) => placed(one, loaded))], [...texts.keys()]);
  return { kind: 'faults', faults: inOrder, warnings, patches, mistaken, positions, texts, compiled };
}

function allWarnings(loaded: Loaded, set: PatchSet): readonly Fault[] {
  const rules = loaded.kind === 'ok' ? rulesOf(loaded.settings).translation : undefined;
  const found = lintPatches(set.patches, { rules }).map((one) => placedWarning(one, loaded));
  return sortFaults([...loaded.warnings, ...found], [...loaded.texts.keys()]);
}

export function placedWarning(one: PatchWarning, { positions }: Loaded): Fault {
  const path = [...patchListPath, one.index, one.field];
  return warning({
    code: `PATCH_${one.rule.toUpperCase().replaceAll('-', '_')}`,
    at: positions.positionInScalar(path, one.line, one.column),
    path: pathOf(one.index, one.field),
    found: one.found,
    wanted: one.wanted,
    fix: one.fix,
  });
}

export function pathOf(index: number, member: string): string {
  return `${patchListPath.join('.')}[${index}].${member}`;
}

function placed(one: PatchFault, { positions }: Loaded): Fault {
  const member = referenceFields.includes(one.field) ? ['reference', one.field] : [one.field];
  const at = positions.positionInScalar([...patchListPath, one.index, ...member], one.line, one.column);
  return fault({
    code: one.field === 'expression' || one.field === 'reverseExpression' ? 'PATCH_EXPRESSION' : 'PATCH_PATH',
    at,
    path: pathOf(one.index, member.join('.')),
    found: one.message,
    wanted: one.field.endsWith('xpression') ? 'one JavaScript expression' : 'a path to something that may be patched',
    fix: one.fix,
  });
}

function sourceIn({ positions }: Loaded): PatcherOptions['sourceOf'] {
  return (index, field) => {
    const position = positions.positionOf([...patchListPath, index, field]);
    return position && `${position.file}:${position.line}:${position.column}`;
  };
}
