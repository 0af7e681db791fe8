// The commands about access keys and what is made with them as data, for the command table.
import type { CommandSpec, OptionSpec } from './command-spec.ts';

const config: OptionSpec = {
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
const reachOptions: readonly OptionSpec[] = [
  config,
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

const kubeconfigCommand: CommandSpec = {
  name: 'kubeconfig',
  operands: 'PROJECT/NAME',
  maxOperands: 1,
  summary: 'Print a kubeconfig of a virtual cluster',
  details: [
    'The kubeconfig holds an access key of its own for this virtual cluster, or a client certificate with --client-cert. It ends with the access key that asked for it.',
    'With --exec it holds no credential: kubectl runs "hostward kubeconfig … --exec-credential", which keeps its credential in a file of its owner and gets a new one when a quarter of its life is left. An allow list of plugins names the command hostward. The paths of --key-file, --certificate-authority and --config stand in it; without --key-file the key comes from HOSTWARD_ACCESS_KEY.',
    reach,
  ],
  options: [
    { name: 'client-cert', summary: 'a client certificate instead of a token; for admins of the project' },
    {
      name: 'ttl',
      value: 'DURATION',
      summary: 'how long it is valid, like 1h, at least 10m (default 24h); 0 is as long as possible',
    },
    { name: 'api-server', value: 'URL', summary: 'address of the virtual cluster that stands in the kubeconfig' },
    { name: 'exec', summary: 'a kubeconfig that runs this command for its credential' },
    { name: 'exec-credential', summary: 'print an ExecCredential in JSON, for kubectl' },
    ...reachOptions,
    output,
  ],
  examples: [
    {
      line: 'hostward kubeconfig shop/v1 --server https://hostward.example.com --key-file my.key > v1.kubeconfig',
      says: 'for a day',
    },
    {
      line: 'hostward kubeconfig shop/v1 --exec --server https://hostward.example.com --key-file my.key > v1.kubeconfig',
      says: 'for as long as the access key lives',
    },
    {
      line: 'hostward kubeconfig shop/v1 --client-cert --ttl 1h --server https://hostward.example.com --key-file my.key',
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
      'The value stands alone on standard output, everything else on standard error. It is shown this once: keep it.',
      'On this machine name the owner of the new key: --admin, --user or --team. With --server and without an owner, the new key has the owner of the calling key.',
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
        summary: 'limits of the key: spec.scope in YAML or JSON; - is standard input',
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
  {
    name: 'keys rotate',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Give an access key a new value and print it, once',
    details: [
      'Name, owner, scope and end stay. The old value stops at once; with --overlap it goes on for a while, seven days at most, so that every user of the key can change over.',
      reach,
    ],
    options: [
      { name: 'overlap', value: 'DURATION', summary: 'how long the old value goes on, like 10m (default 0)' },
      ...reachOptions,
      output,
    ],
    examples: [
      {
        line: 'hostward keys rotate pipeline --overlap 10m --config hostward.yaml',
        says: 'with ten minutes to change over',
      },
    ],
  },
  {
    name: 'keys revoke',
    operands: 'NAME',
    maxOperands: 1,
    summary: 'Delete an access key: it is refused from the next request on',
    details: [
      'Keys that a key with a scope has made stop with it. With --tree they are deleted too, and those that they have made.',
      'A key that may come back is better disabled: kubectl patch ownedaccesskey NAME --type merge -p \'{"spec":{"disabled":true}}\'.',
      reach,
    ],
    options: [{ name: 'tree', summary: 'delete the keys too that this key has made' }, ...reachOptions, output],
    examples: [
      {
        line: 'hostward keys revoke leaked --tree --config hostward.yaml',
        says: 'a leaked key, and all that came of it',
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
      'Without --uid it takes the identity before the present one when there is only one; otherwise it lists them. KIND is user, team, project, cluster or virtualCluster; the last is named PROJECT/NAME. Only administrators may.',
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
      'The request is a method and a path, as the server would see them; --upgrade says that it changes the protocol, as exec and port-forward do, and then it counts as a create. A key may be valid only from some networks: --from judges a request from this address, and without it the networks are named. Exit code 0 when it would be allowed, 1 when it would be refused. Only administrators may ask.',
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
  {
    name: 'backup',
    operands: 'FOLDER',
    maxOperands: 1,
    summary: 'Copy everything that the management API keeps into a new folder, while it runs or not',
    details: [
      'The folder gets a consistent copy of the database, the secrets of dataDir (peppers, keys of its own authority, token keys) and a manifest with the digests of all of them. Writes wait while the database is copied; requests go on. Only the owner of the files can read them: keep them like the server itself.',
      'With --without-secrets the secrets stay out and are named, for a place that must not have them. Without secrets.json no access key can be proved, so keep a copy of it somewhere.',
      'The audit log and the journal of revocations are not in the backup: the journal, revocations.log in dataDir, lists the revocations after the backup. Copy it away often, for example every minute.',
      'The daemon on this machine is asked through its socket; when no daemon runs, the command opens dataDir itself; when another process holds it and does not answer, the exit code is 3.',
    ],
    options: [config, { name: 'without-secrets', summary: 'leave the secrets out, and name them' }, output],
    examples: [
      { line: 'hostward backup /backup/2026-11-23 --config hostward.yaml', says: 'every night, while the daemon runs' },
    ],
  },
  {
    name: 'restore',
    operands: 'FOLDER',
    maxOperands: 1,
    summary: 'Put a backup of the management API in place, without reviving keys that were revoked since',
    details: [
      'Stop the daemon first; while it runs the exit code is 3. What lies in dataDir is checked before anything is replaced; the database that was there is moved aside, and secrets that are there stay.',
      'Keys that were deleted, disabled, narrowed or rotated since the backup stay so, because the journal of revocations lists them: revocations.log in dataDir, or the files given with --journal. If the journal is missing, damaged or begins after the backup, revocations may be unknown, so every key is disabled until an administrator enables it; --trust-keys leaves the keys as they were in the backup.',
      'Every resourceVersion is above all that were ever given out, so that clients list again instead of missing changes.',
    ],
    options: [
      config,
      {
        name: 'journal',
        value: 'FILE',
        repeats: true,
        summary: 'the journal of revocations from elsewhere; several files oldest first',
      },
      {
        name: 'trust-keys',
        summary: 'leave the keys as they are in the backup when the journal does not say everything',
      },
      output,
    ],
    examples: [
      {
        line: 'hostward restore /backup/2026-11-23 --config hostward.yaml',
        says: 'on the machine where dataDir still is',
      },
      {
        line: 'hostward restore /backup/2026-11-23 --journal /copies/revocations.log --config hostward.yaml',
        says: 'on a new machine',
      },
    ],
  },
  {
    name: 'audit verify',
    operands: '[FILE…]',
    maxOperands: 1000,
    summary: 'Check that no line of the audit log was changed, removed, added or moved',
    details: [
      'Every line holds the digest of the line before, made with a secret in dataDir, so that the command runs where that is. Without FILE it checks the whole log in dataDir, while the daemon writes or not: audit.log, and before it the full files that the daemon moved aside, audit-NUMBER.log, each named by its last line. Files from elsewhere are given oldest first. Exit code 1 names the first line that does not fit.',
      'With a configuration that has hostward.direct alone, or with --direct, it checks the log of the direct endpoint. An endpoint has no secret, so that the check finds damage there, but not a log that somebody has written anew; the platform has its lines in its own log.',
      'A cut-off end looks like the end. Keep the digest that is printed somewhere else, and give it with --last to the next check of the same file.',
    ],
    options: [
      config,
      { name: 'direct', summary: 'the log of hostward.direct, where the configuration has the management API too' },
      { name: 'last', value: 'DIGEST', summary: 'the digest that the last line must have' },
      output,
    ],
    examples: [
      { line: 'hostward audit verify --config hostward.yaml', says: 'the log as it is now' },
      {
        line: 'hostward audit verify audit-000000204800.log audit.log --config hostward.yaml',
        says: 'files that were moved away',
      },
    ],
  },
  {
    name: 'upstream-rbac',
    operands: '',
    maxOperands: 0,
    summary: 'Print the roles and bindings that Hostward needs in a cluster behind the management API',
    details: [
      'Hostward passes requests on to clusters and virtual clusters and acts there for the users, teams and project roles of the configuration. The printed role lets it act for these names and no other, and the printed bindings give the roles of a project their rights: viewer is bound to view, user to edit, admin to admin in a space and to clientCert.clusterRole in a virtual cluster. Members of a cluster get no right there by this: bind the users hostward:user:NAME yourself.',
      'The binding is for the user of the kubeconfig in the configuration. The command asks the cluster for the name of this user, unless --user gives it. Print and apply it again when users, teams, groups, projects or spaces change.',
    ],
    options: [
      config,
      { name: 'cluster', value: 'NAME', summary: 'one of hostward.management.clusters' },
      { name: 'instance', value: 'PROJECT/NAME', summary: 'a virtual cluster of a project' },
      { name: 'user', value: 'NAME', summary: 'the user of the kubeconfig (default: ask the cluster)' },
      { name: 'output', short: 'o', value: 'yaml|json', choices: ['yaml', 'json'], summary: 'form of the output' },
    ],
    examples: [
      {
        line: 'hostward upstream-rbac --cluster c1 --config hostward.yaml',
        says: 'into `kubectl apply -f -` of an administrator there',
      },
      {
        line: 'hostward upstream-rbac --instance shop/v1 --user system:serviceaccount:hostward:hostward -c hostward.yaml',
        says: 'for a service account, without asking',
      },
    ],
  },
  kubeconfigCommand,
  {
    name: 'direct',
    operands: '',
    maxOperands: 0,
    summary: 'Serve a direct endpoint beside a cluster: it lets only holders of direct tokens in',
    details: [
      'The block hostward.direct names the cluster, the management server that issues the tokens, and a file with an access key of the role agent, with which the endpoint follows revocations. A token ends within a second of its access key, open watches and sessions included. Without a sign of life of the management server for hostward.direct.silence seconds every request is refused with 503 and every stream is closed.',
      'GET /healthz answers 200 while the process serves, GET /readyz while tokens are accepted; hostward.listen has both in plain HTTP, with /metrics and /status. The log on standard output has audit lines of changes, sessions and refusals. SIGTERM or SIGINT ends the endpoint.',
    ],
    options: [config],
    examples: [{ line: 'hostward direct --config direct.yaml', says: 'see docs/direct-endpoints.md' }],
  },
];
