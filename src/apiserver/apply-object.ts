// Server-side apply of a request: the merge is object/server-side-apply.ts, the rest is an update like any other.
import { requiredValue } from '../object/field-error.ts';
import { equalJson, type Json } from '../object/json.ts';
import type { KubeObject } from '../object/object.ts';
import { applyObject as applied } from '../object/server-side-apply.ts';
import { invalid } from '../object/status.ts';
import { changeObject } from './change-object.ts';
import { createObject } from './create-object.ts';
import { checkName, fitted, incomingType, placeInNamespace, type Submitted } from './incoming-object.ts';
import type { Call, Outcome } from './kit.ts';
import { managerOptions, withoutServersPart } from './managers.ts';
import { timestamp } from './object-meta.ts';
import { badRequest, StatusFault } from './status-fault.ts';
import type { WriteOptions } from './write-options.ts';

export async function applyObject(call: Call, submitted: Submitted, options: WriteOptions): Promise<Outcome> {
  if ((call.target.query.get('fieldManager') ?? '') === '') {
    const errors = [requiredValue('fieldManager', 'is required for apply patch')];
    throw new StatusFault(invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', errors));
  }
  const config = configuration(call, submitted, options);
  return changeObject(call, {
    dryRun: options.dryRun,
    uidIsPrecondition: false,
    compute: (old) => laidOver(call, old, config, options.force),
    keepsManagers: true,
    create: () => {
      const { uid } = config.metadata;
      const object = laidOver(call, undefined, structuredClone(config), options.force);
      if (uid !== undefined && uid !== '') object.metadata.uid = uid;
      return createObject(call, object, { dryRun: options.dryRun, keepsManagers: true });
    },
  });
}

/** Not defaulted: a manager owns what it says, not what the server makes of it. */
function configuration(call: Call, submitted: Submitted, options: WriteOptions): KubeObject {
  const value = incomingType(call, submitted);
  const config = fitted(call, { ...submitted, value }, { validation: options.fieldValidation, setsDefaults: false });
  const { metadata } = config;
  if (metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  metadata.name ??= call.target.name;
  checkName(call, config);
  placeInNamespace(call, config);
  return withoutServersPart(call, config);
}

function laidOver(call: Call, old: KubeObject | undefined, config: KubeObject, force: boolean): KubeObject {
  const now = timestamp(call.kit.clock.wallTime());
  const result = applied(old, config, { ...managerOptions(call, now), force });
  if (!result.ok) throw new StatusFault(result.status);
  const { object } = result;
  const managers = object.metadata.managedFields;
  const whole = fitted(call, { value: object, duplicateFields: [] }, { validation: 'Ignore', setsDefaults: true });
  // Nothing was changed and nobody new owns anything: the record keeps its times.
  const kept = old?.metadata.managedFields;
  if (!result.isChanged && kept !== undefined) whole.metadata.managedFields = kept;
  else if (managers !== undefined && !equalJson(managers as Json, (kept ?? null) as Json))
    whole.metadata.managedFields = managers;
  return whole;
}
