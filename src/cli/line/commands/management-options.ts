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

/** A redirection makes a file that everybody on the machine can read. */
export const out: OptionSpec = {
  name: 'out',
  value: 'FILE',
  summary: 'write the secret into this file, which only you can read, instead of printing it',
};

/** Forms that kubectl has for objects. */
export const objectOutput: OptionSpec = {
  name: 'output',
  short: 'o',
  value: 'text|wide|yaml|json',
  choices: ['text', 'wide', 'yaml', 'json'],
  summary: 'form of the output',
};

export const output: OptionSpec = {
  name: 'output',
  short: 'o',
  value: 'text|json',
  choices: ['text', 'json'],
  summary: 'form of the output',
};
