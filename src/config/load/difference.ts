// Compares two configurations, and names the changed settings that need a restart.
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../object/text/json.ts';
import type { Settings } from '../settings/settings.ts';
import { settingsTable } from '../settings/table.ts';

export interface SettingChange {
  field: keyof Settings;
  /** The paths of the setting, for messages. */
  paths: readonly string[];
  needsRestart: boolean;
}

/** Enough paths to recognise the edited file. */
const namedLimit = 10;

export function settingChanges(before: Settings, after: Settings): SettingChange[] {
  const fields = Object.keys(after) as (keyof Settings)[];
  const changes = fields
    .filter((field) => !isDeepStrictEqual(before[field], after[field]))
    .map((field) => {
      const rows = settingsTable.filter((row) => row.field === field);
      // A change inside an entry is reported as a change of its list.
      const paths = rows.map((row) => row.path).filter((path) => !path.includes('[]'));
      return { field, paths, needsRestart: rows.some((row) => row.change === 'restart') };
    });
  const named = changes.flatMap(({ paths }) => paths);
  return changes.map((change) => {
    if (change.field !== 'vcluster') return change;
    // Expressions may read every setting. A change that another field already names is left out here.
    const paths = differingPaths(before.vcluster, after.vcluster).filter((path) => !isNamed(path, named));
    return { ...change, paths: paths.slice(0, namedLimit) };
  });
}

function isNamed(path: string, named: readonly string[]): boolean {
  return named.some((one) => one === path || path.startsWith(`${one}.`));
}

function differingPaths(before: unknown, after: unknown, path = ''): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isRecord(before) || !isRecord(after)) return [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differingPaths(before[key], after[key], path === '' ? key : `${path}.${key}`));
}
