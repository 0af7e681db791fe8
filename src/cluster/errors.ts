// Faults in the access to a cluster, as values: each fault has a stable code and an instruction for the user.
import { textWithoutUsers } from '../object/text/url-user.ts';
import type { Permission } from './permission.ts';

/** A fault of the set-up that the user can correct. */
export interface ClusterFault {
  code:
    | 'CLUSTER_KUBECONFIG_UNREADABLE'
    | 'CLUSTER_KUBECONFIG_INVALID'
    | 'CLUSTER_CONTEXT_MISSING'
    | 'CLUSTER_CREDENTIALS_UNREADABLE'
    | 'CLUSTER_NOT_IN_CLUSTER'
    | 'CLUSTER_UNREACHABLE'
    | 'CLUSTER_NOT_KUBERNETES'
    | 'CLUSTER_UNAUTHORIZED'
    | 'CLUSTER_NAMESPACE_MISSING'
    | 'CLUSTER_PERMISSION_MISSING'
    /** A fault of the management API, which the daemon reports in the same form. */
    | 'MANAGEMENT_NOT_STARTED'
    | 'DIRECT_NOT_STARTED';
  message: string;
  /** The instruction for the user. */
  fix: string;
  /** The fault may end without help, such as when the cluster comes up: a start may wait for that. */
  mayPass?: boolean;
  /** The right that is missing, where the fault is about one. */
  permission?: Permission;
}

/** Thrown when credentials cannot be read while the daemon runs; the transport turns this error into a `failed` answer. */
export class CredentialsError extends Error {
  readonly faults: readonly ClusterFault[];

  constructor(faults: readonly ClusterFault[]) {
    super(faults.map((fault) => fault.message).join('; '));
    this.name = 'CredentialsError';
    this.faults = faults;
  }
}

/** Rejects the promises of callers who wait for a list when the window stops. */
export class WindowStoppedError extends Error {
  constructor(name: string) {
    super(`waiting for the window on ${name}: the window was stopped before its list was complete`);
    this.name = 'WindowStoppedError';
  }
}

/** Shortens a foreign text, and removes control characters and the users in URLs, so that the text is safe in a message or a log line. */
export function excerpt(text: string, limit = 200): string {
  const plain = textWithoutUsers(text.replace(/\p{Cc}+/gu, ' ').trim());
  return plain.length > limit ? `${plain.slice(0, limit)}…` : plain;
}

/** Deeper causes help no reader, and a chain of causes may be circular. */
const causeLimit = 4;

/** The message of a thrown value and of its causes: network errors are often nested. */
export function messageOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return excerpt(String(error));
  const inner =
    error instanceof AggregateError && depth < causeLimit
      ? error.errors.map((each) => messageOf(each, depth + 1)).join('; ')
      : error.name;
  const own = error.message === '' ? inner : error.message;
  if (error.cause === undefined || depth >= causeLimit) return excerpt(own);
  return excerpt(`${own}: ${messageOf(error.cause, depth + 1)}`);
}
