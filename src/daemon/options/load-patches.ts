// Compiles the patches of a configuration. In: a loaded configuration. Out: compiled patches, and one report of all faults and
// warnings. The config room knows the position of an expression, the expression room knows its faults; here both meet.
import { type Fault, fault, listFaults, warning } from '../../config/fault.ts';
import type { Loaded, LoadedList } from '../../config/load/load.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { itemsAPart, runAtOnce, type Steps } from '../../config/steps.ts';
import type { SettingsPath } from '../../config/yaml/settings-path.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import type { PatcherOptions } from '../../sync/patch/entry/pass.ts';
import { lintPatches, type PatchWarning } from '../../sync/patch/lint/lint-patches.ts';
import { compileSteps, type PatchFault, type PatchSet } from '../../sync/patch/set/patch-set.ts';
import type { SyncedKind } from '../../sync/plan/kind.ts';
import { anySliceKind, rulesOf } from './rules-of.ts';

export interface KindPatches {
  set: PatchSet;
  /** `file:line:column` of a member of an entry. */
  sourceOf: PatcherOptions['sourceOf'];
}

/** The patches of Endpoints, and those of EndpointSlices. */
export interface LoadedPatches extends KindPatches {
  slices: KindPatches;
}

export const patchListPath: SettingsPath = pathOfList(endpointsKind);
export const slicePatchListPath: SettingsPath = pathOfList(anySliceKind);
const referenceFields: readonly string[] = ['namePath', 'namespacePath', 'kindPath', 'apiVersionPath'];

function pathOfList({ settingsPath }: SyncedKind): SettingsPath {
  return [...settingsPath.split('.'), 'patches'];
}

export function withPatches(loaded: Loaded): Loaded & { compiled: LoadedPatches } {
  return runAtOnce(patchSteps(loaded));
}

/** Compiles in short steps, so that a running daemon can do other work in between. */
export function* patchSteps(loaded: Loaded): Steps<Loaded & { compiled: LoadedPatches }> {
  const ofEndpoints = yield* compileList(loaded, loaded, endpointsKind);
  const ofSlices = yield* compileList(loaded, loaded.slices, anySliceKind);
  const compiled = { ...ofEndpoints.compiled, slices: ofSlices.compiled };
  const order = [...loaded.texts.keys()];
  const warnings = listFaults([...loaded.warnings, ...ofEndpoints.warnings, ...ofSlices.warnings], order);
  const broken = [...ofEndpoints.faults, ...ofSlices.faults];
  const more = ofEndpoints.more + ofSlices.more;
  if (broken.length === 0 && more === 0) return { ...loaded, warnings, compiled };
  const others = loaded.kind === 'faults' ? loaded.faults : [];
  const { patches, mistaken, slices, positions, files, tellsOfVcluster, texts, unread } = loaded;
  const faults = listFaults([...others, ...broken], order, more);
  const tentative = knownSettings(loaded);
  const parts = { patches, mistaken, slices, positions, files, tellsOfVcluster, texts, unread };
  return { kind: 'faults', faults, warnings, tentative, ...parts, compiled };
}

/** Those of a faulty configuration are for judging its patches only. */
export function knownSettings(loaded: Loaded): Settings | undefined {
  return loaded.kind === 'ok' ? loaded.settings : loaded.tentative;
}

interface CompiledList {
  compiled: KindPatches;
  warnings: readonly Fault[];
  faults: readonly Fault[];
  /** The number of faults that `faults` leaves out. */
  more: number;
}

function* compileList(loaded: Loaded, list: LoadedList, kind: SyncedKind): Steps<CompiledList> {
  const path = pathOfList(kind);
  const result = yield* compileSteps(list.patches, kind);
  const settings = knownSettings(loaded);
  const rules = settings && rulesOf(settings).translation;
  const found = yield* lintPatches(result.set.patches, { kind, rules });
  const warnings = yield* positionEach(found, (one) => positionedWarning(one, loaded, path));
  const alsoMistaken = yield* compileSteps(list.mistaken, kind);
  const broken = [result, alsoMistaken].filter((one) => one.kind === 'faults');
  const faults = yield* positionEach(
    broken.flatMap((one) => one.faults),
    (one) => positionedFault(one, loaded, path),
  );
  const more = broken.reduce((sum, one) => sum + one.more, 0);
  return { compiled: { set: result.set, sourceOf: sourceIn(loaded, path) }, warnings, faults, more };
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

export function positionedWarning(one: PatchWarning, { positions }: Loaded, list: SettingsPath): Fault {
  const path = [...list, one.index, one.field];
  return warning({
    code: `PATCH_${one.rule.toUpperCase().replaceAll('-', '_')}`,
    at: positions.positionInScalar(path, one.line, one.column),
    path: pathOf(list, one.index, one.field),
    ...('sentence' in one ? { sentence: one.sentence } : { found: one.found, wanted: one.wanted }),
    fix: one.fix,
  });
}

export function pathOf(list: SettingsPath, index: number, member: string): string {
  return `${list.join('.')}[${index}].${member}`;
}

function positionedFault(one: PatchFault, { positions }: Loaded, list: SettingsPath): Fault {
  const member = referenceFields.includes(one.field) ? ['reference', one.field] : [one.field];
  const at = positions.positionInScalar([...list, one.index, ...member], one.line, one.column);
  return fault({
    code: one.field === 'expression' || one.field === 'reverseExpression' ? 'PATCH_EXPRESSION' : 'PATCH_PATH',
    at,
    path: pathOf(list, one.index, member.join('.')),
    sentence: one.message,
    fix: one.fix,
  });
}

function sourceIn({ positions }: Loaded, list: SettingsPath): PatcherOptions['sourceOf'] {
  return (index, field) => {
    const position = positions.positionOf([...list, index, field]);
    return position && `${position.file}:${position.line}:${position.column}`;
  };
}
