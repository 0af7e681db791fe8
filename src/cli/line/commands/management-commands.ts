// The commands of the people who run the management API: they keep its data, prove its audit log, and prepare clusters for it.
import type { CommandSpec } from './command-spec.ts';
import { config, output } from './management-options.ts';

export const managementCommands: readonly CommandSpec[] = [
  {
    name: 'backup',
    operands: 'FOLDER',
    maxOperands: 1,
    summary: 'Copy everything that the management API keeps into a new folder, while it runs or not',
    details: [
      'The folder gets a consistent copy of the database, the secrets of dataDir (peppers, keys of its own authority) and a manifest with the digests of all of them. Writes wait while the database is copied; requests go on. Only the owner of the files can read them: keep them like the server itself.',
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
      'Stop the daemon first; while it runs the exit code is 3. What lies in dataDir is checked before anything is replaced; the database that was there is moved aside, and secrets that are there stay. A backup is restored into a database file: a configuration with a store in a cluster is refused, and `hostward store migrate` moves the records there afterwards.',
      'Keys that were deleted, disabled, narrowed or rotated since the backup stay so, because the journal of revocations lists them: revocations.log in dataDir, or the files given with --journal. If the journal is missing, damaged or begins after the backup, revocations may be unknown, so every key is disabled until an administrator enables it; --trust-keys leaves the keys as they were in the backup.',
      'Every resourceVersion is above all that were ever given out, so that clients list again instead of missing changes.',
    ],
    options: [
      config,
      {
        name: 'journal',
        value: 'FILE',
        repeats: true,
        summary:
          'a journal of revocations from elsewhere: that of each replica, and the files of one journal with the oldest first',
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
    name: 'secrets add',
    operands: 'pepper|token-key|seal-key',
    operandChoices: ['pepper', 'token-key', 'seal-key'],
    maxOperands: 1,
    summary: 'Add a newer version of a secret of the management API, so that it can be rotated',
    details: [
      'The version goes into secretsDir beside the older ones, which stay, because keys were made with them: the pepper and the key of the seals into secrets.json, the key that signs direct tokens into token-keys.json. Nothing is printed of its value.',
      'Replicas with a store in a cluster go on running: each of them reads the folder every few seconds, and a version is used when every living replica has said that it has it. With a folder for each replica, run it once and copy the changed file to the others. Where the folder is a mounted Secret, run it on a copy and change the Secret. A server with a database file must be stopped, and has the version after its next start.',
      'A pepper: new and rotated keys are made with it. A token key: it signs after ten minutes at the earliest; the server makes one by itself every thirty days, and this is for a key that may have leaked. A seal key: run `hostward store seal` afterwards. To end what an old version has made, rotate the keys, then take the old pepper out of the file by hand.',
    ],
    options: [config, output],
    examples: [
      {
        line: 'hostward secrets add pepper --config hostward.yaml',
        says: 'every year, or when secrets.json may have leaked',
      },
      { line: 'hostward secrets add token-key --config hostward.yaml', says: 'before the thirty days are over' },
    ],
  },
  {
    name: 'store migrate',
    operands: '',
    maxOperands: 0,
    summary: 'Move all records of the management API to the store of another configuration, and back',
    details: [
      'Stop every server first. The records go from the store of --from to the store of --to: a database file in dataDir, or a namespace of a cluster. The command can be broken off and run again; it ends when both hold the same number of records with the same digest.',
      'The secrets go from one secretsDir to the other, where they are not there yet. Every resourceVersion is above all that were given out, so that clients list again. The old store is marked as moved, and no server starts on it any more; moving back takes the mark off.',
      'The audit log and the journal of revocations stay in the old dataDir: keep them as long as its backups.',
    ],
    options: [
      { name: 'from', value: 'FILE', summary: 'configuration of the store that has the records' },
      { name: 'to', value: 'FILE', summary: 'configuration of the store that gets them' },
      output,
    ],
    examples: [
      { line: 'hostward store migrate --from sqlite.yaml --to replicas.yaml', says: 'from one replica to several' },
    ],
  },
  {
    name: 'store recover',
    operands: '',
    maxOperands: 0,
    summary: 'Go on with a store in a cluster that was set back to an older state',
    details: [
      'After a restore of etcd the cluster has forgotten changes, and the servers answer 503. Stop every server, and run this once; it refuses while it hears another replica. Every resourceVersion is then above all that were given out, and what was revoked since is revoked again, because the journals of revocations list it: the one in dataDir, and those of the other replicas in the folders given with --journals. If it is broken off, no server starts until it was run again, with the same journals.',
      'Where a journal is missing or damaged, revocations may be unknown, so every key is disabled until an administrator enables it; --trust-keys leaves the keys as they are. With --dry-run the command only says which journals are missing or damaged.',
    ],
    options: [
      config,
      {
        name: 'journals',
        value: 'FOLDER',
        repeats: true,
        summary: 'dataDir of another replica, or a copy of its journal',
      },
      { name: 'trust-keys', summary: 'leave the keys as they are when a journal does not say everything' },
      { name: 'force', summary: 'also while another replica runs' },
      { name: 'dry-run', summary: 'say which journals are missing, and change no key' },
      output,
    ],
    examples: [
      { line: 'hostward store recover --journals /copies/replica-1 --config hostward.yaml', says: 'with two replicas' },
    ],
  },
  {
    name: 'store seal',
    operands: '',
    maxOperands: 0,
    summary: 'Seal the records of a store in a cluster, so that a record made by hand is not believed',
    details: [
      'A store that this version makes is sealed from the start. One that an older version has made is not, so that both versions can use it during an update. When no older version runs any more, stop every server and run this once. Whatever is in the store then is believed, so look first at what `hostward doctor` says of it.',
      'Afterwards an older version does not start on the store. The keys of the seals lie in secretsDir. After a new one was put into secrets.json, run the command again: every record is then sealed with it. It can be broken off and run again.',
    ],
    options: [config, output],
    examples: [
      { line: 'hostward store seal --config hostward.yaml', says: 'after an update from a version without seals' },
    ],
  },
  {
    name: 'audit verify',
    operands: '[FILE…]',
    maxOperands: 1000,
    summary: 'Check that no line of the audit log was changed, removed, added or moved',
    details: [
      'Every line holds the digest of the line before, made with a secret in dataDir, so that the command must run where dataDir is. Without FILE it checks the whole log in dataDir, while the daemon writes or not: audit.log, and before it the full files that the daemon moved aside, audit-NUMBER.log, each named by its last line. Files from elsewhere are given oldest first. Exit code 1 names the first line that does not fit.',
      'With a configuration that has hostward.direct alone, or with --direct, it checks the log of the direct endpoint. An endpoint has no secret, so that the check finds damage there, but not a log that somebody has written again; the platform has its lines in its own log.',
      'A log whose end was cut off looks whole. Keep the digest that is printed somewhere else, and give it with --last to the next check of the same file. Replicas keep the ends of their logs and of their journals of revocations in the store with each heartbeat: with --store the command checks both, compares them, and names a replica whose log is not given.',
    ],
    options: [
      {
        ...config,
        summary: 'configuration that names dataDir, of the management API or of hostward.direct; - is standard input',
      },
      { name: 'direct', summary: 'the log of hostward.direct, where the configuration has the management API too' },
      { name: 'last', value: 'DIGEST', summary: 'the digest that the last line must have' },
      { name: 'replica', value: 'FOLDER', repeats: true, summary: 'dataDir of another replica, or a copy of it' },
      { name: 'store', summary: 'compare with the ends of the logs in the store of the replicas' },
      output,
    ],
    examples: [
      { line: 'hostward audit verify --config hostward.yaml', says: 'the log as it is now' },
      {
        line: 'hostward audit verify audit-000000204800.log audit.log --config hostward.yaml',
        says: 'files that were moved away',
      },
      {
        line: 'hostward audit verify --store --replica /copies/replica-1 --config hostward.yaml',
        says: 'the logs of two replicas, with their ends',
      },
    ],
  },
  {
    name: 'upstream-rbac',
    operands: '',
    maxOperands: 0,
    summary: 'Print the roles and bindings that Hostward needs in a cluster behind the management API',
    details: [
      'Hostward passes requests on to clusters and virtual clusters and acts there for the users, teams and project roles of the configuration. The printed role lets it act for these names and no other, and the printed bindings give the roles of a project their rights: user is bound to edit, admin to admin in a space and to clientCert.clusterRole in a virtual cluster; a viewer reaches no cluster. Members of a cluster get no right there by this: bind the users hostward:user:NAME yourself.',
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
        says: 'into a file that an administrator there reads and applies',
      },
      {
        line: 'hostward upstream-rbac --instance shop/v1 --user system:serviceaccount:hostward:hostward -c hostward.yaml',
        says: 'for a service account, without asking',
      },
    ],
  },
];

export const directCommand: CommandSpec = {
  name: 'direct',
  operands: '',
  maxOperands: 0,
  summary: 'Serve a direct endpoint beside a cluster: it lets only holders of direct tokens in',
  details: [
    'The block hostward.direct names the cluster, the management server that issues the tokens, and a file with an access key of the role agent, with which the endpoint follows revocations. A token ends within a second of its access key, open watches and sessions included. Without a sign of life of the management server for hostward.direct.silence seconds every request is refused with 503 and every stream is closed.',
    'GET /healthz answers 200 while the process serves, GET /readyz while tokens are accepted; hostward.listen has both in plain HTTP, with /metrics and /status. The log on standard output has audit lines of changes, sessions and refusals. SIGTERM or SIGINT ends the endpoint; SIGHUP is ignored.',
  ],
  options: [{ ...config, summary: 'configuration with the block hostward.direct; - is standard input' }],
  examples: [{ line: 'hostward direct --config direct.yaml', says: 'see hostward docs direct-endpoints' }],
};
