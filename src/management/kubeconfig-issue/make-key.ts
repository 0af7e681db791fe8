// Makes an access key inside the server: the same pipeline as for clients, without a socket.
import type { Kind } from '../../apiserver/kinds/kind.ts';
import type { Kit } from '../../apiserver/kinds/kit.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { negotiate } from '../../apiserver/request/negotiate.ts';
import { parseTarget, type Target } from '../../apiserver/request/target.ts';
import { createObject } from '../../apiserver/verbs/create-object.ts';
import { incomingObject } from '../../apiserver/verbs/incoming-object.ts';
import type { KubeObject } from '../../object/meta/object.ts';

export function keyTarget({ group, version, plural }: Kind): Target {
  return parseTarget('POST', `/apis/${group}/${version}/${plural}`);
}

/** The object with its value; undefined in a dry run, which makes the same checks and stores nothing. */
export async function makeKey(
  { kit, kind, user }: { kit: Kit; kind: Kind; user: User },
  submitted: object,
  dryRun: boolean,
): Promise<KubeObject | undefined> {
  const about = { kit, kind, target: keyTarget(kind), user, visibility: undefined };
  const call = { ...about, negotiated: negotiate(undefined), fieldManager: 'hostward', warnings: [] };
  const object = incomingObject(call, { value: submitted, duplicates: [] }, 'Strict');
  const outcome = await createObject(call, object, { dryRun });
  if (dryRun) return undefined;
  if (outcome.kind !== 'stored' || outcome.once === undefined)
    throw new Error('make a key: want the object with its value');
  return outcome.once;
}
