// Which checks are about a store in a cluster, and its settings.
import type { StoreSettings } from '../../../../config/settings/management-settings.ts';
import type { Patient } from '../../patient/patient.ts';

interface SharedStore extends StoreSettings {
  kubernetes: NonNullable<StoreSettings['kubernetes']>;
}

export function storeOf({ settings }: Patient): SharedStore {
  const store = settings.managementServer?.store;
  if (store?.kubernetes === undefined) throw new Error('a check of records runs without a store in a cluster');
  return store as SharedStore;
}

export const isShared = (patient: Patient): boolean =>
  patient.settings.managementServer?.store?.kubernetes !== undefined && !patient.isBeforeInstallation;
