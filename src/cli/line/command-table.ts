// Every command and option as data. The parser, --help, the faults of usage and the table in the README are made from it,
// so that a command cannot exist without its words.

import type { CommandSpec, OptionSpec } from './command-spec.ts';
import { keysCommands } from './keys-commands.ts';

/** More than anybody merges; a shell that expands a wildcard in the wrong folder is told so. */
const mostFiles = 100;

const config: OptionSpec = {
  name: 'config',
  short: 'c',
  value: 'FILE',
  repeats: true,
  summary: 'configuration file, - is standard input; several are merged in order, maps deeply, lists replaced',
};

/** What names the virtual cluster and the two API servers; each wins over the configuration and the environment. */
export const settingOptions: readonly OptionSpec[] = [
  config,
  { name: 'vcluster-name', value: 'NAME', summary: 'name of the virtual cluster (environment: VCLUSTER_NAME)' },
  { name: 'host-namespace', value: 'NAME', summary: 'its namespace on the host (environment: NAMESPACE)' },
  { name: 'virtual-kubeconfig', value: 'FILE', summary: 'kubeconfig of the virtual cluster' },
  { name: 'host-kubeconfig', value: 'FILE', summary: 'kubeconfig of the host; in-cluster credentials without it' },
];

function output(...choices: string[]): OptionSpec {
  return { name: 'output', short: 'o', value: choices.join('|'), choices, summary: 'form of the output' };
}

export const globalOptions: readonly OptionSpec[] = [
  { name: 'help', short: 'h', summary: 'what a command does, its options and examples' },
  { name: 'version', summary: 'version of this program' },
  { name: 'verbose', short: 'v', summary: 'more detail, and the stack of a bug (environment: HOSTWARD_DEBUG=1)' },
];

