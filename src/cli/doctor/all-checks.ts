// Every check, in the order in which they run: what others need comes first.
import type { Check } from './check.ts';
import { hostChecks, virtualChecks } from './checks/clusters.ts';
import { configurationChecks } from './checks/configuration.ts';
import { mirrorChecks, placeChecks } from './checks/host.ts';
import { rightsChecks } from './checks/rights.ts';

export const allChecks: readonly Check[] = [
  ...configurationChecks,
  ...virtualChecks,
  ...hostChecks,
  ...placeChecks,
  ...rightsChecks,
  ...mirrorChecks,
];
