// Every setting that Hostward reads, as data: its path, allowed values, default and description. Validation, defaults, the
// JSON Schema and the reference page are all generated from these rows.
import { directRows } from './rows/direct-rows.ts';
import { managementRows } from './rows/management-rows.ts';
import { ownRows } from './rows/own-rows.ts';
import type { Setting } from './rows/setting.ts';
import { vclusterRows } from './rows/vcluster-rows.ts';

export type { Setting, SettingShape } from './rows/setting.ts';

/** An unknown key under these paths is a fault; elsewhere unknown keys belong to vCluster and are ignored. */
export const closedPaths: readonly string[] = [
  'sync.toHost.endpoints',
  'sync.toHost.endpointSlices',
  'sync.toHost.namespaces',
  'hostward',
];

export const settingsTable: readonly Setting[] = [...vclusterRows, ...ownRows, ...managementRows, ...directRows];
