// Renders Tables for kubectl. The kind defines the columns; a kind without columns shows name and age.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Column, Kind } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import { badRequest } from '../request/status-fault.ts';
import { partial } from './partial-metadata.ts';

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique among its kind within a namespace',
  priority: 0,
  cell: (object) => object.metadata.name ?? '',
};

export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created',
  priority: 0,
  cell: (object, now) => age(object.metadata.creationTimestamp ?? undefined, now),
};

const plainColumns: readonly Column[] = [nameColumn, ageColumn];

export function tableOf(
  call: Call,
  objects: readonly KubeObject[],
  withColumns = true,
): { rows: object[]; [member: string]: unknown } {
  const columns = columnsOf(call.kind);
  const include = includeOf(call.target.query);
  const now = call.kit.clock.wallTime();
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${call.negotiated.formVersion}`,
    metadata: {},
    columnDefinitions: withColumns ? columns.map(definition) : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, now)),
      object: include === 'None' ? null : include === 'Object' ? object : partial(object, call.negotiated),
    })),
  };
}

function columnsOf(kind: Kind): readonly Column[] {
  return kind.columns.length > 0 ? kind.columns : plainColumns;
}

function definition({ name, type, format = '', description = '', priority }: Column): object {
  return { name, type, format, description, priority };
}

function includeOf(query: URLSearchParams): 'None' | 'Metadata' | 'Object' {
  const include = query.get('includeObject') ?? '';
  switch (include) {
    case '':
      return 'Metadata';
    case 'None':
    case 'Metadata':
    case 'Object':
      return include;
    default:
      throw badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: "${include}": must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

/** Formats an age like kubectl: at most two units, coarser for longer spans. */
export function age(since: string | undefined, now: Date): string {
  if (since === undefined) return '<unknown>';
  const seconds = Math.trunc((now.getTime() - Date.parse(since)) / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
