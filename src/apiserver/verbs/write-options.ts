// Parses and validates the query parameters of writes and the options of deletes.
import { invalidValue, unsupportedValue } from '../../object/meta/field-error.ts';
import { invalid } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import { managerErrors } from '../meta/validate-meta.ts';
import type { Dialect } from '../request/dialect.ts';
import { isTrue } from '../request/query.ts';
import { badRequest, StatusFault } from '../request/status-fault.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteOptions {
  dryRun: boolean;
  fieldValidation: FieldValidation;
  force: boolean;
}

const defaults: WriteOptions = { dryRun: false, fieldValidation: 'Warn', force: false };

export function writeOptions(query: URLSearchParams, optionsKind: string): WriteOptions {
  if (query.size === 0) return defaults;
  // As kube-apiserver does, an empty value is refused: whoever sends the parameter at all does not want a real write.
  const dryRun = query.getAll('dryRun');
  const validation = query.get('fieldValidation') ?? '';
  const errors = [];
  if (dryRun.some((value) => value !== 'All')) errors.push(unsupportedValue('dryRun', dryRun, ['All']));
  if (!['', 'Ignore', 'Strict', 'Warn'].includes(validation)) {
    errors.push(unsupportedValue('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  errors.push(...managerErrors(query.get('fieldManager') ?? '', 'fieldManager'));
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

/** A hundred years. Without a limit the end of the period is no date. */
const longestGraceSeconds = 3_153_600_000;

/** Like the real server: with a body, the query does not count. */
export function deleteOptions(body: unknown, query: URLSearchParams, dialect: Dialect = 'kubernetes'): DeleteOptions {
  const given = isRecord(body) ? body : {};
  if (body !== undefined) checkTypes(body, given);
  if (dialect === 'strict' && body !== undefined) checkAgreement(given, query);
  const fromQuery = body === undefined;
  const dryRun = fromQuery ? query.getAll('dryRun') : (given['dryRun'] ?? []);
  const grace = fromQuery ? numberOf(query.get('gracePeriodSeconds')) : given['gracePeriodSeconds'];
  const propagation = fromQuery ? query.get('propagationPolicy') : given['propagationPolicy'];
  const orphan = fromQuery ? booleanOf(query.get('orphanDependents')) : given['orphanDependents'];
  const preconditions = isRecord(given['preconditions']) ? given['preconditions'] : {};
  const errors = [];
  if (!Array.isArray(dryRun) || dryRun.some((value) => value !== 'All')) {
    errors.push(unsupportedValue('dryRun', dryRun, ['All']));
  }
  if (typeof grace === 'number' && grace > longestGraceSeconds) {
    const why = `must be less than or equal to ${longestGraceSeconds} (100 years)`;
    errors.push(invalidValue('gracePeriodSeconds', grace, why));
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

const isText = (value: unknown) => typeof value === 'string';
const optionTypes: Readonly<Record<string, { wanted: string; fits(value: unknown): boolean }>> = {
  dryRun: { wanted: 'a list of texts', fits: (value) => Array.isArray(value) && value.every(isText) },
  gracePeriodSeconds: { wanted: 'an integer', fits: Number.isSafeInteger },
  propagationPolicy: { wanted: 'a text', fits: isText },
  orphanDependents: { wanted: 'true or false', fits: (value) => typeof value === 'boolean' },
  preconditions: { wanted: 'an object', fits: isRecord },
  'preconditions.uid': { wanted: 'a text', fits: isText },
  'preconditions.resourceVersion': { wanted: 'a text', fits: isText },
};

/** An option that is passed over because of its type would let the request delete what its sender wanted to protect. */
function checkTypes(body: unknown, given: Record<string, unknown>): void {
  if (!isRecord(body)) throw badRequest('the options of a delete: want an object');
  const conditions = isRecord(given['preconditions']) ? given['preconditions'] : {};
  for (const [option, { wanted, fits }] of Object.entries(optionTypes)) {
    const [first = '', second] = option.split('.');
    const value = second === undefined ? given[first] : conditions[second];
    if (value === undefined || value === null || fits(value)) continue;
    throw badRequest(`the options of a delete: ${option}: want ${wanted}`);
  }
}

/** Strict dialect: if the server ignored `dryRun` in the query because of a body, the request would really delete. */
function checkAgreement(given: Record<string, unknown>, query: URLSearchParams): void {
  for (const option of ['dryRun', 'gracePeriodSeconds', 'propagationPolicy', 'orphanDependents']) {
    const asked = query.getAll(option).filter((value) => value !== '' || option === 'dryRun');
    if (asked.length === 0 || (asked.join() === String(given[option] ?? '') && !asked.includes(''))) continue;
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

const [lowest, highest] = [-(2n ** 63n), 2n ** 63n - 1n];

/** A 64-bit integer, as Go reads it. */
export function numberOf(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const refuse = (why: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw refuse('invalid syntax');
  const value = BigInt(text.replace(/^\+/, ''));
  if (value < lowest || value > highest) throw refuse('value out of range');
  return Number(value);
}
