// The outcome of one request to an API server. Expected outcomes are values: a caller switches over the kinds, and the
// compiler reports a forgotten kind. Only after `failed` is it unknown whether the server carried out the request.
import type { KubeObject } from '../object/meta/object.ts';

export type Answer =
  /** `bytes` is the length of the received body. */
  | { kind: 'ok'; status: number; object: KubeObject; bytes?: number }
  /** `name` is the object that the server names: without a name, the server may not know the resource. */
  | { kind: 'notFound'; message: string; name?: string }
  /** 409 on an update or delete: another client wrote first, or the uid differs. */
  | { kind: 'conflict'; message: string }
  /** 409 on a create. */
  | { kind: 'alreadyExists'; message: string }
  /** 410 for a watch or a continue token. */
  | { kind: 'gone'; message: string }
  /** 401, after the credentials were read again and the request was repeated once. */
  | { kind: 'unauthorized'; message: string; fix?: string }
  /** 403 for a missing right; `namespaceTerminating` when the server names a terminating namespace as the cause. */
  | { kind: 'forbidden'; message: string; namespaceTerminating: boolean }
  /** 400, 413, 415, 422, other 4xx, and 403 of an admission plugin: the server does not want this object. `words` are the server's alone. */
  | { kind: 'refused'; status: number; reason: string; message: string; words?: string }
  /** 429. */
  | { kind: 'throttled'; retryAfterMs: number | undefined; message: string }
  /** 5xx, a broken connection, a time-out, or a body that is not from Kubernetes. A write may have happened. */
  | {
      kind: 'failed';
      status: number | undefined;
      retryAfterMs: number | undefined;
      message: string;
      fix?: string;
      mayPass?: boolean;
    }
  /** The request was not sent: there is no valid lease or nobody wants it any more, or the writer was stopped. */
  | { kind: 'notSent'; reason: 'noLease' | 'stopped' };
