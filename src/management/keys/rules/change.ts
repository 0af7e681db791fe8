// Judges a change of a key as if the calling key made the result: fields that never change, fields that only administrators
// change, and the limits for the owner and for the key itself. A caller who is not an administrator can only make the key
// narrower.
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { covers } from '../../scope/covers.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import { cidrsAnnotation, isNarrower } from '../../scope/patterns/source-networks.ts';
import { expiryOf, isExpired, type KeyTimes } from '../life/expiry.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import { privilegeRefusals, timeFaults, widthRefusals } from './issue.ts';
import { emptyJudgement, type JudgeContext, type Judgement, type Refusal } from './judgement.ts';
import { type KeySpec, keySpec, loginFields } from './key-spec.ts';
import { isDisabledByAdministrator, keepMarks, serverMarkFaults } from './server-marks.ts';

export interface KeyChange {
  object: KubeObject;
  old: KubeObject;
  /** Of the old object. */
  times: KeyTimes;
  lastActivityMs: number | undefined;
  /** The client sent back the value that the key has already. */
  isSameKey: boolean;
  /** The calling key changes itself. */
  isSelf: boolean;
}

/** Fields that never change, and fields that a PUT left out, are taken from the old object. */
export function fillChangedKey(object: KubeObject, old: KubeObject): void {
  keepMarks(object, old);
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  object['spec'] = spec;
  const before = isRecord(old['spec']) ? old['spec'] : {};
  const { user, team, subject, type } = keySpec(object);
  if (type === '') spec['type'] = before['type'];
  if (user !== '' || team !== '' || subject !== '') return;
  for (const field of ['user', 'team', 'subject']) if (before[field] !== undefined) spec[field] = before[field];
}

export function judgeChangedKey(change: KeyChange, context: JudgeContext): Judgement {
  const judgement = emptyJudgement();
  const { object, old } = change;
  const [now, before] = [keySpec(object), keySpec(old)];
  judgement.errors.push(...immutableFaults(now, before, change), ...deadFaults(now, before, change, context.nowMs));
  judgement.errors.push(...serverMarkFaults(object, old));
  if (change.isSelf && !context.caller.isAdministrator) {
    judgement.refusals.push(...selfRefusals(change, now, before), ...narrowingRefusals(change, now, before));
    return judgement;
  }
  judgement.refusals.push(...widthRefusals(now, context));
  judgement.errors.push(...widthInTime(change, now, before, context));
  if (context.caller.isAdministrator) return judgement;
  judgement.refusals.push(...narrowingRefusals(change, now, before));
  // A grant of an administrator may stay, but only an administrator can make a new one.
  const given = new Set(privilegeRefusals(old, before, false).map(({ message, field }) => message + field));
  for (const refusal of privilegeRefusals(object, now, false)) {
    const isSaid = judgement.refusals.some(({ field }) => field === refusal.field);
    if (!isSaid && !given.has(refusal.message + refusal.field)) judgement.refusals.push(refusal);
  }
  return judgement;
}

function immutableFaults(now: KeySpec, before: KeySpec, { isSameKey }: KeyChange): FieldError[] {
  const errors = (['user', 'team', 'subject', 'type'] as const)
    .filter((field) => now[field] !== before[field])
    .map((field) => invalidValue(`spec.${field}`, now[field], 'field is immutable'));
  if (now.key !== '' && !isSameKey) {
    const message = 'Invalid value: the value is not shown: a key is not changed; rotate it instead';
    errors.push({ type: 'FieldValueInvalid', path: 'spec.key', message });
  }
  return errors;
}

/** A new ttl does not bring an expired key back. */
function deadFaults(now: KeySpec, before: KeySpec, change: KeyChange, nowMs: number): FieldError[] {
  if (!changesTime(now, before) || !isExpired(change.times, change.lastActivityMs, nowMs)) return [];
  return [invalidValue('spec.ttl', now.ttl, 'the key has expired and stays so; make a new one')];
}

function changesTime(now: KeySpec, before: KeySpec): boolean {
  return now.ttl !== before.ttl || now.ttlAfterLastActivity !== before.ttlAfterLastActivity;
}

/** The end of the calling key limits every key that it touches; the limits of the configuration only a new end. */
function widthInTime(change: KeyChange, now: KeySpec, before: KeySpec, context: JudgeContext): FieldError[] {
  if (changesTime(now, before)) return timeFaults(now, context, change.times.creationMs);
  const open = { ...context.limits, maxTTL: 0, requireExpiry: false };
  return timeFaults(now, { ...context, limits: open }, change.times.creationMs);
}

