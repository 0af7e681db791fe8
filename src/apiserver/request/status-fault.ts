// StatusFault carries a whole Status from the code that refuses a request to the server, which sends it. This file also builds
// the Statuses that only an API server sends; object/meta/status.ts builds the others.
import {
  badRequest as badRequestStatus,
  type GroupResource,
  groupResourceText,
  type Status,
  type StatusCause,
  unauthorized,
  unsupportedMediaType,
} from '../../object/meta/status.ts';
import type { Dialect } from './dialect.ts';

export class StatusFault extends Error {
  override readonly name = 'StatusFault';
  readonly status: Status;
  /** The strict dialect's answer, if it differs. */
  readonly #strictly: Status | undefined;

  constructor(status: Status, strictly?: Status) {
    super(status.message ?? status.reason ?? 'refused');
    this.status = status;
    this.#strictly = strictly;
  }

  statusIn(dialect: Dialect): Status {
    return dialect === 'strict' ? (this.#strictly ?? this.status) : this.status;
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

function fault(code: number, reason: Status['reason'], message: string, details?: Status['details']): StatusFault {
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message };
  if (reason !== undefined) status.reason = reason;
  if (details !== undefined) status.details = details;
  status.code = code;
  return new StatusFault(status);
}

/** `strictly`: the message in the strict dialect, if it differs. */
export function badRequest(message: string, strictly = message): StatusFault {
  return new StatusFault(badRequestStatus(message), badRequestStatus(strictly));
}

export function notAuthenticated(): StatusFault {
  return new StatusFault(unauthorized());
}

/** A 403 with a named cause, so that clients can distinguish it from a missing right. */
export function forbiddenBecause(
  resource: GroupResource,
  name: string,
  why: string,
  causes: StatusCause[],
): StatusFault {
  const message = `${groupResourceText(resource)} "${name}" is forbidden: ${why}`;
  return fault(403, 'Forbidden', message, { name, group: resource.group, kind: resource.resource, causes });
}

export function methodNotAllowed(): StatusFault {
  return fault(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

export function notAcceptable(offered: readonly string[]): StatusFault {
  return fault(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${offered.join(', ')}`, {});
}

/** 415 for a patch type that this resource does not support. */
export function unknownPatchType(known: readonly string[]): StatusFault {
  const bare = fault(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  return new StatusFault(bare.status, unsupportedMediaType(known));
}

/** 410 for a continue token that is too old; `freshToken` continues at the same key and the present revision. */
export function expiredContinue(message: string, freshToken: string): StatusFault {
  const expired = fault(410, 'Expired', message);
  (expired.status as { metadata: { continue?: string } }).metadata = { continue: freshToken };
  return expired;
}

/** The real server answers some client errors with 500 and no reason; the strict dialect answers 400 instead. */
export function plainFailure(message: string, strictly: Status = badRequestStatus(message)): StatusFault {
  return new StatusFault(fault(500, undefined, message).status, strictly);
}
