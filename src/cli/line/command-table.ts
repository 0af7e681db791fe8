// Every command and option as data. The parser, --help, the usage faults and the table in the README come from this table, so
// that a command cannot exist without its help.

import type { CommandSpec, OptionSpec } from './command-spec.ts';
import { keysCommands } from './keys-commands.ts';

/** More files than a person merges; beyond it a shell has probably expanded a wildcard in the wrong folder. */
const mostFiles = 100;

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

function output(...choices: string[]): OptionSpec {
  return { name: 'output', short: 'o', value: choices.join('|'), choices, summary: 'form of the output' };
}

export const globalOptions: readonly OptionSpec[] = [
  { name: 'help', short: 'h', summary: 'explain a command, its options and examples' },
  { name: 'version', summary: 'version of this program' },
  { name: 'verbose', short: 'v', summary: 'more detail, and the stack of a bug (environment: HOSTWARD_DEBUG=1)' },
];

export const commands: readonly CommandSpec[] = [
  {
    name: 'run',
    operands: '',
    maxOperands: 0,
    summary: 'Run the daemon: sync Endpoints and EndpointSlices from the virtual cluster to its host',
    details: [
      'Loads the configuration, connects to both clusters, and keeps the host in step with the virtual cluster. SIGTERM or SIGINT ends the daemon within 5 seconds with exit code 0. SIGHUP and a changed file reload the configuration; when the new configuration is invalid, the old one stays in force.',
      'A cluster that cannot be reached at the start ends the daemon with exit code 3. --wait 5m waits up to five minutes for an API server, for example a virtual API server that starts in the same pod; meanwhile the log and /readyz name the trouble, and /healthz stays fine. The daemon waits only for trouble that can pass by itself: nothing listens, no such name, no answer, 5xx, a kubeconfig that is not written yet. Wrong credentials, a wrong CA or a server that is not Kubernetes end the daemon at once.',
      'With --dry-run the daemon writes nothing: `hostward status` lists every write that an object needs, and a metric counts the objects. In this way you can watch the daemon beside vCluster before it takes over.',
    ],
    options: [
      ...settingOptions,
      {
        name: 'wait',
        value: 'DURATION',
        summary: 'how long to wait for an API server that cannot be reached, like 5m (default 0)',
      },
      { name: 'dry-run', summary: 'write nothing to either cluster' },
    ],
    examples: [
      { line: 'hostward run --config vcluster.yaml', says: 'inside the pod of a virtual cluster' },
      { line: 'hostward run --config vcluster.yaml --wait 5m', says: 'the same, when the API server starts later' },
      {
        line: 'hostward run -c vcluster.yaml --virtual-kubeconfig v.yaml --host-kubeconfig h.yaml --dry-run',
        says: 'from a laptop, without writes',
      },
    ],
  },
  {
    name: 'demo',
    operands: '',
    maxOperands: 0,
    summary: 'Run two embedded clusters with the daemon between them and samples that change',
    details: [
      'Shows a live table on a terminal and plain lines otherwise. The demo writes kubeconfigs for both sides to .hostward/, or to .hostward/2 and so on while other demos run, and removes them at the end. It prints the kubectl commands to look at both sides. Ctrl-C ends the demo.',
      'The daemon runs with three patches: one adds a prefix to a label on the host and removes it on the way back, one moves addresses to another subnet, and one gives a Secret its name on the host. Below the table, one line for each patch says how many values it was given and how many it changed.',
      'A management API runs beside them, with one project, the host as its cluster and the virtual side as its virtual cluster. Four printed commands make an access key, show it with kubectl and disable it.',
      'With --once the demo plays a story instead and checks every step against both sides. It ends with 0, or at the first step that fails with 1 and the differences.',
    ],
    options: [
      { name: 'once', summary: 'play the story once, check every step, and end' },
      { name: 'folder', value: 'DIR', summary: 'folder for the kubeconfigs (default .hostward)' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward demo', says: 'watch the sync, no cluster needed' },
      { line: 'hostward demo --once', says: 'check that Hostward works here' },
    ],
  },
  {
    name: 'check',
    operands: '[FILE…]',
    maxOperands: mostFiles,
    operandsAre: 'config',
    summary: 'Report every fault and warning of a configuration, with its line and a fix',
    details: [
      'FILE is the same as --config FILE. The exit code is 1 when there is a fault, and 0 when there are only warnings.',
      'check compiles the expressions and runs them on samples in the sandbox. For a pair of expression and reverse expression, it reports the first value that comes back changed.',
    ],
    options: [
      ...settingOptions,
      { name: 'compat', summary: "list the differences from vCluster's own patch engine too" },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward check vcluster.yaml', says: 'before a release' },
      { line: 'hostward check -c base.yaml -c prod.yaml -o json', says: 'for another program' },
    ],
  },
  {
    name: 'render',
    operands: '',
    maxOperands: 0,
    summary: 'Print the host object that a virtual Endpoints or EndpointSlice becomes, without any cluster',
    details: [
      'Reads Endpoints and EndpointSlices, and optionally Services, from YAML or JSON: several documents and Lists are fine, `-` is standard input. An object counts as eligible unless a Service in the input says otherwise; a sentence on standard error then replaces the object.',
      'Several objects are printed as a v1 List. The exit code is 1 when a rule refuses an object that would be on the host otherwise, for its addresses or its name.',
      'Patches run in the sandbox process, as in the daemon. For a patch that fails, standard error names its position in the file, and the exit code is 1. With --host-object, render updates the host copy as the daemon would. With --back as well, render takes --host-object as an edit on the host and prints the virtual object that results from it.',
    ],
    options: [
      ...settingOptions,
      { name: 'file', short: 'f', value: 'FILE', repeats: true, summary: 'objects to render; - is standard input' },
      {
        name: 'owner-uid',
        value: 'UID',
        summary: 'uid of the host Service for the owner reference (default: no owner reference)',
      },
      { name: 'host-object', value: 'FILE', repeats: true, summary: 'host copies before the update' },
      { name: 'back', summary: 'print the virtual objects that result from the edited --host-object' },
      { name: 'explain', summary: 'list where each patch matched, the values before and after, and its time' },
      { name: 'bookkeeping', summary: 'show the hostward.dev/* annotations too' },
      output('yaml', 'json', 'diff'),
    ],
    examples: [
      { line: 'hostward render -c vcluster.yaml -f endpoints.yaml', says: 'the object that the daemon would write' },
      { line: 'hostward render -c vcluster.yaml -f endpoints.yaml --explain', says: 'the work of each patch' },
      {
        line: 'hostward render -c vcluster.yaml -f endpoints.yaml --host-object edited.yaml --back -o diff',
        says: 'the effect of an edit on the host on the tenant',
      },
      {
        line: 'kubectl get services,endpoints -A -o yaml | hostward render --vcluster-name vc --host-namespace vcluster-vc -f - -o diff',
        says: 'a whole cluster, as differences',
      },
    ],
  },
  {
    name: 'test',
    operands: 'DIR…',
    maxOperands: Number.POSITIVE_INFINITY,
    summary: 'Run test cases for patches: compare the objects they produce with expected objects',
    details: [
      'Every folder with a config.yaml is a case. virtual.yaml holds Endpoints or EndpointSlices, and Services where they matter; host.yaml holds the expected host objects; host-before.yaml, if present, holds the host copy before the change. In the folder back/, host.yaml is the host object after an edit on the host, and virtual.yaml is the expected virtual object. says.txt, here and in back/, holds the expected messages about objects that are not written. In a folder without config.yaml, test looks for cases below it.',
      'Without names in config.yaml, the virtual cluster is my-vcluster and its host namespace vcluster-my-vcluster. The exit code is 1 on a difference.',
    ],
    options: [
      { name: 'update', summary: 'write the results as the expected objects' },
      { name: 'junit', value: 'FILE', summary: 'write the results as JUnit XML too' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward test patches/', says: 'all cases below a folder' },
      { line: 'hostward test patches/my-case --update', says: 'accept the new results; read them with git diff' },
    ],
  },
  {
    name: 'eval',
    operands: '[EXPRESSION]',
    maxOperands: 1,
    summary: 'Evaluate one patch expression in the sandbox, without any cluster',
    details: [
      'The value comes from --value, or else from --path in the object; without either, value is null and valueExists is false. -o json prints {"value": …} or {"error": {"kind", "message", "position"}}, where kind is syntax, rejected, threw, timeout, memory, size, type or crash; undefined becomes null. A path with several matches gives {"matches": […]}. The exit code is 1 on an error.',
      'With --stdin every line is a request in JSON, {"expression", "value", "valueExists", "path", "object", "hostObject"}, and every answer is a line, in the same order; the command line fills in the members that a request leaves out. The exit code is then always 0.',
      'Put an expression that begins with a dash after the options and after --.',
    ],
    options: [
      { name: 'value', value: 'JSON', summary: 'the value; a text needs its quotes: \'"text"\'' },
      {
        name: 'path',
        value: 'PATH',
        mayBeEmpty: true,
        summary: 'context.path; without --value, the value at this path in the object',
      },
      { name: 'file', short: 'f', value: 'FILE', summary: 'context.virtualObject; - is standard input' },
      { name: 'host-object', value: 'FILE', summary: 'context.hostObject' },
      { name: 'back', summary: 'run as a reverse expression: --path leads into the host object' },
      { name: 'stdin', summary: 'answer requests from standard input, line by line' },
      ...settingOptions,
      output('text', 'json'),
    ],
    examples: [
      { line: `hostward eval 'value.replace("a", "b")' --value '"abc"'`, says: 'try an expression' },
      {
        line: `hostward eval '"p-" + value' --path 'metadata.labels.app' -f endpoints.yaml -o json`,
        says: 'on a field of an object',
      },
      { line: 'hostward eval --stdin < requests.jsonl', says: 'many at once' },
    ],
  },
  {
    name: 'status',
    operands: '[NAMESPACE/NAME]',
    maxOperands: 1,
    summary: 'Say whether the running daemon is well, and why one object is or is not on the host',
    details: [
      'The first line is the verdict: in step, behind, blocked, or an API server that cannot be reached and since when. The exit code is 0 when all is well, 1 when someone should look, 2 for usage, 3 when the daemon does not answer. With NAMESPACE/NAME it is 1 while the object is refused, waits or is tried again.',
      'With --namespace, --state, --kind or --all, status lists objects with their states: inSync, pending, retry, waiting, refused, left, ineligible; a reason follows after a slash.',
      'status asks the daemon through its local HTTP port. The port answers this question only on its own machine: inside a cluster, use kubectl exec or kubectl port-forward.',
    ],
    options: [
      {
        name: 'address',
        value: 'HOST:PORT',
        summary: 'address of the daemon (default 127.0.0.1:9440, or hostward.listen in --config)',
      },
      { name: 'all', summary: 'list every object with its state' },
      { name: 'namespace', short: 'n', value: 'NAMESPACE', summary: 'list the objects of one namespace' },
      { name: 'state', value: 'STATE', summary: 'list the objects in one state, like refused or refused/NotOwned' },
      { name: 'kind', value: 'KIND', summary: 'list the objects of one kind: Endpoints or EndpointSlice' },
      { name: 'watch', short: 'w', summary: 'ask again every two seconds, until Ctrl-C' },
      ...settingOptions,
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward status', says: 'the daemon as a whole' },
      { line: 'hostward status default/nginx', says: 'why one object is, or is not, on the host' },
      { line: 'hostward status -n shop --state refused', says: 'refused objects of one namespace' },
    ],
  },
  {
    name: 'release',
    operands: '',
    maxOperands: 0,
    summary: "Remove Hostward's annotations from the host objects so that vCluster can take over, or remove the copies",
    details: [
      "Stop the daemon first: a running daemon would put everything back. release touches only objects that bear Hostward's marks, each with its uid and resourceVersion as a precondition.",
      'With --delete, release also deletes the Secrets and ConfigMaps that reference patches have copied to the host, now or earlier. Without the permission to list them it says so and does the rest.',
    ],
    options: [
      ...settingOptions,
      { name: 'delete', summary: 'delete the host copies instead' },
      { name: 'dry-run', summary: 'list the objects and change nothing' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward release -c vcluster.yaml', says: 'hand the objects back to vCluster' },
      { line: 'hostward release -c vcluster.yaml --delete --dry-run', says: 'list the copies that would be deleted' },
    ],
  },
  {
    name: 'devcluster',
    operands: '',
    maxOperands: 0,
    summary: 'Run one embedded API server for kubectl and tests',
    details: [
      'Serves the core kinds over TLS and writes a kubeconfig. Ctrl-C ends the server.',
      'Impersonate-* headers are honoured as in kube-apiserver. With --authorization rbac the cluster has the roles cluster-admin, admin, edit and view from the start, and reviews (kubectl auth can-i) answer by the roles. Rules of aggregated roles are gathered at start.',
    ],
    options: [
      { name: 'port', value: 'PORT', summary: 'port on 127.0.0.1 (default: a free one)' },
      {
        name: 'data',
        value: 'FILE',
        summary: 'SQLite file to keep the objects in, and beside it FILE-authority with its CA (default: memory)',
      },
      {
        name: 'kubeconfig',
        value: 'FILE',
        summary: 'where to write the kubeconfig (default .hostward/devcluster.kubeconfig)',
      },
      {
        name: 'client-ca-file',
        value: 'FILE',
        summary: 'PEM file of authorities; a client certificate of theirs names the user (CN) and the groups (O)',
      },
      {
        name: 'authorization',
        value: 'open|rbac',
        choices: ['open', 'rbac'],
        summary: 'open: administrators may do everything; rbac: roles and bindings decide',
      },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward devcluster --port 6443', says: 'an API server on a known port' },
      { line: 'hostward devcluster --client-ca-file ca.crt', says: 'let people in by certificate' },
      { line: 'hostward devcluster --authorization rbac', says: 'roles and bindings count' },
    ],
  },
  ...keysCommands,
  {
    name: 'schema',
    operands: '',
    maxOperands: 0,
    summary: 'Print the JSON Schema of the configuration',
    details: ['For editors and for other programs that check a configuration.'],
    options: [output('json')],
    examples: [{ line: 'hostward schema > hostward.schema.json', says: 'for completion in an editor' }],
  },
];

export function commandNamed(name: string): CommandSpec | undefined {
  return commands.find((command) => command.name === name);
}

/** The commands whose names begin with this word; none when it is a command of its own. */
export function commandsOfGroup(word: string): readonly CommandSpec[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `));
}
