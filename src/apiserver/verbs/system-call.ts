// Calls that the cluster's own controllers make: the same pipelines as for clients, without a socket.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Call, Kit } from '../kinds/kit.ts';
import { mastersGroup } from '../request/access-rules.ts';
import { negotiate } from '../request/negotiate.ts';
import { StatusFault } from '../request/status-fault.ts';
import { changeObject } from './change-object.ts';
import { deleteObject } from './delete-object.ts';
import type { Propagation } from './write-options.ts';

const noQuery = new URLSearchParams();

export function systemCall(
  kit: Kit,
  kind: Kind,
  object: { namespace: string; name: string; subresource?: string },
): Call {
  return {
    kit,
    kind,
    target: {
      isResource: true,
      verb: 'update',
      path: '',
      group: kind.group,
      version: kind.version,
      resource: kind.plural,
      subresource: object.subresource ?? '',
      namespace: object.namespace,
      name: object.name,
      query: noQuery,
    },
    user: { name: 'system:controller', groups: [mastersGroup] },
    visibility: undefined,
    negotiated: negotiate(undefined),
    fieldManager: 'hostward-controller',
    warnings: [],
  };
}

/** Changes the object unless it has been deleted or replaced, which the uid shows. */
export async function changeIfPresent(call: Call, uid: string, change: (object: KubeObject) => void): Promise<void> {
  await unlessGone(async () => {
    await changeObject(call, {
      dryRun: false,
      uidIsPrecondition: true,
      compute: (old) => {
        const object = structuredClone(old);
        object.metadata.uid = uid;
        change(object);
        delete object.metadata.resourceVersion;
        return object;
      },
    });
  });
}

export async function deleteIfPresent(call: Call, uid: string | undefined, propagation?: Propagation): Promise<void> {
  await unlessGone(async () => {
    await deleteObject(call, {
      dryRun: false,
      gracePeriodSeconds: 0,
      propagation,
      uid,
      resourceVersion: undefined,
    });
  });
}

/** The API omits empty lists. */
export function setOrDrop<T, K extends keyof T>(target: T, field: K, list: T[K] & readonly unknown[]): void {
  if (list.length === 0) delete target[field];
  else target[field] = list;
}

/** 404 and 409 mean that the object has gone or was replaced, so that no work is left. */
async function unlessGone(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof StatusFault) || (error.code !== 404 && error.code !== 409)) throw error;
  }
}
