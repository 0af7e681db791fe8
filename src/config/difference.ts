// What a new configuration changes, and which of it a running daemon cannot take over.
import { isDeepStrictEqual } from 'node:util';
import type { Settings } from './settings.ts';
import { settingsTable } from './table.ts';

export interface SettingChange {
  field: keyof Settings;
  /** Where it may be set, for people. */
  paths: readonly string[];
  needsRestart: boolean;
}

export function settingChanges(before: Settings, after: Settings): SettingChange[] {
  const fields = Object.keys(after) as (keyof Settings)[];
  return fields
    .filter((field) => !isDeepStrictEqual(before[field], after[field]))
    .map((field) => {
      const rows = settingsTable.filter((row) => row.field === field);
      // What stands inside the entries of a list goes with the list.
      const paths = rows.map((row) => row.path).filter((path) => !path.includes('[]'));
      return { field, paths, needsRestart: rows.some((row) => row.change === 'restart') };
    });
}
