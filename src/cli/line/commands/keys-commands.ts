// The commands about access keys, and the one that makes a kubeconfig with an access key.
import type { CommandSpec } from './command-spec.ts';
import { objectOutput, out, output, reachOptions } from './management-options.ts';

const reach =
  'With --config the command talks to the daemon on this machine, through a socket in dataDir that only its owner can open. When no daemon runs, the command opens dataDir itself; when another process holds dataDir and does not answer, the exit code is 3. With --server it talks to any management API over TLS, with the access key from HOSTWARD_ACCESS_KEY or --key-file. No command asks a question.';

const madeBy = {
  name: 'made-by',
  value: 'USER',
  summary: 'keys that this user made or rotated last; also team:NAME, key:NAME, os:NAME',
};

export const kubeconfigCommand: CommandSpec = {
  name: 'kubeconfig',
  operands: 'PROJECT/NAME',
  maxOperands: 1,
  summary: 'Print a kubeconfig of a virtual cluster',
  details: [
    'The kubeconfig holds an access key of its own for this virtual cluster, or a client certificate with --client-cert. It ends with the access key that asked for it.',
    'With --exec it holds no credential: kubectl runs "hostward kubeconfig … --exec-credential", which keeps its credential in a file of its owner and gets a new one when a quarter of its life is left. An allow list of plugins names the command hostward. The paths of --key-file, --certificate-authority and --config are in it; without --key-file the key comes from HOSTWARD_ACCESS_KEY.',
    reach,
  ],
  options: [
    { name: 'client-cert', summary: 'a client certificate instead of a token; for admins of the project' },
    {
      name: 'ttl',
      value: 'DURATION',
      summary: 'how long it is valid, like 1h, at least 10m (default 24h); 0 is as long as possible',
    },
    { name: 'api-server', value: 'URL', summary: 'address of the virtual cluster that is in the kubeconfig' },
    { name: 'exec', summary: 'a kubeconfig that runs this command for its credential' },
    { name: 'exec-credential', summary: 'print an ExecCredential in JSON, for kubectl' },
    out,
    ...reachOptions,
    output,
  ],
  examples: [
    {
      line: 'hostward kubeconfig shop/v1 --server https://hostward.example.com --key-file my.key --out v1.kubeconfig',
      says: 'for a day',
    },
    {
      line: 'hostward kubeconfig shop/v1 --exec --server https://hostward.example.com --key-file my.key --out v1.kubeconfig',
      says: 'for as long as the access key lives',
    },
    {
      line: 'hostward kubeconfig shop/v1 --client-cert --ttl 1h --server https://hostward.example.com --key-file my.key --out v1.kubeconfig',
      says: 'with a client certificate for an hour',
    },
  ],
};

