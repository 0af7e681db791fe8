// The query parameters of writes and the options of deletes, checked before anything is done.
import { invalidValue, unsupportedValue } from '../../object/meta/field-error.ts';
import { invalid } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import type { Dialect } from '../request/dialect.ts';
import { badRequest, StatusFault } from '../request/status-fault.ts';
import { isTrue } from '../request/target.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteOptions {
  dryRun: boolean;
  fieldValidation: FieldValidation;
  force: boolean;
}

const none: WriteOptions = { dryRun: false, fieldValidation: 'Warn', force: false };

export function writeOptions(query: URLSearchParams, optionsKind: string): WriteOptions {
  if (query.size === 0) return none;
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  const validation = query.get('fieldValidation') ?? '';
  const errors = [];
  if (dryRun.some((value) => value !== 'All')) errors.push(unsupportedValue('dryRun', dryRun, ['All']));
  if (!['', 'Ignore', 'Strict', 'Warn'].includes(validation)) {
    errors.push(unsupportedValue('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  const manager = query.get('fieldManager') ?? '';
  if (manager.length > 128) errors.push(invalidValue('fieldManager', manager, 'may not be more than 128 bytes'));
  if (errors.length > 0) throw new StatusFault(invalid({ group: 'meta.k8s.io', kind: optionsKind }, '', errors));
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: validation === '' ? 'Warn' : (validation as FieldValidation),
    force: isTrue(query.get('force')),
  };
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  dryRun: boolean;
  gracePeriodSeconds: number | undefined;
  propagation: Propagation | undefined;
  uid: string | undefined;
  resourceVersion: string | undefined;
}

/** A body wins over the query, as in the real server. */
export function deleteOptions(body: unknown, query: URLSearchParams, dialect: Dialect = 'kubernetes'): DeleteOptions {
  const given = isRecord(body) ? body : {};
  if (dialect === 'strict' && body !== undefined) checkAgreement(given, query);
  const fromQuery = body === undefined;
  const dryRun = fromQuery ? query.getAll('dryRun').filter((value) => value !== '') : (given['dryRun'] ?? []);
  const grace = fromQuery ? numberOf(query.get('gracePeriodSeconds')) : given['gracePeriodSeconds'];
  const propagation = fromQuery ? query.get('propagationPolicy') : given['propagationPolicy'];
  const orphan = fromQuery ? booleanOf(query.get('orphanDependents')) : given['orphanDependents'];
  const preconditions = isRecord(given['preconditions']) ? given['preconditions'] : {};
  const errors = [];
  if (!Array.isArray(dryRun) || dryRun.some((value) => value !== 'All')) {
    errors.push(unsupportedValue('dryRun', dryRun, ['All']));
  }
  const policies = ['Background', 'Foreground', 'Orphan'];
  if (typeof propagation === 'string' && propagation !== '' && !policies.includes(propagation)) {
    errors.push(unsupportedValue('propagationPolicy', propagation, ['Foreground', 'Background', 'Orphan', 'nil']));
  }
  if (typeof propagation === 'string' && propagation !== '' && typeof orphan === 'boolean') {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidValue('propagationPolicy', propagation, why));
  }
  if (errors.length > 0) throw new StatusFault(invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors));
  return {
    dryRun: Array.isArray(dryRun) && dryRun.length > 0,
    gracePeriodSeconds: typeof grace === 'number' ? grace : undefined,
    propagation: propagationOf(propagation, orphan),
    uid: textOf(preconditions['uid']),
    resourceVersion: textOf(preconditions['resourceVersion']),
  };
}

/** The real server believes the body alone; a dry run that stands in the query would delete. */
function checkAgreement(given: Record<string, unknown>, query: URLSearchParams): void {
  for (const option of ['dryRun', 'gracePeriodSeconds', 'propagationPolicy', 'orphanDependents']) {
    const asked = query.getAll(option).filter((value) => value !== '');
    if (asked.length === 0 || asked.join() === String(given[option] ?? '')) continue;
    throw badRequest(`the query says ${option}=${asked.join()} and the body says something else: say it once`);
  }
}

function propagationOf(policy: unknown, orphan: unknown): Propagation | undefined {
  if (typeof policy === 'string' && policy !== '') return policy as Propagation;
  return orphan === true ? 'Orphan' : orphan === false ? 'Background' : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function booleanOf(text: string | null): boolean | undefined {
  return text === null ? undefined : isTrue(text);
}

export function numberOf(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}
