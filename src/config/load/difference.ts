// Compares two configurations, and names the changed settings that need a restart.
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../object/text/json.ts';
import { localURL } from '../settings/management-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { settingsTable } from '../settings/table/table.ts';

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
      const paths = changedPaths(field, [before, after]);
      // `hostward direct` reads its block once; the daemon, which follows its files, has no use for the block.
      const needsRestart = field !== 'direct' && rows.some((row) => row.change === 'restart');
      return { field, paths, needsRestart };
    });
  const named = changes.flatMap(({ paths }) => paths);
  return changes.map((change) => {
    if (change.field !== 'vcluster') return change;
    // Expressions may read every setting. A change that another field already names is left out here.
    const paths = differingPaths(before.vcluster, after.vcluster).filter((path) => !isNamed(path, named));
    return { ...change, paths: paths.slice(0, namedLimit) };
  });
}

/** The rows of a field whose values differ. */
function changedPaths(field: keyof Settings, [before, after]: readonly [Settings, Settings]): string[] {
  const all = settingsTable.filter((row) => row.field === field).map(({ path }) => path);
  const paths = all.filter((path) => !path.includes('[]'));
  const [was, is] = [before[field], after[field]];
  if (Array.isArray(was) && Array.isArray(is)) return paths.flatMap((path) => changedEntries(path, [was, is]));
  if (!isRecord(was) || !isRecord(is)) {
    const isWholeBlock = paths.length > 1 && (was === undefined || is === undefined);
    return isWholeBlock ? [commonStart(paths)] : paths;
  }
  const differing = paths.filter((path) => {
    const [old, now] = [valueAt(was, path), valueAt(is, path)];
    const isBlock = isRecord(old) && isRecord(now) && paths.some((one) => one.startsWith(`${path}.`));
    return !isBlock && !isDeepStrictEqual(old, now) && !isFollowing(path, [before, after]);
  });
  return differing.filter((path) => !differing.some((one) => path.startsWith(`${one}.`)));
}

/** Where an entry came or went, the places of the others have moved, and only the list is named. */
function changedEntries(path: string, [was, is]: readonly [readonly unknown[], readonly unknown[]]): string[] {
  const changed = is.flatMap((entry, at) => (isDeepStrictEqual(entry, was[at]) ? [] : [`${path}[${at}]`]));
  return was.length !== is.length || changed.length > namedLimit ? [path] : changed;
}

/** The value of a row in its member of Settings, which has the last segments of the path as keys. */
function valueAt(member: Record<string, unknown>, path: string): unknown {
  const segments = path.split('.');
  const own = segments.slice(segments.findIndex((segment) => segment in member));
  return own.reduce<unknown>((value, segment) => (isRecord(value) ? value[segment] : undefined), member);
}

/** Nobody wrote the base URL: it follows the port of `listen`, which is named already. */
function isFollowing(path: string, versions: readonly Settings[]): boolean {
  return (
    path === 'hostward.management.baseURL' &&
    versions.every(({ managementServer: one }) => one !== undefined && one.baseURL === localURL(one.listen))
  );
}

function commonStart(paths: readonly string[]): string {
  const [first = [], ...others] = paths.map((path) => path.split('.'));
  const length = first.findIndex((segment, at) => others.some((other) => other[at] !== segment));
  return first.slice(0, length < 0 ? undefined : length).join('.');
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
