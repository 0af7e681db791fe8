// The commands that check, try and test a configuration without any cluster.
import type { CommandSpec } from './command-spec.ts';
import { output, settingOptions } from './options.ts';

/** More files than a person merges; beyond it a shell has probably expanded a wildcard in the wrong folder. */
const mostFiles = 100;

export const offlineCommands: readonly CommandSpec[] = [
  {
    name: 'check',
    operands: '[FILE…]',
    maxOperands: mostFiles,
    operandsAre: 'config',
    summary: 'Report every fault and warning of a configuration, with its line and a fix',
    details: [
      'FILE is the same as --config FILE. The exit code is 1 when there is a fault, and 0 when there are only warnings; with --strict it is 1 for warnings too.',
      'check also looks at the kubeconfigs, certificates and keys that the configuration names. A file that is missing, cannot be read or holds something else is a fault, and so are a key that does not belong to its certificate and a dataDir that cannot be written or made. A certificate that has expired is a warning. No cluster is asked.',
      'check compiles the expressions and runs them on samples in the sandbox. A result that no object may hold, such as a number as an address, is a fault. An expression that fails on every sample, and a patch that turns every sample into an address that the policy refuses, is a warning. For a pair of expression and reverse expression, it reports the first value that comes back changed, and the first value written on the host of which the tenant would get only a part.',
    ],
    options: [
      ...settingOptions,
      { name: 'strict', summary: 'end with 1 on warnings too' },
      {
        name: 'no-files',
        summary: 'leave out the files and folders that the configuration names: they live elsewhere',
      },
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
    name: 'playground',
    operands: '[LINK]',
    maxOperands: 1,
    summary: 'Try patches in the browser: what they make of an object, while you type',
    details: [
      'Serves a page on this machine until Ctrl-C, and prints its address. The address holds a token, without which the page gets no answer; on a terminal of a desktop a browser opens it, by way of a file that only you can read. LINK is a link that somebody shared from the page: it holds the whole case, and no token.',
      'The page shows the host object as a difference, the matches and the time of each patch, and every fault at its line. It is evaluated here, by the code of render, test and eval, in the sandbox; no cluster, no configuration and no file is read, and nothing is fetched from elsewhere.',
      'A daemon serves the same page where its configuration says hostward.playground: true; a link to it is on its status page.',
    ],
    options: [
      { name: 'listen', value: 'HOST:PORT', summary: 'where to serve the page (default 127.0.0.1 and a free port)' },
      { name: 'no-browser', summary: 'only print the address' },
      output('text', 'json'),
    ],
    examples: [
      { line: 'hostward playground', says: 'write a first patch' },
      { line: 'hostward playground --listen 127.0.0.1:8080', says: 'on a known port' },
    ],
  },
];
