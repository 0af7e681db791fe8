// Makes an access key inside the server: the same pipeline as for clients, without a socket.
import { randomUUID } from 'node:crypto';
import { AuditTrail } from '../../../apiserver/caller/audit-trail.ts';
import type { Kind, WriteContext } from '../../../apiserver/kinds/kind.ts';
import type { Audit, Kit } from '../../../apiserver/kinds/kit.ts';
import type { User } from '../../../apiserver/request/identity.ts';
import { negotiate } from '../../../apiserver/request/negotiate.ts';
import { parseTarget, type Target } from '../../../apiserver/request/target.ts';
import { createObject } from '../../../apiserver/verbs/create-object.ts';
import { incomingObject } from '../../../apiserver/verbs/incoming-object.ts';
import type { KubeObject } from '../../../object/meta/object.ts';

function keyTarget({ group, version, plural }: Kind): Target {
  return parseTarget('POST', `/apis/${group}/${version}/${plural}`);
}

/** Who makes the key, and whether it is stored. */
export type Making = Pick<WriteContext, 'user' | 'dryRun' | 'wrote'>;

/** The object with its value; undefined in a dry run, which makes the same checks and stores nothing. */
export async function makeKey(
  { kit, kind, user, dryRun, wrote }: { kit: Kit; kind: Kind } & Making,
  submitted: object,
): Promise<KubeObject | undefined> {
  const about = { kit, kind, target: keyTarget(kind), user, visibility: undefined };
  const audited = wrote === undefined ? {} : { wrote };
  const call = { ...about, ...audited, negotiated: negotiate(undefined), fieldManager: 'hostward', warnings: [] };
  const object = incomingObject(call, { value: submitted, duplicates: [] }, 'Strict');
  const outcome = await createObject(call, object, { dryRun });
  if (dryRun) return undefined;
  if (outcome.kind !== 'stored' || outcome.once === undefined)
    throw new Error('make a key: want the object with its value');
  return outcome.once;
}

/** A key that the program makes for itself, with its lines in the audit log. */
export async function makeOwnKey(
  { kit, kind, user, audit }: { kit: Kit; kind: Kind; user: User; audit: Audit },
  submitted: object,
): Promise<KubeObject> {
  const by = { user, source: 'this machine', userAgent: 'hostward' };
  const trail = new AuditTrail(audit, { id: randomUUID(), target: keyTarget(kind), method: 'POST', ...by });
  await trail.begins();
  const made = await makeKey({ kit, kind, user, dryRun: false, wrote: (written) => trail.wrote(written) }, submitted);
  await trail.ends(201);
  return made as KubeObject;
}
