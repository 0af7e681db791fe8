// The commands about the program itself.
import type { CommandSpec } from './command-spec.ts';
import { output } from './options.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

export const aboutCommands: readonly CommandSpec[] = [
  {
    name: 'install',
    operands: 'values|manifests|chart-values',
    maxOperands: 1,
    operandChoices: ['values', 'manifests', 'chart-values'],
    summary: 'Print what an installation needs, with the names of your virtual cluster',
    details: [
      '`values` are values for the chart of vCluster, with Hostward as a sidecar. `manifests` run it in pods of its own, without Helm. `chart-values` are values for the chart of Hostward, in the folder config/chart.',
      'It asks no cluster, and `hostward doctor --pre` says whether the clusters are ready for the result.',
    ],
    options: [
      {
        name: 'vcluster-name',
        value: 'NAME',
        summary: 'release name of the virtual cluster (environment: VCLUSTER_NAME)',
      },
      { name: 'host-namespace', value: 'NAME', summary: 'its namespace on the host, by default vcluster-NAME' },
      { name: 'image', value: 'IMAGE', summary: 'the image, with your registry, and a tag or digest' },
      { name: 'mapped', summary: 'manifests with the rights for namespace mapping' },
    ],
    examples: [
      {
        line: 'hostward install values --vcluster-name my-vcluster --image registry.example.com/hostward:0.1.0 > sidecar.yaml',
        says: 'for helm upgrade my-vcluster … -f sidecar.yaml',
      },
      {
        line: 'hostward install manifests --vcluster-name my-vcluster > hostward.yaml',
        says: 'for kubectl apply -f hostward.yaml',
      },
    ],
  },
  {
    name: 'schema',
    operands: '',
    maxOperands: 0,
    summary: 'Print the JSON Schema of the configuration',
    details: ['For editors and for other programs that check a configuration.'],
    options: [output('json')],
    examples: [{ line: 'hostward schema > hostward.schema.json', says: 'for completion in an editor' }],
  },
  {
    name: 'docs',
    operands: '[PAGE [SECTION]]',
    maxOperands: 2,
    summary: 'List the pages about Hostward, or print one of them',
    details: [
      'The pages belong to this version, and need no network. SECTION prints one section of the page; it is the heading of the section.',
    ],
    options: [output('text', 'json')],
    examples: [
      { line: 'hostward docs', says: 'the pages' },
      { line: 'hostward docs install', says: 'one page' },
      { line: 'hostward docs doctor HW-101', says: 'what a code of doctor means' },
    ],
  },
  {
    name: 'completion',
    operands: 'SHELL',
    maxOperands: 1,
    operandChoices: shells,
    summary: 'Print the completion of commands and options for bash, zsh or fish',
    details: ['SHELL is bash, zsh or fish.'],
    options: [],
    examples: [
      { line: 'hostward completion bash > ~/.local/share/bash-completion/completions/hostward', says: 'for bash' },
      { line: 'hostward completion zsh > ~/.zsh/completions/_hostward', says: 'for zsh, in a folder of its fpath' },
      { line: 'hostward completion fish > ~/.config/fish/completions/hostward.fish', says: 'for fish' },
    ],
  },
  {
    name: 'version',
    operands: '',
    maxOperands: 0,
    summary: 'Print the version of Hostward and of the Node that runs it',
    details: [],
    options: [output('text', 'json')],
    examples: [{ line: 'hostward version', says: 'for a report of a fault' }],
  },
];
