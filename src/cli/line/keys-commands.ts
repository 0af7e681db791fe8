// The commands about access keys as data, for the command table.
import type { CommandSpec, OptionSpec } from './command-spec.ts';

const server: OptionSpec = {
  name: 'server',
  value: 'URL',
  summary: 'address of a distant management API; without it the one on this machine that --config names',
};

/** How a command reaches the management API. The key itself is never an argument: everybody on a machine can read those. */
const reachOptions: readonly OptionSpec[] = [
  {
    name: 'config',
    short: 'c',
    value: 'FILE',
    repeats: true,
    summary: 'configuration of the management API on this machine; - is standard input',
  },
  server,
  { name: 'certificate-authority', value: 'FILE', summary: 'PEM file that --server is checked with' },
  {
    name: 'key-file',
    value: 'FILE',
    summary: 'file with the access key for --server (environment: HOSTWARD_ACCESS_KEY)',
  },
];

const output: OptionSpec = {
  name: 'output',
  short: 'o',
  value: 'text|json',
  choices: ['text', 'json'],
  summary: 'form of the output',
};

const reach =
  'With --config the command talks to the daemon on this machine, through a socket in dataDir that only its owner can open. When no daemon runs, the command opens dataDir itself; when another process holds dataDir and does not answer, the exit code is 3. With --server it talks to any management API over TLS, with the access key from HOSTWARD_ACCESS_KEY or --key-file. No command asks a question.';

export const keysCommands: readonly CommandSpec[] = [
  {
    name: 'keys create',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Make an access key and print its value, once',
    details: [
      'The value stands alone on standard output, everything else on standard error. It is shown this once: keep it.',
      'On this machine say whose key it is: --admin, --user or --team. With --server and none of them it is the owner of the key that asks.',
      reach,
    ],
    options: [
      { name: 'admin', summary: 'a key of the built-in administrator' },
      { name: 'user', value: 'NAME', summary: 'a key of this user' },
      { name: 'team', value: 'NAME', summary: 'a key of this team' },
      { name: 'ttl', value: 'DURATION', summary: 'how long it is valid, like 12h or 90d (default: no end)' },
      {
        name: 'scope',
        value: 'FILE',
        summary: 'what it is narrowed to: spec.scope in YAML or JSON; - is standard input',
      },
      { name: 'display-name', value: 'TEXT', summary: 'a name for people' },
      ...reachOptions,
      output,
    ],
    examples: [
      { line: 'hostward keys create first --admin --config hostward.yaml > admin.key', says: 'the first key of all' },
      {
        line: 'hostward keys create pipeline --user alice --ttl 90d --scope scope.yaml --config hostward.yaml',
        says: 'a narrow key for a pipeline',
      },
      {
        line: 'hostward keys create build-7 --ttl 1h --server https://hostward.example.com --key-file admin.key -o json',
        says: 'from a pipeline, on a distant server',
      },
    ],
  },
  {
    name: 'keys list',
    operands: '',
    maxOperands: 0,
    summary: 'List access keys: owner, status, when they expire, when they were last used',
    details: ['With -o json the keys are printed as the API has them; no value of a key is among it.', reach],
    options: [...reachOptions, output],
    examples: [
      { line: 'hostward keys list --config hostward.yaml', says: 'all keys' },
      {
        line: 'hostward keys list --server https://hostward.example.com --certificate-authority ca.crt --key-file my.key',
        says: 'those that this key may see',
      },
    ],
  },
];
