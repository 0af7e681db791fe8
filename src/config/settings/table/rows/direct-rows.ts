// The rows of the settings table for a direct endpoint, hostward.direct, and the rule that concerns several of them. A change
// needs a restart of the endpoint.
import { type Fault, fault, quoted } from '../../../fault.ts';
import { Positions } from '../../../yaml/positions.ts';
import { type SettingsPath, showPath } from '../../../yaml/settings-path.ts';
import type { TreeNode } from '../../../yaml/tree.ts';
import type { DirectSettings } from '../../management-settings.ts';
import type { FileContent, Setting, SettingShape } from './setting.ts';

const block = 'hostward.direct';
const row = { field: 'direct', change: 'restart' } as const;
const fileOf = (holds: FileContent): SettingShape => ({ kind: 'text', rule: 'file', holds });
const label: SettingShape = { kind: 'text', rule: 'name' };
const url: SettingShape = { kind: 'text', rule: 'url' };

/** Seconds. Signs of life come every five; after five minutes without one nobody should trust what was heard before. */
const silence = { from: 10, to: 300, default: 30 };

export const directRows: readonly Setting[] = [
  {
    path: block,
    shape: { kind: 'map' },
    ...row,
    about: 'A direct endpoint beside a cluster, which `hostward direct` serves. It takes direct tokens only.',
  },
  {
    path: `${block}.listen`,
    shape: { kind: 'text', rule: 'listen' },
    default: '127.0.0.1:8444',
    ...row,
    about: 'Where the endpoint is served, always over TLS.',
  },
  {
    path: `${block}.cluster`,
    shape: label,
    required: true,
    ...row,
    about: 'Name of the cluster, as `hostward.management.clusters` of the platform has it. Tokens must be for it.',
  },
  {
    path: `${block}.kubeconfig`,
    shape: fileOf('kubeconfig'),
    defaultWords: 'in-cluster credentials',
    ...row,
    about: 'How the cluster is reached. `hostward upstream-rbac` prints the rights that it needs.',
  },
  {
    path: `${block}.platform`,
    shape: url,
    required: true,
    ...row,
    about: '`baseURL` of the management server, which issues the tokens.',
  },
  {
    path: `${block}.certificateAuthority`,
    shape: fileOf('authorities'),
    defaultWords: 'public authorities',
    ...row,
    about: 'PEM file with the certificates that the management server is trusted by.',
  },
  {
    path: `${block}.keyFile`,
    shape: fileOf('access-key'),
    required: true,
    ...row,
    about:
      'File with an access key whose scope has the role `agent`, to follow revocations and send reports. Read at every connection.',
  },
  {
    path: `${block}.silence`,
    shape: { kind: 'integer', from: silence.from, to: silence.to },
    default: silence.default,
    ...row,
    about:
      'Seconds without a sign of life of the platform after which all requests are refused and all streams closed.',
  },
  {
    path: `${block}.spaces`,
    shape: { kind: 'list' },
    default: [],
    ...row,
    about: 'Spaces of the cluster, as the platform has them.',
  },
  { path: `${block}.spaces[].project`, shape: label, required: true, ...row, about: 'Project of the space.' },
  { path: `${block}.spaces[].name`, shape: label, required: true, ...row, about: 'Name of the space.' },
  { path: `${block}.spaces[].namespace`, shape: label, required: true, ...row, about: 'Its namespace.' },
  {
    path: `${block}.tls`,
    shape: { kind: 'map' },
    ...row,
    about: 'Certificate of the endpoint instead of one of a CA of its own.',
  },
  {
    path: `${block}.tls.certificate`,
    shape: fileOf('certificate'),
    required: true,
    ...row,
    about: 'PEM file with the certificates.',
  },
  {
    path: `${block}.tls.key`,
    shape: fileOf('private-key'),
    required: true,
    ...row,
    about: 'PEM file with the private key.',
  },
  {
    path: `${block}.dataDir`,
    shape: { kind: 'text', rule: 'folder' },
    default: '.hostward/direct',
    ...row,
    about: 'Folder of the own CA, where no certificate is given.',
  },
];

/** `own` is the tree of our own settings, and `place` is its path. */
export function directFaults(
  values: DirectSettings | undefined,
  own: TreeNode | undefined,
  place: SettingsPath,
): Fault[] {
  const positions = new Positions(own);
  const seen = new Set<string>();
  return (values?.spaces ?? []).flatMap((space, at): Fault[] => {
    // A faulty item of a list is undefined.
    if (space?.project === undefined || space.name === undefined) return [];
    const name = `${space.project}/${space.name}`;
    const isKnown = seen.has(name);
    seen.add(name);
    if (!isKnown) return [];
    const below = ['direct', 'spaces', at, 'name'];
    const parts = { found: `${quoted(name)} a second time`, wanted: 'every space once' };
    const path = showPath([...place, ...below]);
    return [fault({ code: 'CONFIG_DUPLICATE_NAME', at: positions.positionOf(below), path, ...parts })];
  });
}
