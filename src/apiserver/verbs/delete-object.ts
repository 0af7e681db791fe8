// Deletes one object: at once, or, when finalizers or a grace period keep the object, by setting its deletionTimestamp.
import type { KubeObject } from '../../object/meta/object.ts';
import { conflict, notFound, success } from '../../object/meta/status.ts';
import { visibleRecord } from '../caller/visibility.ts';
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { timestamp } from '../meta/object-meta.ts';
import { StatusFault } from '../request/status-fault.ts';
import { fromStoredText, storageKey, toStoredText } from '../wire/stored-text.ts';
import { mostAttempts } from './change-object.ts';
import type { DeleteOptions, Propagation } from './write-options.ts';

export async function deleteObject(call: Call, options: DeleteOptions): Promise<VerbOutcome> {
  const { kind, kit, target, user } = call;
  const resource = { group: kind.group, resource: kind.plural };
  const key = storageKey(kind, target.namespace, target.name);
  let record = visibleRecord(call, (await kit.store.get(key, { fresh: true })).record);
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    if (record === undefined) throw new StatusFault(notFound(resource, target.name));
    const old = fromStoredText(record.value, kind, record.revision);
    checkDeletePreconditions(call, old, options);
    const { namespace, name, subresource } = target;
    for (const admit of kit.admission) {
      const about = { kind, namespace, name, requestName: name, subresource };
      await admit({ operation: 'delete', ...about, object: undefined, old, user });
    }
    const next = afterDelete(call, old, options);
    const text = toStoredText(kind.conversion === undefined ? next.object : kind.conversion.toStored(next.object));
    if (options.dryRun) return outcomeOf(call, next, text, record.revision);
    if (!next.gone && text === record.value) {
      return { kind: 'stored', code: 200, text: record.value, revision: record.revision };
    }
    const written = await kit.store.write(key, { expect: record.revision, value: next.gone ? undefined : text });
    if (written.ok) {
      if (next.gone) kind.strategy.resources?.release(old);
      call.wrote?.({ kind: kind.kind, text });
      return outcomeOf(call, next, text, written.revision);
    }
    record = visibleRecord(call, written.current);
  }
  throw new StatusFault(conflict(resource, target.name));
}

function outcomeOf(
  call: Call,
  next: { object: KubeObject; gone: boolean },
  text: string,
  revision: number,
): VerbOutcome {
  const { kind, target } = call;
  if (!next.gone || kind.strategy.deletion?.returnsObject === true)
    return { kind: 'stored', code: 200, text, revision };
  const { uid } = next.object.metadata;
  const details = { name: target.name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural };
  return { kind: 'value', code: 200, value: success(uid === undefined ? details : { ...details, uid }) };
}

function checkDeletePreconditions(call: Call, old: KubeObject, options: DeleteOptions): void {
  const { kind, target } = call;
  const resource = { group: kind.group, resource: kind.kind };
  const { uid = '', resourceVersion = '' } = old.metadata;
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw new StatusFault(conflict(resource, target.name, why));
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw new StatusFault(conflict(resource, target.name, why));
  }
}

/** Computes the object after the delete: `gone`, or kept with a deletionTimestamp. */
function afterDelete(call: Call, old: KubeObject, options: DeleteOptions): { object: KubeObject; gone: boolean } {
  const { deletion = {} } = call.kind.strategy;
  const metadata = { ...old.metadata };
  const object: KubeObject = { ...old, metadata };
  const finalizers = finalizersFor(old.metadata.finalizers ?? [], options.propagation);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const grace = Math.max(0, options.gracePeriodSeconds ?? deletion.gracePeriodSeconds?.(old) ?? 0);
  const gracePeriod = deletion.gracePeriodSeconds === undefined ? 0 : grace;
  const waits = finalizers.length > 0 || gracePeriod > 0 || deletion.hasPendingWork?.(object) === true;
  if (!waits) return { object, gone: true };
  const wall = call.kit.clock.wallTime();
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = timestamp(new Date(wall.getTime() + gracePeriod * 1000));
    if (deletion.hasNoGracePeriod !== true) metadata.deletionGracePeriodSeconds = gracePeriod;
    if (metadata.generation !== undefined) metadata.generation += 1;
  } else if (gracePeriod < (metadata.deletionGracePeriodSeconds ?? 0)) {
    metadata.deletionTimestamp = timestamp(new Date(wall.getTime() + gracePeriod * 1000));
    metadata.deletionGracePeriodSeconds = gracePeriod;
  }
  deletion.prepare?.(object);
  return { object, gone: false };
}

const collectorFinalizers: Record<Exclude<Propagation, 'Background'>, string> = {
  Orphan: 'orphan',
  Foreground: 'foregroundDeletion',
};

/** Stores the propagation policy as a finalizer, which the garbage collector acts on and removes. */
function finalizersFor(present: readonly string[], propagation: Propagation | undefined): string[] {
  if (propagation === undefined) return [...present];
  const kept = present.filter((name) => name !== 'orphan' && name !== 'foregroundDeletion');
  return propagation === 'Background' ? kept : [...kept, collectorFinalizers[propagation]];
}
