// What one request to an API server came to. Expected outcomes are values: a caller switches over them and the compiler
// sees to it that none is forgotten. `failed` is the only one where the request may or may not have been carried out.
import type { KubeObject } from '../object/meta/object.ts';

export type Answer =
  /** `bytes` is the length of the body as it came. */
  | { kind: 'ok'; status: number; object: KubeObject; bytes?: number }
  | { kind: 'notFound'; message: string }
  /** 409 on an update or delete: somebody else wrote first, or the uid is another one. */
  | { kind: 'conflict'; message: string }
  /** 409 on a create. */
  | { kind: 'alreadyExists'; message: string }
  /** 410, at a watch or a continue token. */
  | { kind: 'gone'; message: string }
  /** 401: the credentials were re-read and tried once more before this is said. */
  | { kind: 'unauthorized'; message: string }
  /** 403; `namespaceTerminating` when that is the cause the server names. */
  | { kind: 'forbidden'; message: string; namespaceTerminating: boolean }
  /** 400, 413, 415, 422 and other 4xx: the same request will never succeed. */
  | { kind: 'refused'; status: number; reason: string; message: string }
  /** 429. */
  | { kind: 'throttled'; retryAfterMs: number | undefined; message: string }
  /** 5xx, a broken connection, a time-out, an answer that is not Kubernetes'. Whether a write happened is unknown. */
  | {
      kind: 'failed';
      status: number | undefined;
      retryAfterMs: number | undefined;
      message: string;
      fix?: string;
      mayPass?: boolean;
    }
  /** Not sent: no valid lease, or the writer was stopped. */
  | { kind: 'notSent'; reason: 'noLease' | 'stopped' };
