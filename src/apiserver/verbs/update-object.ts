// Serves PUT: replaces the whole object, or creates it where the kind allows creation by PUT.
import { conflict } from '../../object/meta/status.ts';
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { changeObject } from './change-object.ts';
import { createObject } from './create-object.ts';
import { checkName, incomingObject, placeInNamespace, type Submitted } from './incoming-object.ts';
import type { WriteOptions } from './write-options.ts';

export async function updateObject(call: Call, submitted: Submitted, options: WriteOptions): Promise<VerbOutcome> {
  const wanted = incomingObject(call, submitted, options.fieldValidation);
  checkName(call, wanted);
  placeInNamespace(call, wanted);
  const creates = call.kind.strategy.allowsCreateOnUpdate === true && call.target.subresource === '';
  return changeObject(call, {
    dryRun: options.dryRun,
    uidIsPrecondition: true,
    sent: submitted.value,
    compute: () => structuredClone(wanted),
    ...(creates ? { create: () => createFromPut(call, structuredClone(wanted), options) } : {}),
  });
}

/** A uid in the body names an object that has been deleted, so PUT must not create another one. */
async function createFromPut(call: Call, wanted: Parameters<typeof createObject>[1], options: WriteOptions) {
  const { uid } = wanted.metadata;
  // The object is known to be missing, so its old resourceVersion must not cause a conflict.
  delete wanted.metadata.resourceVersion;
  if (uid !== undefined && uid !== '') {
    const resource = { group: call.kind.group, resource: call.kind.plural };
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: `;
    throw new StatusFault(conflict(resource, call.target.name, why));
  }
  return createObject(call, wanted, { dryRun: options.dryRun, code: 201 });
}
