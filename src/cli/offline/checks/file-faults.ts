// Looks at the files and folders that a configuration names, for `check`. In: a loaded configuration and the options. Out: a fault for
// each file that is missing, cannot be read or does not hold what it should, and for each folder that cannot be written; a warning for
// a certificate that does not count now. Here and not in the loader, because the daemon must start, and stay up, without the files of
// one cluster among many.
import { resolve } from 'node:path';
import { type Fault, fault, quoted, warning } from '../../../config/fault.ts';
import { closedFile } from '../../../config/load/read-files.ts';
import type { SourceFile } from '../../../config/yaml/source-text.ts';
import type { Context } from '../../line/context.ts';
import type { LoadedAll } from '../../line/load-settings.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { contentProblems, type Problem, type Wanted } from './file-contents.ts';

/** Options whose file replaces that of a setting. */
const flags = { virtualKubeconfig: 'virtual-kubeconfig', hostKubeconfig: 'host-kubeconfig' };

/** The files and folders that settings name, with those of options in place of the settings that they replace. */
export function wantedOf(options: Options, loaded: LoadedAll): Wanted[] {
  const given = Object.entries(flags).flatMap(([key, flag]): (Wanted & { key: string })[] => {
    const file = options.text(flag);
    return file === undefined ? [] : [{ key, path: `--${flag}`, file, holds: 'kubeconfig' }];
  });
  const isReplaced = ({ path }: Wanted) => given.some(({ key }) => path.endsWith(`hostward.${key}`));
  return [...loaded.files.filter((one) => !isReplaced(one)), ...given];
}

/** `wayOut`: what a command offers whose files live on another machine. */
export async function fileFaults(
  context: Context,
  options: Options,
  loaded: LoadedAll,
  wayOut?: string,
): Promise<Fault[]> {
  const named = wantedOf(options, loaded);
  const wanted = named.filter(({ holds }) => holds !== 'folder');
  const folders: Wanted[] = [...named.filter(({ holds }) => holds === 'folder'), ...defaultFolders(loaded)];
  return [...(await foundInFiles(context, wanted, wayOut)), ...(await foundInFolders(context, folders, wayOut))];
}

async function foundInFiles(
  { files, clock }: Context,
  wanted: readonly Wanted[],
  wayOut: string | undefined,
): Promise<Fault[]> {
  const read = new Map<string, SourceFile>();
  // One after the other, because a configuration may name more files than a process may open.
  for (const { file } of wanted) if (!read.has(file)) read.set(file, await files.readConfiguration(file));
  const faults: Fault[] = [];
  const texts = new Map<string, string>();
  for (const one of wanted) {
    const source = read.get(one.file) as SourceFile;
    const found = foundIn(source);
    if (found !== undefined) faults.push(missingFault(one, found, { isClosed: isClosed(source), wayOut }));
    else if ('text' in source) texts.set(one.file, textOf(source.text));
  }
  const readText = async (file: string) => {
    const source = await files.readConfiguration(file);
    const found = foundIn(source);
    if (found !== undefined) return { found };
    return { text: 'text' in source ? textOf(source.text) : undefined };
  };
  const problems = await contentProblems(wanted, texts, { now: clock.wallTime(), readText });
  return [...faults, ...problems.map(faultOf)];
}

interface Ways {
  isClosed: boolean;
  wayOut: string | undefined;
}

function missingFault({ path, file, at }: Wanted, found: string, { isClosed, wayOut }: Ways): Fault {
  const sentence = `wanted a file that can be read, found ${found} at ${quoted(file)}`;
  const relative = file.startsWith('/')
    ? ''
    : `, which counts from the working folder${wayOut === undefined ? '' : ','}`;
  const open = isClosed ? ['let the user of this process read it (chown or chmod)'] : [];
  const ways = [...open, `correct the path${relative}`, ...(wayOut === undefined ? [] : [wayOut])];
  const fix = ways.join(' or ');
  return fault({ code: 'CONFIG_NAMED_FILE', at, path, sentence, fix });
}

function isClosed(file: SourceFile): boolean {
  return 'problem' in file && file.problem === 'unreadable' && file.reason === closedFile;
}

function faultOf({ of: { path, file, at }, sentence, fix, isWarning }: Problem): Fault {
  const parts = { code: 'CONFIG_FILE_CONTENT', at, path, sentence: `${quoted(file)}: ${sentence}`, fix };
  return isWarning ? warning(parts) : fault(parts);
}

async function foundInFolders(
  context: Context,
  folders: readonly Wanted[],
  wayOut: string | undefined,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { path, file, at } of folders) {
    const folder = resolve(context.cwd, file);
    const why = await context.files.folderProblem(folder);
    if (why === undefined) continue;
    const sentence = `wanted a folder that can be written, or made, at ${quoted(folder)}: ${why}`;
    const fix = `name another folder${wayOut === undefined ? '' : `, or ${wayOut}`}`;
    faults.push(fault({ code: 'CONFIG_NAMED_FOLDER', at, path, sentence, fix }));
  }
  return faults;
}

/** Folders that the configuration does not name, and that a start makes by default. */
function defaultFolders(loaded: LoadedAll): Wanted[] {
  if (loaded.kind !== 'ok') return [];
  const { managementServer, direct } = loaded.settings;
  return Object.entries({ management: managementServer, direct }).flatMap(([block, settings]): Wanted[] => {
    const path = `hostward.${block}.dataDir`;
    const isNamed = loaded.files.some((one) => one.path.endsWith(path));
    if (settings === undefined || isNamed) return [];
    return [{ path, file: settings.dataDir, holds: 'folder', at: loaded.positions.positionOf(['hostward', block]) }];
  });
}

function textOf(text: string | Uint8Array): string {
  return typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
}

/** Undefined for a file that can be read; the reader of configurations also refuses what is only too long for one. */
function foundIn(file: SourceFile): string | undefined {
  if (!('problem' in file)) return file.text.length === 0 ? 'an empty file' : undefined;
  switch (file.problem) {
    case 'missing':
      return 'nothing';
    case 'directory':
      return 'a folder';
    case 'no-file':
      return file.what;
    case 'unreadable':
      return file.reason;
    case 'too-large':
      return undefined;
    default:
      return file satisfies never;
  }
}