export const keysCommands: readonly CommandSpec[] = [
  {
    name: 'keys create',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Make an access key and print its value, once',
    details: [
      'The value is alone on standard output, everything else on standard error. It is shown this once: keep it, best with --out.',
      'On this machine name the owner of the new key: --admin, --user or --team. With --server and without an owner, the new key has the owner of the calling key.',
      reach,
    ],
    options: [
      { name: 'admin', summary: 'a key of the built-in administrator' },
      { name: 'user', value: 'NAME', summary: 'a key of this user' },
      { name: 'team', value: 'NAME', summary: 'a key of this team' },
      { name: 'ttl', value: 'DURATION', summary: 'how long it is valid, like 12h or 90d (default 0: no end)' },
      {
        name: 'scope',
        value: 'FILE',
        summary: 'limits of the key: spec.scope in YAML or JSON, without unknown fields; - is standard input',
      },
      { name: 'display-name', value: 'TEXT', summary: 'a name for people' },
      out,
      ...reachOptions,
      output,
    ],
    examples: [
      {
        line: 'hostward keys create first --admin --config hostward.yaml --out admin.key',
        says: 'the first key of all',
      },
      {
        line: 'hostward keys create pipeline --user alice --ttl 90d --scope scope.yaml --config hostward.yaml --out pipeline.key',
        says: 'a narrow key for a pipeline',
      },
      {
        line: 'hostward keys create build-7 --ttl 1h --server https://hostward.example.com --key-file admin.key --out build.key',
        says: 'from a pipeline, on a distant server',
      },
    ],
  },
  {
    name: 'keys list',
    operands: '',
    maxOperands: 0,
    summary: 'List access keys: owner, status, when they expire, when they were last used',
    details: [
      'With -o json and -o yaml the keys are printed as the API has them, without their values; -o wide has more columns.',
      reach,
    ],
    options: [madeBy, ...reachOptions, objectOutput],
    examples: [
      { line: 'hostward keys list --config hostward.yaml', says: 'all keys' },
      {
        line: 'hostward keys list --server https://hostward.example.com --certificate-authority ca.crt --key-file my.key',
        says: 'those that this key may see',
      },
    ],
  },
  {
    name: 'keys get',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Show one access key, without its value',
    details: ['With -o json and -o yaml the key is printed as the API has it; -o wide has more columns.', reach],
    options: [...reachOptions, objectOutput],
    examples: [{ line: 'hostward keys get pipeline -o yaml --config hostward.yaml', says: 'with its scope' }],
  },
  {
    name: 'keys disable',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Disable an access key: it is refused from the next request on, and can be enabled again',
    details: [
      'What a key with a scope has made stops with it and comes back with it. A key that an administrator has disabled can be enabled by administrators only.',
      reach,
    ],
    options: [...reachOptions, output],
    examples: [
      { line: 'hostward keys disable pipeline --config hostward.yaml', says: 'while its pipeline is suspect' },
    ],
  },
  {
    name: 'keys enable',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Enable an access key that was disabled',
    details: ['An expired key stays expired.', reach],
    options: [...reachOptions, output],
    examples: [{ line: 'hostward keys enable pipeline --config hostward.yaml', says: 'with its old value' }],
  },
  {
    name: 'keys extend',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Give an access key a later end; its value stays',
    details: [
      'The key is valid for --ttl from now on, and whoever uses it notices nothing. Only administrators may move an end further away, and an expired key stays expired.',
      'Direct tokens of the key end, and clients must ask for new ones. To change the value of the key too: hostward keys rotate NAME.',
      reach,
    ],
    options: [{ name: 'ttl', value: 'DURATION', summary: 'from now on, like 90d' }, ...reachOptions, output],
    examples: [
      { line: 'hostward keys extend pipeline --ttl 90d --config hostward.yaml', says: 'for three more months' },
    ],
  },
  {
    name: 'keys rotate',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Give an access key a new value and print it, once',
    details: [
      'Name, owner, scope and end stay. The old value stops at once, with its streams, direct tokens and client certificates; with --overlap they go on for a while, seven days at most, so that every user of the key can change over.',
      'Keys that were made with this key go on, those in kubeconfigs too: hostward keys list --made-by key:NAME names them.',
      reach,
    ],
    options: [
      { name: 'overlap', value: 'DURATION', summary: 'how long the old value goes on, like 10m (default 0)' },
      out,
      ...reachOptions,
      output,
    ],
    examples: [
      {
        line: 'hostward keys rotate pipeline --overlap 10m --config hostward.yaml --out pipeline.key',
        says: 'with ten minutes to change over',
      },
    ],
  },
  {
    name: 'keys revoke',
    operands: '[NAME]',
    maxOperands: 1,
    summary: 'Delete an access key: it is refused from the next request on',
    details: [
      'With --made-by and without NAME it deletes every key that a user made or rotated last, keys of teams too: what to do when the user has left.',
      'Keys that a key with a scope has made stop with it. With --tree they are deleted too, and those that they have made; over --server only an administrator may ask for that.',
      'A key that may come back is better disabled: hostward keys disable NAME.',
      reach,
    ],
    options: [{ name: 'tree', summary: 'delete the keys too that this key has made' }, madeBy, ...reachOptions, output],
    examples: [
      {
        line: 'hostward keys revoke leaked --tree --config hostward.yaml',
        says: 'a leaked key, and all that came of it',
      },
      {
        line: 'hostward keys revoke --made-by alice --tree --config hostward.yaml',
        says: 'all keys that Alice made, and all that came of them',
      },
    ],
  },
  {
    name: 'keys reattach',
    operands: 'KIND/NAME',
    maxOperands: 1,
    summary: 'Give a user or team back the keys that it lost by missing from the configuration too long',
    details: [
      'A name that is missing from the configuration is suspended, and comes back with its keys within seven days. After that, the name counts as a new person; this command undoes that. Keys that were made for the name since then stop.',
      'Without --uid it takes the identity before the present one when there is only one; otherwise it lists them. KIND is user, team, project, cluster or virtualCluster; the last is named PROJECT/NAME. Only administrators may run the command.',
      reach,
    ],
    options: [{ name: 'uid', value: 'UID', summary: 'the identity to go back to' }, ...reachOptions, output],
    examples: [{ line: 'hostward keys reattach user/alice --config hostward.yaml', says: 'Alice is the same Alice' }],
  },
  {
    name: 'keys explain',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Say whether an access key may send a request, and which entry of its scope says so',
    details: [
      'The request is a method and a path, as the server would see them; --upgrade says that it changes the protocol, as exec and port-forward do, and then it counts as a create. A key may be valid only from some networks: --from judges a request from this address, and without it the networks are named. Exit code 0 when it would be allowed, 1 when it would be refused. Only administrators may run the command.',
      reach,
    ],
    options: [
      { name: 'as-request', value: '"METHOD PATH"', summary: 'the request to judge' },
      { name: 'from', value: 'ADDRESS', summary: 'the address that the request comes from' },
      { name: 'upgrade', summary: 'the request changes the protocol, like exec' },
      ...reachOptions,
      output,
    ],
    examples: [
      {
        line: "hostward keys explain pipeline --as-request 'GET /kubernetes/management/apis/management.platform/v1/ownedaccesskeys' --config hostward.yaml",
        says: 'may it list keys?',
      },
    ],
  },
];
