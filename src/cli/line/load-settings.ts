// Loads a configuration for a command. In: the options and the environment. Out: settings with compiled patches, or faults; for
// a command that cannot go on without a valid configuration, the faults are printed here.
import { countOf, type Fault, formatFault } from '../../config/fault.ts';
import { type Loaded, type LoadOptions, loadConfiguration, loadSteps } from '../../config/load/load.ts';
import { type ReadFile, readConfigurationFiles } from '../../config/load/read-files.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { runAtOnce, runInTurns, type Steps } from '../../config/steps.ts';
import type { SourceFile } from '../../config/yaml/source-text.ts';
import { type LoadedPatches, patchSteps } from '../../daemon/options/load-patches.ts';
import { CommandFault, type Context, exitCodes } from './context.ts';
import type { Options } from './parse-arguments.ts';

/** Settings with their patches compiled. */
export type LoadedAll = Loaded & { compiled: LoadedPatches };

export const podNamespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

export interface Names {
  virtualClusterName: string;
  hostNamespace: string;
}

/** The names in `placeholders` replace names that neither flags nor the environment give, even if the files give them. */
export interface Placeholders {
  placeholders?: Partial<Names>;
}

export async function loadSettings(context: Context, options: Options, how: Placeholders = {}): Promise<LoadedAll> {
  return (await prepareLoad(context, options, how)).loaded;
}

/** Uses the names in `placeholders` only where flags, environment and files give no name; returns the faults about those names. */
export async function loadWithNames(
  load: (placeholders: Partial<Names>) => Promise<LoadedAll>,
  placeholders: Names,
): Promise<{ loaded: LoadedAll; missing: readonly Fault[] }> {
  const loaded = await load({});
  const missing = faultsOf(loaded).filter((fault) => fault.code === 'CONFIG_NAME_MISSING');
  if (missing.length === 0) return { loaded, missing };
  const lacks = (key: keyof Names) => missing.some((fault) => fault.fix.endsWith(`hostward.${key}`));
  const names: Partial<Names> = {
    ...(lacks('virtualClusterName') && { virtualClusterName: placeholders.virtualClusterName }),
    ...(lacks('hostNamespace') && { hostNamespace: placeholders.hostNamespace }),
  };
  return { loaded: await load(names), missing };
}

export function faultsOf(loaded: Loaded): readonly Fault[] {
  return loaded.kind === 'faults' ? loaded.faults : [];
}

/** Loads the settings and also returns what a later reload needs. */
export async function prepareLoad(context: Context, options: Options, { placeholders }: Placeholders = {}) {
  const paths = options.texts('config');
  const { VCLUSTER_NAME, NAMESPACE } = context.environment;
  const flags = {
    virtualClusterName: options.text('vcluster-name') ?? (VCLUSTER_NAME ? undefined : placeholders?.virtualClusterName),
    hostNamespace: options.text('host-namespace') ?? (NAMESPACE ? undefined : placeholders?.hostNamespace),
    virtualKubeconfig: options.text('virtual-kubeconfig'),
    hostKubeconfig: options.text('host-kubeconfig'),
  };
  const serviceAccountNamespace = await context.files.read(podNamespaceFile).catch(() => undefined);
  const steps = (files: readonly SourceFile[]): Steps<LoadedAll> =>
    loadAll({ files, flags, environment: context.environment, serviceAccountNamespace });
  const { clock, turn } = context;
  const loadInTurns = (files: readonly SourceFile[]) => runInTurns(steps(files), { clock, turn });
  const files = await readFiles(context, paths);
  const podNamespace = serviceAccountNamespace;
  return { paths, files, podNamespace, loadInTurns, loaded: runAtOnce(steps(files)) };
}

function readFiles(context: Context, paths: readonly string[]): Promise<SourceFile[]> {
  const read: ReadFile = async (path) =>
    path === '-'
      ? { name: path, text: await context.readStdin(), isStream: true }
      : context.files.readConfiguration(path);
  return readConfigurationFiles(paths, read);
}

/** For commands about the management API: no names of a virtual cluster are wanted, and no patch is compiled. */
export async function requireManagement(context: Context, paths: readonly string[]): Promise<Settings> {
  const files = await readFiles(context, paths);
  const flags = { virtualClusterName: 'any', hostNamespace: 'any' };
  return requireGood(loadConfiguration({ files, flags, environment: {} })).settings;
}

function* loadAll(options: LoadOptions): Steps<LoadedAll> {
  return yield* patchSteps(yield* loadSteps(options));
}

/** Replace missing names in commands whose results show the names. */
export const exampleNames: Names = { virtualClusterName: 'my-vcluster', hostNamespace: 'vcluster-my-vcluster' };

export type GoodConfiguration = Extract<LoadedAll, { kind: 'ok' }>;

/** Throws with every fault when the configuration is not valid. */
export async function requireSettings(context: Context, options: Options): Promise<GoodConfiguration> {
  return requireGood(await loadSettings(context, options));
}

export function requireGood<T extends Loaded>(loaded: T): Extract<T, { kind: 'ok' }> {
  if (loaded.kind === 'ok') return loaded as Extract<T, { kind: 'ok' }>;
  const count = countOf(loaded.faults);
  throw new CommandFault(exitCodes.input, `the configuration has ${count === 1 ? 'a fault' : `${count} faults`}`, {
    details: loaded.faults.map((fault) => formatFault(fault)),
    shown: loaded.faults.map((fault) => formatFault(fault, loaded.texts)),
  });
}
