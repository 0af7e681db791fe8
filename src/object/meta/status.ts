// The Status object, with which a Kubernetes API reports a failure or a finished delete. There is one constructor for each
// reason, with the wording that kubectl users know and scripts match.
import { type FieldError, fieldErrorText, maxListedErrors, quoted } from './field-error.ts';

export type StatusReason =
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'StoreReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, never>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}

/** `resource` is the plural name; a Status of reason Invalid holds the kind instead. */
export interface GroupResource {
  group: string;
  resource: string;
}

/** `endpoints`, `leases.coordination.k8s.io`. */
export function groupResourceText({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

/** The answer to a successful delete. */
export function success(details: StatusDetails): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

export function notFound(resource: GroupResource, name: string): Status {
  const message = `${groupResourceText(resource)} ${quoted(name)} not found`;
  return failure(404, 'NotFound', message, about(resource, name));
}

/** The answer for a path without a handler; it names no object. */
export function pathNotFound(): Status {
  return failure(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(resource: GroupResource, name: string, isGoing = false): Status {
  const message = `${isGoing ? 'object is being deleted: ' : ''}${groupResourceText(resource)} ${quoted(name)} already exists`;
  return failure(409, 'AlreadyExists', message, about(resource, name));
}

/** All generated names that were tried exist already. */
export function generateNameConflict(resource: GroupResource, name: string, retryAfterSeconds: number): Status {
  const text = `${groupResourceText(resource)} ${quoted(name)} already exists`;
  const message = `${text}, the server was not able to generate a unique name for the object`;
  return failure(409, 'AlreadyExists', message, { ...about(resource, name), retryAfterSeconds });
}

export const objectWasModified =
  'the object has been modified; please apply your changes to the latest version and try again';

export function conflict(resource: GroupResource, name: string, why: string = objectWasModified): Status {
  const message = `Operation cannot be fulfilled on ${groupResourceText(resource)} ${quoted(name)}: ${why}`;
  return failure(409, 'Conflict', message, about(resource, name));
}

/** The preconditions of a delete or update do not match the stored object. */
export function preconditionFailed(
  resource: GroupResource,
  name: string,
  precondition: { field: 'UID' | 'ResourceVersion'; wanted: string; actual: string },
): Status {
  const { field, wanted, actual } = precondition;
  const why = `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${actual}`;
  return conflict(resource, name, why);
}

/** Another manager owns fields that an apply wants to change. */
export function applyConflict(causes: StatusCause[], message: string): Status {
  return failure(409, 'Conflict', message, { causes });
}

export function invalid(kind: { group: string; kind: string }, name: string, errors: readonly FieldError[]): Status {
  const subject = `${groupResourceText({ group: kind.group, resource: kind.kind })} ${quoted(name)} is invalid`;
  const listed = errors.slice(0, maxListedErrors);
  const causes = listed.map((error) => ({ reason: error.type, message: error.message, field: error.path }));
  const details = { ...about({ group: kind.group, resource: kind.kind }, name), causes };
  if (errors.length > listed.length)
    return failure(422, 'Invalid', `${subject}: ${aggregate(listed)}, and more errors`, details);
  return failure(422, 'Invalid', errors.length === 0 ? subject : `${subject}: ${aggregate(errors)}`, details);
}

/** A well-formed JSON patch that does not apply; Kubernetes does not report the reason to the client. kubectl prints causes alone. */
export function patchDoesNotApply(reason?: string): Status {
  if (reason === undefined)
    return failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  const causes = [{ reason: 'FieldValueInvalid', message: reason, field: 'patch' }];
  return failure(422, 'Invalid', reason, { causes });
}

export function badRequest(message: string): Status {
  return failure(400, 'BadRequest', message);
}

export function unauthorized(message = 'Unauthorized'): Status {
  return failure(401, 'Unauthorized', message);
}

export function forbidden(resource: GroupResource, name: string, why: string): Status {
  if (resource.resource === '') return failure(403, 'Forbidden', `forbidden: ${why}`, {});
  const what = groupResourceText(resource);
  const subject = name === '' ? what : `${what} ${quoted(name)}`;
  return failure(403, 'Forbidden', `${subject} is forbidden: ${why}`, about(resource, name));
}

export function notAcceptable(accepted: readonly string[]): Status {
  const list = accepted.join(', ');
  return failure(406, 'NotAcceptable', `only the following media types are accepted: ${list}`);
}

export function unsupportedMediaType(accepted: readonly string[]): Status {
  const list = accepted.join(', ');
  const message = `the body of the request was in an unknown format - accepted media types include: ${list}`;
  return failure(415, 'UnsupportedMediaType', message);
}

/** A resourceVersion or a continue token that is older than the history. */
export function expired(message: string): Status {
  return failure(410, 'Expired', message);
}

/** The answer to a watch or a list from a compacted revision. */
export function tooOldResourceVersion(wanted: number, oldest: number): Status {
  return expired(`too old resource version: ${wanted} (${oldest})`);
}

/** A revision that this server has not reached yet. */
export function tooLargeResourceVersion(wanted: number, current: number, retryAfterSeconds = 1): Status {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current}`;
  return failure(504, 'Timeout', message, { causes, retryAfterSeconds });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): Status {
  return failure(429, 'TooManyRequests', message, retryAfter(retryAfterSeconds));
}

export function internalError(why: string): Status {
  return failure(500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] });
}

/** For a 503 that may pass by itself: clients of Kubernetes send the request again by themselves after so long, ten times at most. */
export const soonSeconds = 1;

export function serviceUnavailable(message: string, retryAfterSeconds = 0): Status {
  const details = retryAfterSeconds === 0 ? undefined : retryAfter(retryAfterSeconds);
  return failure(503, 'ServiceUnavailable', message, details);
}

export function requestEntityTooLarge(why: string): Status {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: ${why}`);
}

function failure(code: number, reason: StatusReason, message: string, details?: StatusDetails): Status {
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason };
  if (details !== undefined) status.details = details;
  status.code = code;
  return status;
}

/** Empty members are left out, as Go's omitempty does. */
function about({ group, resource }: GroupResource, name: string): StatusDetails {
  const details: StatusDetails = {};
  if (name !== '') details.name = name;
  if (group !== '') details.group = group;
  if (resource !== '') details.kind = resource;
  return details;
}

function retryAfter(retryAfterSeconds: number): StatusDetails {
  return retryAfterSeconds === 0 ? {} : { retryAfterSeconds };
}

/** A single problem has no brackets, several problems are in brackets, and equal texts appear once. */
function aggregate(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(fieldErrorText))];
  return texts.length === 1 ? (texts[0] as string) : `[${texts.join(', ')}]`;
}
