// From the options of a command to a configuration: reads the files, hands over flags and environment, and says the faults
// of a configuration where a command cannot go on with them.
import { countOf, type Fault, formatFault } from '../../config/fault.ts';
import { type Loaded, type LoadOptions, loadConfiguration, loadSteps } from '../../config/load/load.ts';
import { type ReadFile, readConfigurationFiles } from '../../config/load/read-files.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { runAtOnce, runInTurns, type Steps } from '../../config/steps.ts';
import type { SourceFile } from '../../config/yaml/source-text.ts';
import { type LoadedPatches, patchSteps } from '../../daemon/load-patches.ts';
import { CommandFault, type Context, exitCodes } from './context.ts';
import type { Options } from './parse-arguments.ts';

/** Settings with their patches compiled. */
export type LoadedAll = Loaded & { compiled: LoadedPatches };

const podNamespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

export interface Names {
  virtualClusterName: string;
  hostNamespace: string;
}

/** What `otherwise` holds stands in for names that neither flags nor environment give, whatever the files say. */
export interface LoadHow {
  otherwise?: Partial<Names>;
}

export async function loadSettings(context: Context, options: Options, how: LoadHow = {}): Promise<LoadedAll> {
  return (await prepareLoad(context, options, how)).loaded;
}

/** Names that nobody gave, files included, are `otherwise`; their faults come beside. For commands that need no real ones. */
export async function loadWithNames(
  load: (otherwise: Partial<Names>) => Promise<LoadedAll>,
  otherwise: Names,
): Promise<{ loaded: LoadedAll; missing: readonly Fault[] }> {
  const loaded = await load({});
  const missing = faultsOf(loaded).filter((fault) => fault.code === 'CONFIG_NAME_MISSING');
  if (missing.length === 0) return { loaded, missing };
  const lacks = (key: keyof Names) => missing.some((fault) => fault.fix.endsWith(`hostward.${key}`));
  const names: Partial<Names> = {
    ...(lacks('virtualClusterName') && { virtualClusterName: otherwise.virtualClusterName }),
    ...(lacks('hostNamespace') && { hostNamespace: otherwise.hostNamespace }),
  };
  return { loaded: await load(names), missing };
}

export function faultsOf(loaded: Loaded): readonly Fault[] {
  return loaded.kind === 'faults' ? loaded.faults : [];
}

/** The same with its ingredients, for those who load again when the files change. */
export async function prepareLoad(context: Context, options: Options, { otherwise }: LoadHow = {}) {
  const paths = options.texts('config');
  const { VCLUSTER_NAME, NAMESPACE } = context.environment;
  const flags = {
    virtualClusterName: options.text('vcluster-name') ?? (VCLUSTER_NAME ? undefined : otherwise?.virtualClusterName),
    hostNamespace: options.text('host-namespace') ?? (NAMESPACE ? undefined : otherwise?.hostNamespace),
    virtualKubeconfig: options.text('virtual-kubeconfig'),
    hostKubeconfig: options.text('host-kubeconfig'),
  };
  const serviceAccountNamespace = await context.files.read(podNamespaceFile).catch(() => undefined);
  const steps = (files: readonly SourceFile[]): Steps<LoadedAll> =>
    loadAll({ files, flags, environment: context.environment, serviceAccountNamespace });
  const { clock, turn } = context;
  const loadInTurns = (files: readonly SourceFile[]) => runInTurns(steps(files), { clock, turn });
  const files = await readFiles(context, paths);
  return { paths, files, loadInTurns, loaded: runAtOnce(steps(files)) };
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
  return requireGood(context, loadConfiguration({ files, flags, environment: {} })).settings;
}

function* loadAll(options: LoadOptions): Steps<LoadedAll> {
  return yield* patchSteps(yield* loadSteps(options));
}

/** Names that stand in for those that nobody gave, where results show them. */
export const exampleNames: Names = { virtualClusterName: 'my-vcluster', hostNamespace: 'vcluster-my-vcluster' };

export type GoodConfiguration = Extract<LoadedAll, { kind: 'ok' }>;

/** For commands that need a good one: every fault on standard error, then the end. */
export async function requireSettings(context: Context, options: Options): Promise<GoodConfiguration> {
  return requireGood(context, await loadSettings(context, options));
}

export function requireGood<T extends Loaded>(context: Context, loaded: T): Extract<T, { kind: 'ok' }> {
  if (loaded.kind === 'ok') return loaded as Extract<T, { kind: 'ok' }>;
  for (const fault of loaded.faults) context.stderr.write(`${formatFault(fault, loaded.texts)}\n`);
  const count = countOf(loaded.faults);
  throw new CommandFault(exitCodes.input, `the configuration has ${count === 1 ? 'a fault' : `${count} faults`}`, {
    details: loaded.faults.map((fault) => formatFault(fault)),
  });
}
