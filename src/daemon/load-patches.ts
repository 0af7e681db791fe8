// Compiles the patches of a configuration. In: a loaded configuration. Out: compiled patches, and one report of all faults and
// warnings. The config room knows the position of an expression, the expression room knows its faults; here both meet.
import { type Fault, fault, listFaults, warning } from '../config/fault.ts';
import type { Loaded } from '../config/load/load.ts';
import { itemsAPart, runAtOnce, type Steps } from '../config/steps.ts';
import type { SettingsPath } from '../config/yaml/settings-path.ts';
import { endpointsKind } from '../sync/endpoints/endpoints-kind.ts';
import type { PatcherOptions } from '../sync/patch/entry/pass.ts';
import { lintPatches, type PatchWarning } from '../sync/patch/lint/lint-patches.ts';
import { compileSteps, type PatchFault, type PatchSet } from '../sync/patch/set/patch-set.ts';
import { rulesOf } from './rules-of.ts';

export interface LoadedPatches {
  set: PatchSet;
  /** `file:line:column` of a member of an entry. */
  sourceOf: PatcherOptions['sourceOf'];
}

export const patchListPath: SettingsPath = [...endpointsKind.settingsPath.split('.'), 'patches'];
const referenceFields: readonly string[] = ['namePath', 'namespacePath', 'kindPath', 'apiVersionPath'];

export function withPatches(loaded: Loaded): Loaded & { compiled: LoadedPatches } {
  return runAtOnce(patchSteps(loaded));
}

/** Compiles in short steps, so that a running daemon can do other work in between. */
export function* patchSteps(loaded: Loaded): Steps<Loaded & { compiled: LoadedPatches }> {
  const result = yield* compileSteps(loaded.patches, endpointsKind.payloadFields);
  const compiled = { set: result.set, sourceOf: sourceIn(loaded) };
  const warnings = yield* allWarnings(loaded, result.set);
  const alsoMistaken = yield* compileSteps(loaded.mistaken, endpointsKind.payloadFields);
  const broken = [result, alsoMistaken].filter((one) => one.kind === 'faults');
  if (broken.length === 0) return { ...loaded, warnings, compiled };
  const others = loaded.kind === 'faults' ? loaded.faults : [];
  const { patches, mistaken, positions, texts } = loaded;
  const more = broken.reduce((sum, one) => sum + one.more, 0);
  const found = broken.flatMap((one) => one.faults);
  const all = [...others, ...(yield* positionEach(found, (one) => positionedFault(one, loaded)))];
  const faults = listFaults(all, [...texts.keys()], more);
  return { kind: 'faults', faults, warnings, patches, mistaken, positions, texts, compiled };
}

function* allWarnings(loaded: Loaded, set: PatchSet): Steps<readonly Fault[]> {
  const rules = loaded.kind === 'ok' ? rulesOf(loaded.settings).translation : undefined;
  const found = yield* lintPatches(set.patches, { kind: endpointsKind, rules });
  const all = yield* positionEach(found, (one) => positionedWarning(one, loaded));
  return listFaults([...loaded.warnings, ...all], [...loaded.texts.keys()]);
}

/** Yields after each entry, because finding a position in a long text means reading the text again. */
function* positionEach<T extends { index: number }>(found: readonly T[], position: (one: T) => Fault): Steps<Fault[]> {
  const faults: Fault[] = [];
  for (const [at, one] of found.entries()) {
    faults.push(position(one));
    if (one.index !== found[at + 1]?.index || at % itemsAPart === 0) yield;
  }
  return faults;
}

export function positionedWarning(one: PatchWarning, { positions }: Loaded): Fault {
  const path = [...patchListPath, one.index, one.field];
  return warning({
    code: `PATCH_${one.rule.toUpperCase().replaceAll('-', '_')}`,
    at: positions.positionInScalar(path, one.line, one.column),
    path: pathOf(one.index, one.field),
    ...('sentence' in one ? { sentence: one.sentence } : { found: one.found, wanted: one.wanted }),
    fix: one.fix,
  });
}

export function pathOf(index: number, member: string): string {
  return `${patchListPath.join('.')}[${index}].${member}`;
}

function positionedFault(one: PatchFault, { positions }: Loaded): Fault {
  const member = referenceFields.includes(one.field) ? ['reference', one.field] : [one.field];
  const at = positions.positionInScalar([...patchListPath, one.index, ...member], one.line, one.column);
  return fault({
    code: one.field === 'expression' || one.field === 'reverseExpression' ? 'PATCH_EXPRESSION' : 'PATCH_PATH',
    at,
    path: pathOf(one.index, member.join('.')),
    sentence: one.message,
    fix: one.fix,
  });
}

function sourceIn({ positions }: Loaded): PatcherOptions['sourceOf'] {
  return (index, field) => {
    const position = positions.positionOf([...patchListPath, index, field]);
    return position && `${position.file}:${position.line}:${position.column}`;
  };
}
