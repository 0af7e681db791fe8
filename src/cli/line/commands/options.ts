// The options that several commands have, and the ones that every command has.
import type { OptionSpec } from './command-spec.ts';

const config: OptionSpec = {
  name: 'config',
  short: 'c',
  value: 'FILE',
  repeats: true,
  summary: 'configuration file, - is standard input; several merge in order: maps deeply, lists are replaced',
};

/** Options that name the virtual cluster and both API servers; an option wins over the configuration and the environment. */
export const settingOptions: readonly OptionSpec[] = [
  config,
  { name: 'vcluster-name', value: 'NAME', summary: 'name of the virtual cluster (environment: VCLUSTER_NAME)' },
  { name: 'host-namespace', value: 'NAME', summary: 'its namespace on the host (environment: NAMESPACE)' },
  { name: 'virtual-kubeconfig', value: 'FILE', summary: 'kubeconfig of the virtual cluster' },
  { name: 'host-kubeconfig', value: 'FILE', summary: 'kubeconfig of the host (default: in-cluster credentials)' },
];

export function output(...choices: string[]): OptionSpec {
  return { name: 'output', short: 'o', value: choices.join('|'), choices, summary: 'form of the output' };
}

export const globalOptions: readonly OptionSpec[] = [
  { name: 'help', short: 'h', summary: 'explain a command, its options and examples' },
  { name: 'version', summary: 'version of this program' },
  { name: 'verbose', short: 'v', summary: 'more detail, and the stack of a bug (environment: HOSTWARD_DEBUG=1)' },
];