export const commands: readonly CommandSpec[] = [
  {
    name: 'run',
    operands: '',
    maxOperands: 0,
    summary: 'Run the daemon: sync Endpoints from the virtual cluster to its host',
    details: [
      'Loads the configuration, connects to both clusters, and keeps the host in step with the virtual cluster. SIGTERM or SIGINT ends it within 5 seconds with exit code 0. SIGHUP and a changed file reload the configuration; an invalid new one keeps the old one running.',
      'A cluster that cannot be reached at the start ends the daemon with exit code 3. --wait gives the cluster time to come up, for example a virtual API server that starts in the same pod; meanwhile the log and /readyz name the trouble, and /healthz stays fine. The daemon waits only for trouble that can pass by itself: nothing listens, no such name, no answer, 5xx, a kubeconfig that is not written yet. Wrong credentials, a wrong CA or a server that is not Kubernetes end it at once.',
      'With --dry-run everything happens except writes: `hostward status` lists every write that an object needs, and a metric counts the objects, so that the daemon can be watched beside vCluster before it takes over.',
    ],
    options: [
      ...settingOptions,
      {
        name: 'wait',
        value: 'DURATION',
        summary: 'how long a cluster that cannot be reached may take to come up, like 5m (default 0)',
      },
      { name: 'dry-run', summary: 'write nothing to either cluster' },
    ],
    examples: [
      { line: 'hostward run --config vcluster.yaml', says: 'inside the pod of a virtual cluster' },
      { line: 'hostward run --config vcluster.yaml --wait 5m', says: 'the same, when its API server starts later' },
      {
        line: 'hostward run -c vcluster.yaml --virtual-kubeconfig v.yaml --host-kubeconfig h.yaml --dry-run',
        says: 'from a laptop, without writing',
      },
    ],
  },
  {
    name: 'demo',
    operands: '',
    maxOperands: 0,
    summary: 'Run two embedded clusters with the daemon between them and samples that change',
    details: [
      'Shows a live table on a terminal and plain lines otherwise. Kubeconfigs for both sides are written to .hostward/, or to .hostward/2 and so on while other demos run, and removed at the end; the kubectl commands to look at both sides are printed. Ctrl-C drains and ends it.',
      'The daemon runs with three patches: a label with a prefix on the host that is taken off on the way back, addresses of one subnet as those of another, and the name of a Secret as the host calls it. Below the table a line for each says how many values it was given and how many it changed.',
      'With --once it plays a story instead, checks every step against both sides, and ends with 0, or with 1 and what differed.',
    ],
    options: [
      { name: 'once', summary: 'play the story once, check every step, and end' },
      { name: 'folder', value: 'DIR', summary: 'where kubeconfigs go (default .hostward)' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward demo', says: 'watch it work, no cluster needed' },
      { line: 'hostward demo --once', says: 'check that it works' },
    ],
  },
  {
    name: 'check',
    operands: '[FILE…]',
    maxOperands: mostFiles,
    operandsAre: 'config',
    summary: 'Report every fault and warning of a configuration, with its line and how to mend it',
    details: [
      'FILE is the same as --config FILE. Exit code 1 when there is a fault; warnings alone leave it at 0.',
      'Expressions are compiled, and every pair of expression and reverse expression is tried on samples in the sandbox: the first value that comes back as another one is reported.',
    ],
    options: [
      ...settingOptions,
      { name: 'compat', summary: "say too what patches do otherwise than in vCluster's own engine" },
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
    summary: 'Print the host object that a virtual Endpoints becomes, without any cluster',
    details: [
      'Reads Endpoints, and optionally Services, from YAML or JSON: several documents and Lists are fine, `-` is standard input. Endpoints are taken as eligible unless a Service in the input says otherwise; then nothing is printed for them but a sentence on standard error.',
      'Several objects are printed as a v1 List.',
      'Patches run in the sandbox process, as in the daemon. One that fails is told on standard error with its place in the file, and the exit code is 1. With --host-object the host copy is updated as the daemon would update it; with --back too, the virtual object is printed that this host object, edited by somebody, makes of the one in --file.',
    ],
    options: [
      ...settingOptions,
      { name: 'file', short: 'f', value: 'FILE', repeats: true, summary: 'objects to render; - is standard input' },
      {
        name: 'owner-uid',
        value: 'UID',
        summary: 'uid of the host Service for the owner reference, left out without it',
      },
      { name: 'host-object', value: 'FILE', repeats: true, summary: 'host copies as they are now, to be updated' },
      { name: 'back', summary: 'print the virtual objects that the edited --host-object makes' },
      { name: 'explain', summary: 'tell which patch matched where, values before and after, and its time' },
      { name: 'bookkeeping', summary: 'show the hostward.dev/* annotations too' },
      output('yaml', 'json', 'diff'),
    ],
    examples: [
      { line: 'hostward render -c vcluster.yaml -f endpoints.yaml', says: 'what would be written' },
      { line: 'hostward render -c vcluster.yaml -f endpoints.yaml --explain', says: 'what each patch does' },
      {
        line: 'hostward render -c vcluster.yaml -f endpoints.yaml --host-object edited.yaml --back -o diff',
        says: 'what an edit on the host does to the tenant',
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
    summary: 'Check what patches make of virtual and host objects against what is expected',
    details: [
      'Every folder with a config.yaml is a case: virtual.yaml holds Endpoints, and Services where they matter, host.yaml the expected host objects. host-before.yaml is the host copy before the change, if there is one. A folder back/ has host.yaml, edited as somebody on the host would, and virtual.yaml, what the virtual objects must become. says.txt, here and in back/, holds what must be said of objects that are not written. Folders without config.yaml are searched.',
      'Names that config.yaml does not give are my-vcluster and vcluster-my-vcluster. Exit code 1 on a difference.',
    ],
    options: [
      { name: 'update', summary: 'write what is found as what is expected' },
      { name: 'junit', value: 'FILE', summary: 'write the results as JUnit XML too' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward test patches/', says: 'all cases below a folder' },
      { line: 'hostward test patches/my-case --update', says: 'take the results over, to be read in the diff' },
    ],
  },
  {
    name: 'eval',
    operands: '[EXPRESSION]',
    maxOperands: 1,
    summary: 'Evaluate one patch expression in the sandbox, without any cluster',
    details: [
      'The value is what --value says, else what stands at --path in the object; where there is neither, value is null and valueExists false. With -o json it prints {"value": …} or {"error": {"kind", "message", "position"}}, where kind is syntax, rejected, threw, timeout, memory, size, type or crash; undefined becomes null. A path that matches several places gives {"matches": […]}. Exit code 1 on an error.',
      'With --stdin every line is a request in JSON, {"expression", "value", "valueExists", "path", "object", "hostObject"}, and every answer a line, in order; what a request leaves out comes from the command line. It ends with 0 whatever the answers say.',
      'An expression that begins with a dash goes behind --, after the options.',
    ],
    options: [
      { name: 'value', value: 'JSON', summary: 'the value; a text needs its quotes: \'"text"\'' },
      {
        name: 'path',
        value: 'PATH',
        mayBeEmpty: true,
        summary: 'context.path, and where in the object the value is without --value',
      },
      { name: 'file', short: 'f', value: 'FILE', summary: 'context.virtualObject; - is standard input' },
      { name: 'host-object', value: 'FILE', summary: 'context.hostObject' },
      { name: 'back', summary: 'as a reverse expression: --path is one of the host object' },
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
      'The first line is the verdict: in step, behind, blocked, or an API server that cannot be reached and since when. Exit code 0 when all is well, 1 when somebody should look, 2 for usage, 3 when the daemon cannot be asked. Of one object it is 1 while it is refused, waits or is tried again.',
      'With --namespace, --state or --all it lists objects with their states: inSync, pending, retry, waiting, refused, left, ineligible; a reason follows behind a slash.',
      'Asks the daemon through its local HTTP port, which answers this question to its own machine only: inside a cluster, use kubectl exec or kubectl port-forward.',
    ],
    options: [
      {
        name: 'address',
        value: 'HOST:PORT',
        summary: 'where the daemon listens (default 127.0.0.1:9440, or what --config says)',
      },
      { name: 'all', summary: 'list every object with its state' },
      { name: 'namespace', short: 'n', value: 'NAMESPACE', summary: 'list the objects of one namespace' },
      { name: 'state', value: 'STATE', summary: 'list the objects in one state, like refused or refused/NotOwned' },
      { name: 'watch', short: 'w', summary: 'ask again every two seconds, until Ctrl-C' },
      ...settingOptions,
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward status', says: 'the daemon as a whole' },
      { line: 'hostward status default/nginx', says: 'why this object is, or is not, on the host' },
      { line: 'hostward status -n shop --state refused', says: 'objects of one namespace that are refused' },
    ],
  },
  {
    name: 'release',
    operands: '',
    maxOperands: 0,
    summary: 'Take our annotations off the host objects so that vCluster can take over, or remove the copies',
    details: [
      'Stop the daemon first: a running one would put everything back. Only objects that are provably ours are touched, each with its uid and resourceVersion as a precondition.',
      'With --delete the Secrets and ConfigMaps go too that reference patches have copied to the host, now or earlier; without the right to list them that is said, and the rest is done.',
    ],
    options: [
      ...settingOptions,
      { name: 'delete', summary: 'delete the host copies instead' },
      { name: 'dry-run', summary: 'say what would be done' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward release -c vcluster.yaml', says: 'hand the objects back to vCluster' },
      { line: 'hostward release -c vcluster.yaml --delete --dry-run', says: 'see what would be deleted' },
    ],
  },
  {
    name: 'devcluster',
    operands: '',
    maxOperands: 0,
    summary: 'Run one embedded API server for kubectl and tests',
    details: ['Serves the core kinds over TLS and writes a kubeconfig for it. Ctrl-C ends it.'],
    options: [
      { name: 'port', value: 'PORT', summary: 'port on 127.0.0.1 (default: a free one)' },
      { name: 'data', value: 'FILE', summary: 'SQLite file to keep the objects in (default: memory)' },
      {
        name: 'kubeconfig',
        value: 'FILE',
        summary: 'where its kubeconfig goes (default .hostward/devcluster.kubeconfig)',
      },
      output('text', 'json'),
    ],
    examples: [{ line: 'hostward devcluster --port 6443', says: 'an API server on a known port' }],
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
