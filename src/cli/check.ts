// `hostward check`. In: a configuration and the files that it names. Out: every fault and warning with its position, a caret and a
// fix, and an exit code. A name that only the pod knows is a warning here, so that a file can be checked anywhere.
import { countOf, type Fault, formatFault, listFaults } from '../config/fault.ts';
import type { Settings } from '../config/settings/settings.ts';
import { knownSettings } from '../daemon/load-patches.ts';
import { auditSpaceWarnings } from './line/audit-space.ts';
import { type Context, type ExitCode, exitCodes } from './line/context.ts';
import { faultsOf, type LoadedAll, loadSettings, loadWithNames } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';
import { fileFaults } from './offline/checks/file-faults.ts';
import { unjudgedNotes } from './offline/checks/unjudged.ts';
import { noteText, positionedNotes } from './offline/compat-notes.ts';

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
  const found = areElsewhere ? [] : await fileFaults(context, options, loaded);
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
