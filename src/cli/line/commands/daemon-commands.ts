// The commands that run the daemon, ask it and take its marks off the host again.
import type { CommandSpec } from './command-spec.ts';
import { output, settingOptions } from './options.ts';

export const runCommand: CommandSpec = {
  name: 'run',
  operands: '',
  maxOperands: 0,
  summary: 'Run the daemon: sync Endpoints and EndpointSlices from the virtual cluster to its host',
  details: [
    'Loads the configuration, connects to both clusters, and keeps the host in step with the virtual cluster. SIGTERM or SIGINT ends the daemon within 5 seconds with exit code 0. SIGHUP and a changed file reload the configuration; when the new configuration is invalid, the old one stays in force.',
    'A cluster that cannot be reached at the start ends the daemon with exit code 3. --wait 5m waits up to five minutes for an API server, for example a virtual API server that starts in the same pod; until then the log and /readyz name the trouble, and /healthz stays fine. The daemon waits only for trouble that can pass by itself: nothing listens, no such name, no answer, 5xx, a kubeconfig that is not written yet. Credentials that the server refuses end the daemon after 15 seconds, because a server that has just started refuses everybody; a wrong CA or a server that is not Kubernetes ends it at once.',
    'With --dry-run the daemon writes nothing: `hostward status --all` lists every write that an object needs, and a metric counts the objects. In this way you can watch the daemon beside vCluster before it takes over.',
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
};

export const statusCommand: CommandSpec = {
  name: 'status',
  operands: '[NAMESPACE/NAME]',
  maxOperands: 1,
  summary: 'Say whether the running daemon is well, and why one object is or is not on the host',
  details: [
    'The last line is the verdict, the worst first, and since when each part of it holds: in step, incomplete (host edits that cannot reach the tenant, references with nothing behind them, patches that were left out), behind, blocked, or an API server that cannot be reached and since when. The exit code is 0 when all is well, 1 when someone should look, 2 for usage, 3 when the daemon does not answer. With NAMESPACE/NAME it tells of every kind of that name, also of a Secret or a ConfigMap behind a reference, and is 1 while one of them is refused, waits, is tried again or is incomplete.',
    'Without options, status fits a screen of 24 lines: counts, what needs a person, and what to do about it. --all tells all facts about the daemon and lists every object. --namespace, --state and --kind list the objects they name. The states are inSync, pending, retry, waiting, refused, left, ineligible; a reason follows after a slash.',
    'status asks the daemon through its local HTTP port. The port answers this question only on its own machine: inside a cluster, use kubectl exec or kubectl port-forward.',
  ],
  options: [
    {
      name: 'address',
      value: 'HOST:PORT',
      summary: 'address of the daemon (default 127.0.0.1:9440, or hostward.listen in --config)',
    },
    { name: 'all', summary: 'tell everything, and list every object with its state' },
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
};

export const releaseCommand: CommandSpec = {
  name: 'release',
  operands: '',
  maxOperands: 0,
  summary: "Remove Hostward's annotations from the host objects so that vCluster can take over, or remove the copies",
  details: [
    "Stop the daemon first: a running daemon would put everything back. release refuses to run while a daemon of the same virtual cluster holds its lease or answers at hostward.listen on this machine; it cannot see other daemons. release touches only objects that bear Hostward's marks, each with its uid and resourceVersion as a precondition.",
    'An object whose marks, name and place do not agree is left alone, with the reason: somebody may have changed a mark by hand, or may have made an object of their own from a copy. With --delete, one that another controller owns is left too.',
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
};

export const doctorCommand: CommandSpec = {
  name: 'doctor',
  operands: '',
  maxOperands: 0,
  summary: 'Ask both live clusters, and the management API, whether all that Hostward needs is there',
  details: [
    'Prints a line for each check with its verdict: ok, warning, fault, or could not check. Checks that depend on a fault or on what could not be checked are not made, and the last lines name them. Each finding has a code and the command that mends it; `hostward docs doctor` explains each code. Run it where the daemon runs, with the options of `hostward run`: the rights are those of the credentials that doctor uses.',
    'The exit code is 0 without a fault; with --strict warnings count too. It is 1 with at least one fault, wherever it lies, and 3 when a cluster could not be asked at all or answered no more.',
    'doctor changes nothing. Only --active does: it makes a labelled Service with Endpoints and an EndpointSlice in the virtual cluster, waits for both copies on the host, changes and deletes them, within ten seconds, and leaves nothing behind, also after Ctrl-C.',
  ],
  options: [
    ...settingOptions,
    { name: 'pre', summary: 'before the installation: may you install, and is all in place that must be there before' },
    {
      name: 'manifests',
      value: 'FILE',
      repeats: true,
      summary: 'as --pre, for the manifests in FILE, such as the output of helm template; - is standard input',
    },
    { name: 'active', summary: 'also make test objects, see their copies on the host, and delete them' },
    {
      name: 'wait',
      value: 'DURATION',
      summary: 'look again until no fault is left and all is answered, at most this long, like 2m',
    },
    { name: 'suppress', value: 'CODE', repeats: true, summary: 'leave a check out of the report and the exit code' },
    { name: 'strict', summary: 'warnings count as faults' },
    {
      name: 'rights',
      value: 'host|virtual',
      choices: ['host', 'virtual'],
      summary:
        'print only the rights that are missing in that cluster, as Roles and bindings for kubectl auth reconcile',
    },
    output('text', 'json'),
  ],
  examples: [
    { line: 'hostward doctor -c vcluster.yaml', says: 'is anything wrong' },
    { line: 'hostward doctor -c vcluster.yaml --pre', says: 'before the installation' },
    {
      line: 'hostward doctor -c vcluster.yaml --manifests rendered.yaml',
      says: 'the same for any values of the chart, of which helm template makes that file',
    },
    { line: 'hostward doctor -c vcluster.yaml --active --wait 2m', says: 'after it, in a pipeline' },
    {
      line: 'hostward doctor -c vcluster.yaml --rights host',
      says: 'Roles with what is missing, for | kubectl auth reconcile -f -',
    },
  ],
};
