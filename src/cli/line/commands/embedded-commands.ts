// The commands that run embedded clusters.
import type { CommandSpec } from './command-spec.ts';
import { output } from './options.ts';

export const demoCommand: CommandSpec = {
  name: 'demo',
  operands: '',
  maxOperands: 0,
  summary: 'Run two embedded clusters with the daemon between them and samples that change',
  details: [
    'Shows a live table on a terminal and plain lines otherwise. The demo writes kubeconfigs for both sides to .hostward/, or to .hostward/2 and so on while other demos run, and removes them at the end. It prints commands for a second terminal in the same folder, such as the kubectl commands to look at both sides; a terminal of fewer than 80 columns and 42 rows shows less of them. Ctrl-C ends the demo.',
    'The daemon runs with three patches: one adds a prefix to a label on the host and removes it on the way back, one moves addresses to another subnet, and one gives a Secret its name on the host. Below the table, one line for each patch says how many values it was given and how many it changed.',
    'A management API runs beside them, with one project, the host as its cluster and the virtual side as its virtual cluster. Printed commands make an access key, show it with kubectl, disable it, fetch a kubeconfig, and use a direct token.',
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
};

export const devclusterCommand: CommandSpec = {
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
};
