// The patches of a configuration, compiled where the rooms meet: config knows where an expression stands, expression knows
// what is wrong inside it, and the user gets both in one report with everything else.
import { type Fault, fault } from '../config/fault.ts';
import type { Loaded } from '../config/load.ts';
import { patchableFields } from '../sync/patch/open-patcher.ts';
import type { PatcherOptions } from '../sync/patch/pass.ts';
import { compilePatchSet, type PatchFault, type PatchSet } from '../sync/patch/patch-set.ts';

export interface LoadedPatches {
  set: PatchSet;
  /** `file:line:column` of a member of an entry. */
  sourceOf: PatcherOptions['sourceOf'];
}

const listPath = ['sync', 'toHost', 'endpoints', 'patches'];
const referenceFields: readonly string[] = ['namePath', 'namespacePath', 'kindPath', 'apiVersionPath'];

export function withPatches(loaded: Loaded): Loaded & { compiled: LoadedPatches } {
  const result = compilePatchSet(loaded.patches, patchableFields);
  const compiled = { set: result.set, sourceOf: sourceIn(loaded) };
  if (result.kind === 'ok') return { ...loaded, compiled };
  const faults = result.faults.map((one) => placed(one, loaded));
  const others = loaded.kind === 'faults' ? loaded.faults : [];
  const { warnings, patches, positions, texts } = loaded;
  return { kind: 'faults', faults: [...others, ...faults], warnings, patches, positions, texts, compiled };
}

function placed(one: PatchFault, { positions }: Loaded): Fault {
  const member = referenceFields.includes(one.field) ? ['reference', one.field] : [one.field];
  const at = positions.positionInScalar([...listPath, one.index, ...member], one.line, one.column);
  return fault({
    code: one.field === 'expression' || one.field === 'reverseExpression' ? 'PATCH_EXPRESSION' : 'PATCH_PATH',
    at,
    path: `${listPath.join('.')}[${one.index}].${member.join('.')}`,
    found: one.message,
    wanted: one.field.endsWith('xpression') ? 'one JavaScript expression' : 'a path to something that may be patched',
    fix: one.fix,
  });
}

function sourceIn({ positions }: Loaded): PatcherOptions['sourceOf'] {
  return (index, field) => {
    const position = positions.positionOf([...listPath, index, field]);
    return position && `${position.file}:${position.line}:${position.column}`;
  };
}
