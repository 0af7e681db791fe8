// What a new configuration changes, and which of it a running daemon cannot take over.
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../object/text/json.ts';
import type { Settings } from '../settings/settings.ts';
import { settingsTable } from '../settings/table.ts';

export interface SettingChange {
  field: keyof Settings;
  /** Where it may be set, for people. */
  paths: readonly string[];
  needsRestart: boolean;
}

/** Enough to see which file was edited. */
const namedLimit = 10;

export function settingChanges(before: Settings, after: Settings): SettingChange[] {
  const fields = Object.keys(after) as (keyof Settings)[];
  const changes = fields
    .filter((field) => !isDeepStrictEqual(before[field], after[field]))
    .map((field) => {
      const rows = settingsTable.filter((row) => row.field === field);
      // What stands inside the entries of a list goes with the list.
      const paths = rows.map((row) => row.path).filter((path) => !path.includes('[]'));
      return { field, paths, needsRestart: rows.some((row) => row.change === 'restart') };
    });
  const named = changes.flatMap(({ paths }) => paths);
  return changes.map((change) => {
    if (change.field !== 'vcluster') return change;
    // All that expressions may read: what is a setting of ours besides has been named already.
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
