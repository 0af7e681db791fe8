// `hostward check`: every fault and warning of a configuration, each with its place, a caret under it and how to mend it.
// Names that only the pod knows are no fault of a file, so that a file can be checked anywhere.
import { type Fault, formatFault } from '../config/fault.ts';
import type { Loaded } from '../config/load.ts';
import { type Context, type ExitCode, exitCodes } from './context.ts';
import { faultsOf, loadSettings, loadWithNames } from './load-settings.ts';
import type { Options } from './parse-arguments.ts';

export async function check(context: Context, options: Options): Promise<ExitCode> {
  const { faults, warnings, texts } = await judge(context, options);
  if (options.choice('output') === 'json') {
    context.stdout.write(`${JSON.stringify({ faults, warnings }, undefined, 2)}\n`);
  } else {
    for (const found of [...faults, ...warnings]) context.stdout.write(`${formatFault(found, texts)}\n`);
    context.stdout.write(`${countOf(faults.length, 'fault')}, ${countOf(warnings.length, 'warning')}\n`);
  }
  return faults.length > 0 ? exitCodes.input : exitCodes.fine;
}

function countOf(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;
}

interface Judgement {
  faults: readonly Fault[];
  warnings: readonly Fault[];
  texts: Loaded['texts'];
}

/** Valid as a name, and no name that anyone would give: the rest of the configuration is judged as if it were known. */
const placeholder = 'not-given';

async function judge(context: Context, options: Options): Promise<Judgement> {
  const { loaded, missing } = await loadWithNames((otherwise) => loadSettings(context, options, { otherwise }), {
    virtualClusterName: placeholder,
    hostNamespace: placeholder,
  });
  const notes = missing.map((fault): Fault => ({ ...fault, severity: 'warning' }));
  return { faults: faultsOf(loaded), warnings: [...notes, ...loaded.warnings], texts: loaded.texts };
}
