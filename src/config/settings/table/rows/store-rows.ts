// The rows of the settings table for where the management API keeps its records and its secrets.
import type { Setting } from './setting.ts';

const block = 'hostward.management';
const start = { field: 'managementServer', change: 'restart' } as const;

export const storeRows: readonly Setting[] = [
  {
    path: `${block}.secretsDir`,
    shape: { kind: 'text', rule: 'folder' },
    defaultWords: '`dataDir`',
    ...start,
    about:
      'Folder of the peppers, the token keys and the own authorities. All replicas need the same content; `dataDir` is for each alone.',
  },
  {
    path: `${block}.store`,
    shape: { kind: 'map' },
    ...start,
    about: 'Where the records are. Without it they lie in a SQLite file in `dataDir`, for one replica.',
  },
  {
    path: `${block}.store.kubernetes`,
    shape: { kind: 'map' },
    ...start,
    about:
      'The API server of a cluster keeps the records, as Secrets in a namespace of their own, for several replicas.',
  },
  {
    path: `${block}.store.kubernetes.kubeconfig`,
    shape: { kind: 'text', rule: 'file', holds: 'kubeconfig' },
    defaultWords: 'the service account of the pod',
    ...start,
    about: 'How that cluster is reached.',
  },
  {
    path: `${block}.store.kubernetes.namespace`,
    shape: { kind: 'text', rule: 'name' },
    required: true,
    ...start,
    about: 'Namespace of the records. Nothing else may live there: whoever reads its Secrets reads the records.',
  },
  {
    path: `${block}.store.maxRecords`,
    shape: { kind: 'integer', from: 100, to: 1_000_000 },
    default: 20_000,
    ...start,
    about: 'Records that a store in a cluster may have; each costs the API server memory. What makes more is refused.',
  },
  {
    path: `${block}.store.maxBytes`,
    shape: { kind: 'integer', from: 1_000_000, to: 4_000_000_000 },
    default: 50_000_000,
    ...start,
    about: 'Bytes that all records of a store in a cluster may have together.',
  },
];
