// The options of the commands about the management API.
import type { OptionSpec } from './command-spec.ts';

export const config: OptionSpec = {
  name: 'config',
  short: 'c',
  value: 'FILE',
  repeats: true,
  summary: 'configuration of the management API on this machine; - is standard input',
};

const server: OptionSpec = {
  name: 'server',
  value: 'URL',
  summary: 'address of a distant management API; without it the one on this machine that --config names',
};

/** How a command reaches the management API. The key itself is never an argument: everybody on a machine can read those. */
export const reachOptions: readonly OptionSpec[] = [
  config,
  server,
  { name: 'certificate-authority', value: 'FILE', summary: 'PEM file that --server is checked with' },
  {
    name: 'key-file',
    value: 'FILE',
    summary: 'file with the access key for --server (environment: HOSTWARD_ACCESS_KEY)',
  },
];

export const output: OptionSpec = {
  name: 'output',
  short: 'o',
  value: 'text|json',
  choices: ['text', 'json'],
  summary: 'form of the output',
};
