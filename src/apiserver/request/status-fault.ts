// A refusal on its way to the client: one class that carries a whole Status, thrown by whoever notices and answered in one
// place. The reasons that only a server of this API has stand here; the others come from object/status.ts.
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
  /** What the strict dialect answers instead. */
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

export function badRequest(message: string): StatusFault {
  return new StatusFault(badRequestStatus(message));
}

export function notAuthenticated(): StatusFault {
  return new StatusFault(unauthorized());
}

/** A 403 whose cause is named, so that clients can tell it from a missing right. */
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

/** A patch in a language that this resource does not speak. */
export function unknownPatchType(known: readonly string[]): StatusFault {
  const bare = fault(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  return new StatusFault(bare.status, unsupportedMediaType(known));
}

/** A continue token that is too old; `another` goes on from the same place in the present. */
export function expiredContinue(message: string, another: string): StatusFault {
  const gone = fault(410, 'Expired', message);
  (gone.status as { metadata: { continue?: string } }).metadata = { continue: another };
  return gone;
}

/** 500 without a reason, which is what the real server answers where it has none; the strict dialect says 400. */
export function plainFailure(message: string, strictly: Status = badRequestStatus(message)): StatusFault {
  return new StatusFault(fault(500, undefined, message).status, strictly);
}
