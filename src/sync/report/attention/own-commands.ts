// Spells the commands that a status tells people to copy, so that they reach the same clusters, files and daemon from any folder. In:
// the status, which says how its daemon was started. Out: texts for a shell. Pure.
import { shellWord } from '../../../safe-text.ts';
import { isFacts, type StatusJson, say } from '../words.ts';

/** How the daemon was started, in the status as `startedAs`. */
export interface StartedAs {
  /** What comes before the name of a command, as in `npx hostward`. */
  program: string;
  /** Those that name files, clusters and the virtual cluster; paths are absolute. */
  options: readonly { option: string; value: string }[];
  /** The file with the settings of sync, where there is only one. */
  settingsFile?: string;
  /** Ends this daemon and starts it again. */
  restart: string;
  /** For kubectl, when they are not the one that kubectl takes by itself. The daemon's own may have no more rights than it needs. */
  hostKubeconfig?: string;
  virtualKubeconfig?: string;
  /** The kubeconfigs are those of administrators. */
  isAdministrator?: boolean;
  /** Where commands ask the daemon that run next to it in its pod. */
  addressBeside?: string;
}

/** The address that `hostward status` asks by default. */
const usualAddresses = ['127.0.0.1:9440', 'localhost:9440'];

/** An older daemon does not say how it was started, and has at least the usual file. */
const untold: StartedAs = {
  program: 'hostward',
  options: [{ option: 'config', value: 'vcluster.yaml' }],
  restart: 'hostward run --config vcluster.yaml',
};

export function startedAs({ startedAs }: StatusJson): StartedAs {
  return isFacts(startedAs) ? (startedAs as unknown as StartedAs) : untold;
}

/** `address`: where the reader has asked, because a copied command must ask the same daemon. */
export function statusCommand(
  status: StatusJson,
  operand: string,
  address: string | undefined,
  ...more: string[]
): string {
  const { program, addressBeside } = startedAs(status);
  const asked = addressBeside ?? address;
  const isUsual = asked === undefined || usualAddresses.includes(asked);
  return `${program} status ${[operand, ...more].map(shellWord).join(' ')}${isUsual ? '' : ` --address ${shellWord(asked)}`}`;
}

/** A command that takes the options of `hostward run`, or of these only the files. */
export function configuredCommand(status: StatusJson, name: string, { isFilesOnly = false } = {}): string {
  const { program, options } = startedAs(status);
  const taken = options.filter(({ option }) => !isFilesOnly || option === 'config');
  return [`${program} ${name}`, ...taken.map(optionWords)].join(' ');
}

/** A text in front of `kubectl` arguments for the host cluster. */
export function hostKubectl(status: StatusJson): string {
  const { hostKubeconfig } = startedAs(status);
  return hostKubeconfig === undefined ? 'kubectl' : `kubectl --kubeconfig ${shellWord(hostKubeconfig)}`;
}

/** The same for the virtual cluster. From outside the pod vCluster's own command leads there. */
export function virtualKubectl(status: StatusJson): string {
  const { virtualKubeconfig, addressBeside } = startedAs(status);
  if (virtualKubeconfig !== undefined) return `kubectl --kubeconfig ${shellWord(virtualKubeconfig)}`;
  if (addressBeside === undefined) return 'kubectl';
  const [name, namespace] = [say(status['virtualCluster']), say(status['hostNamespace'])].map(shellWord);
  return `vcluster connect ${name} --namespace ${namespace} -- kubectl`;
}

/** For what the daemon itself may not do: its kubeconfig would be refused, so it is the one of the reader. */
export function administratorsKubectl(status: StatusJson, side: 'virtual' | 'host'): string {
  const { isAdministrator = false, addressBeside } = startedAs(status);
  if (side === 'virtual' && addressBeside !== undefined) return virtualKubectl(status);
  if (!isAdministrator) return 'kubectl';
  return side === 'host' ? hostKubectl(status) : virtualKubectl(status);
}

/** A setting with the file that has it. */
export function settingPlace(status: StatusJson, path: string): string {
  const { settingsFile } = startedAs(status);
  return settingsFile === undefined ? path : `${path} in ${settingsFile}`;
}

export function optionWords({ option, value }: { option: string; value: string }): string {
  // With an equals sign, because a value may begin with a minus.
  return value.startsWith('-') ? shellWord(`--${option}=${value}`) : `--${option} ${shellWord(value)}`;
}
