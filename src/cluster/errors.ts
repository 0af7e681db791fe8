// What can be wrong with the way to a cluster, as values: faults are listed, each with a stable code and with what to do.

/** A fault of the set-up that its user can mend. */
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
    /** The other part of the daemon, which is told of in the same words. */
    | 'MANAGEMENT_NOT_STARTED';
  message: string;
  /** What the user can do about it. */
  fix: string;
  /** Passes by itself when the cluster comes up, so that it is worth waiting for. */
  mayPass?: boolean;
}

/** Thrown when credentials cannot be read in mid-run; the transport turns it into a `failed` answer. */
export class CredentialsError extends Error {
  readonly faults: readonly ClusterFault[];

  constructor(faults: readonly ClusterFault[]) {
    super(faults.map((fault) => fault.message).join('; '));
    this.name = 'CredentialsError';
    this.faults = faults;
  }
}

/** Thrown to everyone who waits for a window that was stopped. */
export class WindowStoppedError extends Error {
  constructor(name: string) {
    super(`waiting for the window on ${name}: it was stopped before its list was complete`);
    this.name = 'WindowStoppedError';
  }
}

/** A text of foreign origin, short enough and plain enough for a message or a log line. */
export function excerpt(text: string, limit = 200): string {
  const plain = text.replace(/\p{Cc}+/gu, ' ').trim();
  return plain.length > limit ? `${plain.slice(0, limit)}…` : plain;
}

/** Causes that are worth telling; they may also run in a ring. */
const causeLimit = 4;

/** The message of anything thrown, with the causes that networking wraps into each other. */
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