function narrowingRefusals(change: KeyChange, now: KeySpec, before: KeySpec): Refusal[] {
  const { object, old, times, lastActivityMs } = change;
  const refusals: Refusal[] = [];
  const only = (field: string, what: string) =>
    refusals.push({ field, message: `only an administrator ${what} of an existing key` });
  if (!isSame(now.scope, before.scope) && widensScope(now.scope, before.scope)) only('spec.scope', 'widens the scope');
  for (const [index, group] of now.groups.entries())
    if (!before.groups.includes(group)) only(`spec.groups[${index}]`, 'adds groups');
  if (changesTime(now, before) && movesEndAway(now, times, lastActivityMs))
    only('spec.ttl', 'moves the end further away');
  const cidrs = (of: KubeObject) => of.metadata.annotations?.[cidrsAnnotation];
  if (!isNarrower(cidrs(object), cidrs(old))) only(`metadata.annotations[${cidrsAnnotation}]`, 'adds networks');
  if (before.disabled && !now.disabled && isDisabledByAdministrator(old))
    refusals.push({ field: 'spec.disabled', message: 'an administrator disabled the key, and only one enables it' });
  for (const field of loginFields)
    if (!isSame(member(object, field), member(old, field)))
      refusals.push({ field: `spec.${field}`, message: 'is written by administrators only' });
  return refusals;
}

function widensScope(now: unknown, before: unknown): boolean {
  const [child, parent] = [now, before].map((of) => (of === undefined ? undefined : parseScope(of).scope));
  return !covers([parent], child).covered;
}

function movesEndAway(now: KeySpec, times: KeyTimes, lastActivityMs: number | undefined): boolean {
  const before = expiryOf(times, lastActivityMs);
  if (before === undefined) return false;
  // An end that moves with every use is later than any that does not.
  if (now.ttlAfterLastActivity && !times.afterLastActivity) return true;
  if (now.ttlAfterLastActivity) return now.ttl === 0 || now.ttl > times.ttl;
  const after = expiryOf({ ...times, ttl: now.ttl, afterLastActivity: false }, lastActivityMs);
  return after === undefined || after > before;
}

/** A key may change its own description, and make itself end sooner. */
function selfRefusals({ object, old }: KeyChange, now: KeySpec, before: KeySpec): Refusal[] {
  const message = 'a key may change on itself only its texts, labels, annotations, disabled: true and a shorter ttl';
  const refusals: Refusal[] = [];
  const refuse = (field: string) => refusals.push({ field, message });
  if (!isSame(now.scope, before.scope)) refuse('spec.scope');
  if (!isSame([...now.groups], [...before.groups])) refuse('spec.groups');
  if (before.disabled && !now.disabled) refuse('spec.disabled');
  if (now.ttlAfterLastActivity !== before.ttlAfterLastActivity) refuse('spec.ttlAfterLastActivity');
  for (const field of ['ownerReferences', 'finalizers'] as const)
    if (!isSame(object.metadata[field] ?? [], old.metadata[field] ?? [])) refuse(`metadata.${field}`);
  return refusals;
}

function member(object: KubeObject, field: string): unknown {
  return isRecord(object['spec']) ? (object['spec'][field] ?? undefined) : undefined;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

/** Direct tokens of the key die with such a change. */
export function changesToken(now: KubeObject, old: KubeObject): boolean {
  const [after, before] = [keySpec(now), keySpec(old)];
  const fields = ['scope', 'groups', 'disabled', 'ttl', 'ttlAfterLastActivity'] as const;
  return fields.some((field) => !isSame(after[field], before[field]));
}

/** Whether this write says that the key is disabled: by its words, or because it repeats what stands there and changes nothing else. */
export function saysDisabled(object: KubeObject, old: KubeObject, stated: unknown): boolean {
  const spec = isRecord(stated) && isRecord(stated['spec']) ? stated['spec'] : {};
  if (spec['disabled'] === true) return true;
  const said = ({ metadata: { labels, annotations }, ...rest }: KubeObject) => [rest['spec'], labels, annotations];
  return keySpec(object).disabled && isSame(said(object), said(old));
}

/** A group that an administrator gave stays granted; one that its owner took never was. */
export function grantedAfter(
  record: KeyRecord,
  object: KubeObject,
  old: KubeObject,
  byAdministrator: boolean,
): string[] {
  const before = keySpec(old).groups;
  return keySpec(object).groups.filter(
    (group) => record.grantedGroups.includes(group) || (byAdministrator && !before.includes(group)),
  );
}

/** `maker`: the key of a kubeconfig hands on what was granted to it; undefined = the groups are the caller's own to ask for. */
export function grantedAtFirst(
  groups: readonly string[],
  maker: Pick<KeyRecord, 'grantedGroups'> | undefined,
  byAdministrator: boolean,
): readonly string[] {
  if (maker === undefined) return byAdministrator ? groups : [];
  return groups.filter((group) => maker.grantedGroups.includes(group));
}
