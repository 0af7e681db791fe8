// Serves server-side apply. object/fields/server-side-apply.ts merges; changeObject() does the rest, as for every update.
import { itemSteps } from '../../../object/fields/field-compare.ts';
import { pathText } from '../../../object/fields/field-set.ts';
import { applyObject as applied } from '../../../object/fields/server-side-apply.ts';
import { requiredValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { conflict, invalid } from '../../../object/meta/status.ts';
import { equalJson, isJsonObject, type Json } from '../../../object/text/json.ts';
import { groupVersionOf } from '../../kinds/kind.ts';
import type { Call, VerbOutcome } from '../../kinds/kit.ts';
import { checkCounts } from '../../kinds/object-limits.ts';
import type { Node } from '../../kinds/schema.ts';
import { managerOptions } from '../../meta/managers.ts';
import { timestamp } from '../../meta/object-meta.ts';
import { badRequest, plainFailure, StatusFault } from '../../request/status-fault.ts';
import { type Decoded, decode } from '../../wire/decode.ts';
import { shown } from '../../wire/stored-text.ts';
import { changeObject } from '../change-object.ts';
import { createObject } from '../create-object.ts';
import { checkName, fitted, incomingType, placeInNamespace, type Submitted } from '../incoming-object.ts';
import type { WriteOptions } from '../write-options.ts';

export async function applyObject(call: Call, submitted: Submitted, options: WriteOptions): Promise<VerbOutcome> {
  if ((call.target.query.get('fieldManager') ?? '') === '') {
    const errors = [requiredValue('fieldManager', 'is required for apply patch')];
    throw new StatusFault(invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', errors));
  }
  const config = configuration(call, submitted);
  return changeObject(call, {
    dryRun: options.dryRun,
    uidIsPrecondition: false,
    merged: config,
    compute: (old) => applyConfiguration(call, old, config, options.force),
    keepsManagers: true,
    create: () => {
      const { uid, resourceVersion = '' } = config.metadata;
      // A client that sends a resourceVersion has seen an object. The real server creates a new one all the same.
      if (call.kit.dialect === 'strict' && resourceVersion !== '') {
        throw new StatusFault(conflict({ group: call.kind.group, resource: call.kind.plural }, call.target.name));
      }
      checkCounts(config, { kind: call.kind, name: call.target.name, before: undefined, limits: call.kit.limits });
      const object = applyConfiguration(call, undefined, structuredClone(config), options.force);
      if (uid !== undefined && uid !== '') object.metadata.uid = uid;
      delete object.metadata.resourceVersion;
      return createObject(call, object, { dryRun: options.dryRun, keepsManagers: true });
    },
  });
}

/** Decodes without defaults: a manager owns only the fields that it sends. */
function configuration(call: Call, submitted: Submitted): KubeObject {
  const value = incomingType(call, submitted);
  if ((value['apiVersion'] ?? '') === '' || (value['kind'] ?? '') === '') {
    throw badRequest(`invalid object type: ${value['apiVersion'] ?? '/'}, Kind=${value['kind'] ?? ''}`);
  }
  const config = typedConfiguration(call, { ...submitted, value });
  const { metadata } = config;
  if (metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  metadata.name ??= call.target.name;
  checkName(call, config);
  placeInNamespace(call, config);
  if (call.kind.strategy.hasStatus === true && call.target.subresource === '') delete config['status'];
  return config;
}

/** Apply refuses unknown fields even without strict validation: their owner could not be recorded. */
function typedConfiguration(call: Call, submitted: Submitted): KubeObject {
  const { kind, kit } = call;
  const { name = '', namespace = '' } = (submitted.value as KubeObject).metadata ?? {};
  const refuse = (why: string) =>
    plainFailure(
      `failed to create typed patch object (${namespace}/${name}; ${groupVersionOf(kind)}, Kind=${kind.kind}): ${why}`,
    );
  const names = { kind: kind.kind, version: groupVersionOf(kind), isAsSent: true };
  const node = kit.catalog.schemaOf(kind);
  let decoded: Decoded;
  try {
    decoded = decode(submitted.value, node, names);
  } catch (error) {
    throw error instanceof StatusFault
      ? refuse(error.message.replace(/^.* cannot be handled as a [^:]*: /, ''))
      : error;
  }
  const [unknown] = decoded.unknownFields;
  if (unknown !== undefined) throw refuse(`.${unknown}: field not declared in schema`);
  const twice = firstDuplicate(decoded.value as Json, node, '');
  if (twice !== undefined) throw refuse(twice);
  const object = decoded.value as KubeObject;
  object.metadata ??= {};
  return object;
}

/** Finds list items with equal keys, since field ownership could not distinguish them. */
function firstDuplicate(value: Json, node: Node, path: string): string | undefined {
  if (node.type === 'list' && Array.isArray(value)) {
    if (node.listType !== 'atomic' && itemSteps(value, node) === undefined)
      return `${path}: ${duplicateText(value, node)}`;
    return firstOf(value.map((item, index) => firstDuplicate(item, node.items, `${path}[${index}]`)));
  }
  if ((node.type !== 'object' && node.type !== 'map') || !isJsonObject(value)) return undefined;
  return firstOf(
    Object.entries(value).map(([name, member]) => {
      const below = node.type === 'map' ? node.values : node.fields.get(name);
      return below === undefined ? undefined : firstDuplicate(member, below, `${path}.${name}`);
    }),
  );
}

function firstOf(found: readonly (string | undefined)[]): string | undefined {
  return found.find((text) => text !== undefined);
}

function duplicateText(items: readonly Json[], node: Extract<Node, { type: 'list' }>): string {
  const seen = new Set<string>();
  for (const item of items) {
    const itemKey = itemSteps([item], node)?.[0];
    if (itemKey === undefined) return 'element lacks its keys';
    if (seen.has(itemKey)) return `duplicate entries for key ${pathText([itemKey])}`;
    seen.add(itemKey);
  }
  return 'duplicate entries';
}

function applyConfiguration(call: Call, old: KubeObject | undefined, config: KubeObject, force: boolean): KubeObject {
  const now = timestamp(call.kit.clock.wallTime());
  // The merge does not see hidden fields, because managedFields and the sentence of a conflict would show them.
  const visible = shown(config, call.kind);
  // A status that the strategy shows of itself was not sent, so the manager does not own it.
  if (config['status'] === undefined) delete visible['status'];
  const result = applied(old, visible, { ...managerOptions(call, now), force });
  if (!result.ok) throw new StatusFault(result.status);
  const { object } = result;
  const managers = object.metadata.managedFields;
  const fittedObject = fitted(call, { value: object, duplicates: [] }, 'Ignore');
  call.kind.strategy.hidden?.restore?.(fittedObject, config);
  // When neither a field nor an owner changes, managedFields keeps its times, so that a repeated apply writes nothing.
  const kept = old?.metadata.managedFields;
  if (!result.isChanged && kept !== undefined) fittedObject.metadata.managedFields = kept;
  else if (managers !== undefined && !equalJson(managers as Json, (kept ?? null) as Json))
    fittedObject.metadata.managedFields = managers;
  return fittedObject;
}
