// `hostward check`. In: a configuration and the files that it names. Out: every fault and warning with its position, a caret and a
// fix, and an exit code. A name that only the pod knows is a warning here, so that a file can be checked anywhere.

import { countOf, type Fault, formatFault, listFaults, type Position, warning } from '../config/fault.ts';
import { isOfPatches, type LoadedList } from '../config/load/load.ts';
import type { Settings } from '../config/settings/settings.ts';
import { knownSettings, patchListPath, pathOf, slicePatchListPath } from '../daemon/options/load-patches.ts';
import { rulesOf } from '../daemon/options/rules-of.ts';
import { firstFew } from '../object/text/in-words.ts';
import { type CompatNote, compatNotes, type NameContext } from '../sync/patch/lint/compat.ts';
import type { CompiledPatch } from '../sync/patch/set/patch-set.ts';
import { auditSpaceWarnings } from './line/audit-space.ts';
import { type Context, type ExitCode, exitCodes } from './line/context.ts';
import { faultsOf, type LoadedAll, loadSettings, loadWithNames } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';
import { fileFaults } from './offline/checks/file-faults.ts';

export async function check(context: Context, options: Options): Promise<ExitCode> {
  const { faults, warnings, loaded, unjudged } = await judge(context, options);
  const notes = options.has('compat') ? positionedNotes(loaded) : undefined;
  if (options.choice('output') === 'json') {
    const report = { faults, warnings, ...(unjudged.length > 0 && { unjudged }), ...(notes && { compat: notes }) };
    context.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  } else {
    const { texts } = loaded;
    for (const found of [...faults, ...warnings]) context.stdout.write(`${formatFault(found, texts)}\n`);
    for (const note of notes ?? []) context.stdout.write(`${noteText(note, texts)}\n`);
    for (const note of unjudged) context.stdout.write(`note: ${note}\n`);
    if (loaded.kind === 'ok' && loaded.settings.endpointsEnabled && loaded.settings.endpointSlices.enabled)
      context.stdout.write(`${besideNote}\n`);
    const counts = [counted(countOf(faults), 'fault'), counted(countOf(warnings), 'warning')];
    if (notes !== undefined) counts.push(counted(notes.length, 'difference'));
    const where = options.texts('config').length === 0 ? ' in the defaults, because no --config was given' : '';
    context.stdout.write(`${counts.join(', ')}${where}\n`);
  }
  const wrong = options.has('strict') ? faults.length + warnings.length : faults.length;
  return wrong > 0 ? exitCodes.input : exitCodes.fine;
}

/** Only a running daemon knows the objects. */
const besideNote =
  'note: a slice that a tenant writes beside a synced Endpoints of the same Service is published beside it; `hostward status` names such slices, and so does `hostward render` for objects in files';

function counted(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

interface Judgement {
  faults: readonly Fault[];
  warnings: readonly Fault[];
  loaded: LoadedAll;
  /** What could not be judged because of a fault, and which; a line each. */
  unjudged: readonly string[];
}

/** Stands in for a missing name, so that the rest of the configuration can be judged. */
const placeholder = 'not-given';

async function judge(context: Context, options: Options): Promise<Judgement> {
  const { loaded, missing } = await loadWithNames((placeholders) => loadSettings(context, options, { placeholders }), {
    virtualClusterName: placeholder,
    hostNamespace: placeholder,
  });
  const notes = missing.map((fault): Fault => ({ ...fault, severity: 'warning' }));
  const settings = knownSettings(loaded);
  const tried = settings && hasExpressions(loaded.compiled) ? await tryAll(context, loaded, settings) : [];
  const areElsewhere = options.has('no-files');
  const found = areElsewhere
    ? []
    : await fileFaults(context, options, loaded, 'give --no-files where the files live elsewhere');
  const files = found.filter(({ severity }) => severity === 'fault');
  // The volume below a folder that cannot be made is not the one that will be used.
  const hasFolders = files.every(({ code }) => code !== 'CONFIG_NAMED_FOLDER');
  const space = loaded.kind === 'ok' && !areElsewhere && hasFolders ? await auditSpaceWarnings(context, loaded) : [];
  const order = [...loaded.texts.keys()];
  const warned = tried.filter(isWarning);
  const warnings = listFaults([...notes, ...loaded.warnings, ...warned, ...space, ...found.filter(isWarning)], order);
  const failed = tried.filter(({ severity }) => severity === 'fault');
  const faults = listFaults([...faultsOf(loaded), ...failed, ...files], order);
  return { faults, warnings, loaded, unjudged: unjudgedNotes(loaded) };
}

function isWarning({ severity }: Fault): boolean {
  return severity === 'warning';
}

function hasExpressions({ set, slices }: LoadedAll['compiled']): boolean {
  return set.expressions.length + slices.set.expressions.length > 0;
}

/** Loads the sandbox code only for a configuration with expressions. */
async function tryAll(context: Context, loaded: LoadedAll, settings: Settings): Promise<Fault[]> {
  const { tryExpressions } = await import('./offline/checks/try-expressions.ts');
  return tryExpressions(context, loaded, settings);
}

/**
 * Says what a check could not judge because of a fault, and which fault that is. In: a configuration with faults. Out: a
 * sentence for each, so that nobody takes silence for praise.
 */
function unjudgedNotes(loaded: LoadedAll): string[] {
  if (loaded.kind === 'ok') return [];
  const { faults, tentative, compiled } = loaded;
  const others = faults.filter((one) => !isOfPatches(one));
  if (tentative === undefined) {
    const because = placeOf(others[0] ?? faults[0]);
    return [
      ...loaded.unread.map((file) => `the keys in ${file} were not looked at, because it is not one map of settings`),
      `patches were not tried on samples, and settings not compared with one another, because of ${because}`,
    ];
  }
  const broken = [
    ...untried(loaded, compiled.set.patches, patchListPath.join('.')),
    ...untried(loaded.slices, compiled.slices.set.patches, slicePatchListPath.join('.')),
  ];
  const notes: string[] = [];
  if (broken.length > 0)
    notes.push(
      `${firstFew(broken, shownEntries)} ${broken.length === 1 ? 'was' : 'were'} not tried on samples, because of the faults in ${broken.length === 1 ? 'it' : 'them'}`,
    );
  // A configuration of the management API alone has nothing to compare.
  if (others.length > 0 && tentative.virtualClusterName !== '')
    notes.push(`settings were not compared with one another, because of ${placeOf(others[0])}`);
  return notes;
}

/** Entries with faults of their own, which cannot run. */
function untried({ patches, mistaken }: LoadedList, compiled: readonly CompiledPatch[], list: string): string[] {
  const running = new Set(compiled.map(({ index }) => index));
  const indexes = [...patches, ...mistaken].map(({ index }) => index).filter((index) => !running.has(index));
  return indexes.toSorted((one, other) => one - other).map((index) => `${list}[${index}]`);
}

const shownEntries = 5;

function placeOf(fault: Fault | undefined): string {
  const place = [fault?.file, fault?.line, fault?.column].filter((part) => part !== undefined).join(':');
  if (place !== '') return `the fault at ${place}`;
  return fault?.path ? `the fault of ${fault.path}` : 'the faults';
}

/** `check --compat`: lists where Hostward runs a configuration differently from vCluster's own patch engine, with positions. */
interface PositionedNote extends Partial<Position> {
  path: string;
  rule: string;
  hostward: string;
  vcluster: string;
}

function positionedNotes(loaded: LoadedAll): PositionedNote[] {
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

function noteText({ path, hostward, vcluster, ...note }: PositionedNote, texts: LoadedAll['texts']): string {
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
