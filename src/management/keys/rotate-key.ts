// Rotates a key: POST to `ownedaccesskeys/NAME/rotate` makes a new value and answers it once. A caller who gets the value could
// use the key, so the caller must have the right to make a key as wide as this one.
import type { SubresourceAction } from '../../apiserver/kinds/kind.ts';
import { badRequest, forbiddenBecause, StatusFault } from '../../apiserver/request/status-fault.ts';
import { toStoredText } from '../../apiserver/wire/stored-text.ts';
import { type FieldError, invalidValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { conflict, invalid, notFound } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import type { Store } from '../../store/store.ts';
import { keyResource, managementGroup } from '../scope/request.ts';
import { keyPrefix } from './book/key-book.ts';
import { hiddenPart, timeText } from './book/stored-key.ts';
import type { Session } from './callers/callers.ts';
import { contextOf, type KeyOptions } from './key-strategy.ts';
import { isExpired } from './life/expiry.ts';
import { keyFacts } from './life/key-facts.ts';
import { judgeChangedKey } from './rules/change.ts';
import { handOverRefusals } from './rules/hand-over.ts';
import { refusalText } from './rules/judgement.ts';
import { holderOf, makerText } from './rules/maker.ts';
import { rotatedByAnnotation } from './rules/server-marks.ts';
import type { KeyRecord } from './secret/key-record.ts';
import { overlapFaults, rotate } from './secret/rotate.ts';

const resource = { group: managementGroup, resource: keyResource };

export function rotateKey(store: Store, parts: KeyOptions): SubresourceAction {
  return async (body, ctx) => {
    const { object, name } = ctx;
    const part = object === undefined ? undefined : hiddenPart(object);
    const session = parts.callers.sessionOf(ctx.user);
    if (object === undefined || part === undefined) throw new StatusFault(notFound(resource, name));
    if (session === undefined) throw badRequest('rotate a key: want a caller with a key');
    const overlapSeconds = overlapOf(body);
    const facts = keyFacts(object, part.record);
    const context = contextOf(parts, session);
    const lastActivityMs = parts.activity.forExpiryMs(part.record.uid, facts.times.ttl);
    const isOver = isExpired(facts.times, lastActivityMs, context.nowMs);
    const errors = overlapFaults(overlapSeconds, 'spec.overlapSeconds');
    if (facts.isDeleted) errors.push(openingNothing(name, 'is being deleted'));
    else if (isOver) errors.push(openingNothing(name, 'has expired'));
    const isSelf = session.facts?.record.uid === part.record.uid;
    const judgement = judgeChangedKey(
      {
        object,
        old: object,
        times: facts.times,
        lastActivityMs,
        isSameKey: true,
        isSelf,
      },
      context,
    );
    if (!isSelf) judgement.refusals.push(...handOverRefusals(facts, context.caller));
    errors.push(...judgement.errors);
    if (errors.length > 0)
      throw new StatusFault(invalid({ group: managementGroup, kind: 'OwnedAccessKeyRotation' }, name, errors));
    if (judgement.refusals.length > 0) {
      const causes = judgement.refusals.map(({ field, message }) => ({
        reason: 'FieldValueForbidden',
        message,
        field,
      }));
      throw forbiddenBecause(resource, name, refusalText(judgement.refusals), causes);
    }
    if (overlapSeconds > 0) refuseSecondOverlap(part.record, context.nowMs, name);
    if (ctx.dryRun) return { metadata: { name }, spec: { overlapSeconds } };
    const { random, peppers } = parts;
    const made = rotate(part.record, { random, peppers, nowMs: context.nowMs, overlapSeconds });
    const rotated = rotatedObject(object, made.record, session);
    if (overlapSeconds === 0) ctx.warn?.(whatGoesOn(name));
    await write(store, rotated);
    ctx.wrote?.({ kind: 'OwnedAccessKey', text: toStoredText(rotated) });
    const [, left] = made.record.secrets;
    const until = left?.validUntilMs;
    return {
      metadata: { name },
      spec: { overlapSeconds },
      status: {
        key: made.text,
        ...(until === undefined ? {} : { oldKeyValidUntil: timeText(until) }),
      },
    };
  };
}

/** There is room for one old value, and the first rotation has promised how long it goes on. */
function refuseSecondOverlap({ secrets: [, left] }: KeyRecord, nowMs: number, name: string): void {
  if (left?.validUntilMs === undefined || nowMs >= left.validUntilMs) return;
  const until = timeText(left.validUntilMs);
  const why = `an earlier value stays valid until ${until}; rotate again then, or without an overlap, which ends both values at once`;
  throw new StatusFault(conflict(resource, name, why));
}

const whatGoesOn = (name: string): string =>
  `keys that were made with this key go on, those in kubeconfigs too: hostward keys list --made-by key:${name} names them, and hostward keys revoke ${name} --tree ends them with the key`;

/** A disabled key may come back, with its new value. */
function openingNothing(name: string, why: string): FieldError {
  return invalidValue(
    'metadata.name',
    name,
    `the key ${why}, and a new value would open nothing; delete it, and make a new key`,
  );
}

/** From now on only the caller who got the new value knows the key. */
function rotatedObject(object: KubeObject, rotated: KeyRecord, session: Session): KubeObject {
  const { holder: _holder, ...record } = rotated;
  const annotations = { ...object.metadata.annotations, [rotatedByAnnotation]: makerText(session) };
  const holder = holderOf(session);
  // Tokens and certificates that were made with the old value die with it, because it may have leaked. As long as it goes on, so do they.
  const raised = record.secrets.length > 1 ? 0 : 1;
  const known = { ...record, ...(holder && { holder }), tokenGeneration: record.tokenGeneration + raised };
  const metadata = { ...object.metadata, annotations };
  return { ...object, metadata, hidden: { ...(object['hidden'] as object), record: known } };
}

async function write(store: Store, object: KubeObject): Promise<void> {
  const { name = '', resourceVersion } = object.metadata;
  const value = toStoredText(object);
  const written = await store.write(keyPrefix + name, { expect: Number(resourceVersion), value });
  if (!written.ok) throw new StatusFault(conflict(resource, name));
}

function overlapOf(body: KubeObject): number {
  const seconds = isRecord(body['spec']) ? body['spec']['overlapSeconds'] : undefined;
  return typeof seconds === 'number' ? seconds : 0;
}
