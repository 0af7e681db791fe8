// Every check, in the order in which they run: what others need comes first.

import { activeChecks } from './checks/active.ts';
import { hostChecks, virtualChecks } from './checks/clusters.ts';
import { configurationChecks } from './checks/configuration.ts';
import { daemonChecks } from './checks/daemon.ts';
import { mirrorChecks, placeChecks } from './checks/host.ts';
import { managementChecks } from './checks/management.ts';
import { replicaChecks } from './checks/replicas.ts';
import { rightsChecks } from './checks/rights.ts';
import { vclusterChecks } from './checks/vcluster.ts';
import type { Check } from './patient/check.ts';

export const allChecks: readonly Check[] = [
  ...configurationChecks,
  ...virtualChecks,
  ...hostChecks,
  ...placeChecks,
  ...rightsChecks,
  ...mirrorChecks,
  ...vclusterChecks,
  ...replicaChecks,
  ...daemonChecks,
  ...managementChecks,
  ...activeChecks,
];
