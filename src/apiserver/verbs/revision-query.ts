// Parses resourceVersion, resourceVersionMatch, limit, continue and sendInitialEvents of a list or watch, and refuses invalid
// combinations with the real server's messages.
import { type FieldError, forbiddenField, unsupportedValue } from '../../object/meta/field-error.ts';
import { invalid } from '../../object/meta/status.ts';
import { isTrue } from '../request/query.ts';
import { badRequest, plainFailure, StatusFault } from '../request/status-fault.ts';

import { numberOf } from './write-options.ts';

export interface ListQuery {
  limit: number;
  continueToken: string;
  /** newest = the present state; exact = the state at `revision`; atLeast = the present state, if it has reached `revision`. */
  at: { kind: 'newest' } | { kind: 'exact'; revision: number } | { kind: 'atLeast'; revision: number };
}

export interface WatchQuery {
  /** Send changes after this revision; undefined = send the present state first. */
  after: number | undefined;
  sendInitialEvents: boolean | undefined;
  bookmarks: boolean;
  /** Undefined for 0 too, as in the real server. */
  timeoutSeconds: number | undefined;
}

export function listQuery(query: URLSearchParams): ListQuery {
  if (query.size === 0) return { limit: 0, continueToken: '', at: { kind: 'newest' } };
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const continueToken = query.get('continue') ?? '';
  const limit = Math.max(0, numberOf(query.get('limit')) ?? 0);
  numberOf(query.get('timeoutSeconds'));
  checkMatch(listErrors(version, match, continueToken, query.has('sendInitialEvents')));
  const revision = parseRevision(version, (why) => badRequest(`invalid resource version: ${why}`));
  if (continueToken !== '') {
    if (revision !== undefined && revision > 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    return { limit, continueToken, at: { kind: 'newest' } };
  }
  if (revision === undefined || revision === 0) return { limit, continueToken, at: { kind: 'newest' } };
  // Old clients page with a limit and a version but without a match, and expect exactly that version.
  const exact = match === 'Exact' || (match === '' && limit > 0);
  return { limit, continueToken, at: { kind: exact ? 'exact' : 'atLeast', revision } };
}

export function watchQuery(query: URLSearchParams): WatchQuery {
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const initial = query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : undefined;
  checkMatch(watchErrors(match, initial, query.get('continue') ?? ''));
  const revision = parseRevision(version, plainFailure);
  const fromState = revision === undefined || revision === 0;
  return {
    after: fromState || initial === true ? undefined : revision,
    sendInitialEvents: initial,
    bookmarks: isTrue(query.get('allowWatchBookmarks')),
    timeoutSeconds: numberOf(query.get('timeoutSeconds')) || undefined,
  };
}

/** The oldest revision that a get, or the initial events of a watch, may show. */
export function notOlderThan(query: URLSearchParams): number {
  return parseRevision(query.get('resourceVersion') ?? '', plainFailure) ?? 0;
}

/** Without a version a client wants what is newest anywhere; with "0" it takes what is at hand. */
export function wantsNewest(query: URLSearchParams): boolean {
  return (query.get('resourceVersion') ?? '') === '';
}

function parseRevision(text: string, refuse: (why: string) => StatusFault): number | undefined {
  if (text === '') return undefined;
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw refuse(`resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
  }
  return Number(text);
}

const matches = ['Exact', 'NotOlderThan'];

function listErrors(version: string, match: string, continueToken: string, hasInitial: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (hasInitial) errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  if (match === '') return errors;
  const field = 'resourceVersionMatch';
  if (version === '') {
    errors.push(forbiddenField(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
  }
  if (continueToken !== '') {
    errors.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  if (!matches.includes(match)) errors.push(unsupportedValue(field, match, [...matches, '']));
  else if (match === 'Exact' && version === '0') {
    errors.push(forbiddenField(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  return errors;
}

function watchErrors(match: string, initial: boolean | undefined, continueToken: string): FieldError[] {
  const errors: FieldError[] = [];
  const field = 'resourceVersionMatch';
  if (match !== '' && initial === undefined) {
    const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    errors.push(forbiddenField(field, why));
  }
  if (initial !== undefined && match !== 'NotOlderThan') {
    errors.push(forbiddenField(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match !== '' && match !== 'NotOlderThan' && initial !== undefined)
    errors.push(unsupportedValue(field, match, ['NotOlderThan']));
  if (continueToken !== '' && initial !== undefined) {
    errors.push(forbiddenField('continue', 'continue is forbidden when sendInitialEvents is provided'));
  }
  return errors;
}

function checkMatch(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new StatusFault(invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors));
}
