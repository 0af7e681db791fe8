// PUT: the whole object as the client wants it.

import { conflict } from '../../object/meta/status.ts';
import type { Call, Outcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { changeObject } from './change-object.ts';
import { createObject } from './create-object.ts';
import { checkName, incomingObject, placeInNamespace, type Submitted } from './incoming-object.ts';
import type { WriteOptions } from './write-options.ts';

export async function updateObject(call: Call, submitted: Submitted, options: WriteOptions): Promise<Outcome> {
  const wanted = incomingObject(call, submitted, options.fieldValidation);
  checkName(call, wanted);
  placeInNamespace(call, wanted);
  const creates = call.kind.strategy.allowsCreateOnUpdate === true && call.target.subresource === '';
  return changeObject(call, {
    dryRun: options.dryRun,
    uidIsPrecondition: true,
    compute: () => structuredClone(wanted),
    ...(creates ? { create: () => createFromPut(call, structuredClone(wanted), options) } : {}),
  });
}

/** An object that says which one it was cannot be made again: that one is gone. */
async function createFromPut(call: Call, wanted: Parameters<typeof createObject>[1], options: WriteOptions) {
  const { uid } = wanted.metadata;
  // The version it had is no obstacle: it is known to be gone.
  delete wanted.metadata.resourceVersion;
  if (uid !== undefined && uid !== '') {
    const resource = { group: call.kind.group, resource: call.kind.plural };
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: `;
    throw new StatusFault(conflict(resource, call.target.name, why));
  }
  return createObject(call, wanted, { dryRun: options.dryRun, code: 201 });
}
