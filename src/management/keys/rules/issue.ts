// Judges a new key: fills in the defaults from its maker's key, and refuses rights that the maker lacks. A key never has more than
// its maker, in scope, groups and time.
import { type FieldError, invalidValue, requiredValue } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { isScoped } from '../../scope/allows.ts';
import { covers } from '../../scope/covers.ts';
import type { SubjectName } from '../../scope/directory.ts';
import { maxMakers } from '../../scope/issuing.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import { cidrsAnnotation } from '../../scope/patterns/source-networks.ts';
import { administratorRoles, type MaybeScope } from '../../scope/scope.ts';
import { suppliedFaults } from '../secret/supplied.ts';
import { networkRefusals } from './hand-over.ts';
import { emptyJudgement, type JudgeContext, type Judgement, type Refusal } from './judgement.ts';
import { administratorTypes, type KeySpec, keySpec, loginFields, subjectOf } from './key-spec.ts';
import { serverMarkFaults } from './server-marks.ts';

/** Fills in the fields that the writer left out. Returns the warnings. */
export function fillNewKey(object: KubeObject, context: JudgeContext): string[] {
  return [...fillSpec(object, context), ...fillNetworks(object, context), ...ownerWarnings(object, context)];
}

/** An administrator may prepare a key for an owner who comes back; nothing else would show that the key opens nothing. */
function ownerWarnings(object: KubeObject, { caller, directory }: JudgeContext): string[] {
  const owner = subjectOf(keySpec(object));
  if (!caller.isAdministrator || owner === undefined || directory.presenceOf(owner) !== 'disabled') return [];
  return [
    `spec.user: the user ${owner.name} is disabled in the configuration, so the key opens nothing until hostward.management.users enables the user`,
  ];
}

function fillNetworks({ metadata }: KubeObject, { caller: { networks } }: JudgeContext): string[] {
  if (networks === undefined || metadata.annotations?.[cidrsAnnotation] !== undefined) return [];
  metadata.annotations = { ...metadata.annotations, [cidrsAnnotation]: networks };
  return [`metadata.annotations[${cidrsAnnotation}]: set to ${networks}, as in the key that makes this one`];
}

function fillSpec(object: KubeObject, { caller, limits, nowMs }: JudgeContext): string[] {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  object['spec'] = spec;
  const { user, team, subject, type, ttl } = keySpec(object);
  const who = caller.credential.subject;
  if (user === '' && team === '' && subject === '') spec[who.kind] = who.name;
  if (type === '') spec['type'] = 'User';
  if (ttl !== 0 || typeof (spec['ttl'] ?? 0) !== 'number') return [];
  const left = caller.expiryMs === undefined ? undefined : Math.floor((caller.expiryMs - nowMs) / 1000);
  const most = limits.maxTTL === 0 ? undefined : limits.maxTTL;
  const filled = Math.min(left ?? Number.POSITIVE_INFINITY, most ?? Number.POSITIVE_INFINITY);
  if (!Number.isFinite(filled)) return [];
  spec['ttl'] = Math.max(1, filled);
  if (left === undefined || left > filled) return [];
  return [`spec.ttl: set to ${spec['ttl']}, because the key that makes this one expires then`];
}

/** The object is filled in and valid by itself. `ownerKeys` is how many keys its owner has already. */
export function judgeNewKey(object: KubeObject, context: JudgeContext, ownerKeys: number): Judgement {
  const judgement = emptyJudgement();
  const { caller, limits } = context;
  const spec = keySpec(object);
  const owner = subjectOf(spec);
  if (context.inherits !== true) {
    if (owner !== undefined) judgeOwner(owner, context, judgement);
    judgeGroups(spec.groups, owner, context, judgement);
  }
  judgeSupplied(spec.key, context, judgement);
  judgement.refusals.push(...widthRefusals(spec, context), ...privilegeRefusals(object, spec, caller.isAdministrator));
  judgement.refusals.push(...networkRefusals(object.metadata.annotations?.[cidrsAnnotation], caller));
  judgement.errors.push(...timeFaults(spec, context), ...serverMarkFaults(object, undefined));
  if (ownerKeys >= limits.perOwner)
    judgement.refusals.push({
      field: 'metadata',
      // Without a count of present keys: requests at the same time, refused ones too, hold a place each until they end.
      message: `the owner has all the keys that an owner may have, ${limits.perOwner}; delete keys that are not used`,
    });
  if ((isScoped(caller.credential) || context.inherits === true) && caller.makers >= maxMakers)
    judgement.refusals.push({
      field: 'metadata',
      message: `a chain of keys that make each other ends after ${maxMakers}`,
    });
  return judgement;
}

function judgeOwner(owner: SubjectName, { caller, directory }: JudgeContext, { errors, refusals }: Judgement): void {
  const { subject } = caller.credential;
  const field = `spec.${owner.kind}`;
  if (caller.isAdministrator) {
    const isKnown = owner.kind === 'user' ? directory.hasUser(owner.name) : directory.hasTeam(owner.name);
    if (owner.kind !== 'subject' && !isKnown)
      errors.push(
        invalidValue(
          field,
          owner.name,
          `there is no such ${owner.kind} in the configuration; name it in hostward.management.${owner.kind}s first`,
        ),
      );
    return;
  }
  if (owner.kind === 'subject') refusals.push({ field, message: 'only an administrator makes keys of a subject' });
  if (owner.kind === 'user' && (subject.kind !== 'user' || subject.name !== owner.name))
    refusals.push({ field, message: 'only an administrator makes keys of another user' });
  // The message does not say whether the team exists.
  if (owner.kind === 'team' && !subject.teams.has(owner.name))
    refusals.push({ field, message: 'only members of a team and administrators make its keys' });
}

function judgeGroups(
  groups: readonly string[],
  owner: SubjectName | undefined,
  { caller, directory }: JudgeContext,
  { refusals }: Judgement,
): void {
  if (caller.isAdministrator || owner === undefined) return;
  const held = directory.ownGroups(owner);
  for (const [index, group] of groups.entries()) {
    if (held.includes(group)) continue;
    const message = `"${group}" is not held by the ${owner.kind}; only an administrator grants it`;
    refusals.push({ field: `spec.groups[${index}]`, message });
  }
}

function judgeSupplied(key: string, { caller, limits }: JudgeContext, { errors, refusals }: Judgement): void {
  if (key === '') return;
  if (caller.isAdministrator || limits.allowSupplied) errors.push(...suppliedFaults(key, 'spec.key'));
  else refusals.push({ field: 'spec.key', message: 'only an administrator supplies the value; leave the field empty' });
}

/** The scope against those of the caller. */
export function widthRefusals({ scope }: Pick<KeySpec, 'scope'>, { caller }: Pick<JudgeContext, 'caller'>): Refusal[] {
  const child: MaybeScope = scope === undefined ? undefined : parseScope(scope).scope;
  const coverage = covers(caller.credential.scopes, child);
  if (coverage.covered) return [];
  if (coverage.unscoped) return [{ field: 'spec.scope', message: 'a key that has a scope makes no key without one' }];
  return coverage.entries.map((field) => ({
    field,
    message: 'is not inside any one entry of the scope of the calling key',
  }));
}

/** Fields that only administrators set: types, roles and the data of logins. */
export function privilegeRefusals(object: KubeObject, spec: KeySpec, isAdministrator: boolean): Refusal[] {
  if (isAdministrator) return [];
  const refusals: Refusal[] = [];
  if (administratorTypes.includes(spec.type))
    refusals.push({ field: 'spec.type', message: `"${spec.type}" is given by administrators only` });
  for (const entry of parseScope(spec.scope).scope.entries) {
    if (entry.kind === 'role' && administratorRoles.has(entry.role))
      refusals.push({ field: `${entry.path}.role`, message: `"${entry.role}" is given by administrators only` });
  }
  const given = isRecord(object['spec']) ? object['spec'] : {};
  for (const field of loginFields) {
    if (given[field] !== undefined && given[field] !== null)
      refusals.push({ field: `spec.${field}`, message: 'is written by administrators only' });
  }
  return refusals;
}

/** The limits of the configuration, and the end of the calling key. */
export function timeFaults(spec: KeySpec, { caller, limits, nowMs }: JudgeContext, creationMs = nowMs): FieldError[] {
  const errors: FieldError[] = [];
  const { ttl, ttlAfterLastActivity } = spec;
  if (limits.requireExpiry && ttl === 0) errors.push(requiredValue('spec.ttl', 'every key must have an end'));
  if (limits.maxTTL > 0 && (ttl === 0 || ttl > limits.maxTTL))
    errors.push(invalidValue('spec.ttl', ttl, `must be from 1 to ${limits.maxTTL}, the longest that is configured`));
  if (caller.expiryMs === undefined) return errors;
  if (ttlAfterLastActivity)
    errors.push(invalidValue('spec.ttlAfterLastActivity', true, 'the calling key expires, so this end must be fixed'));
  const left = Math.floor((caller.expiryMs - creationMs) / 1000);
  if (ttl === 0 || ttl > Math.max(1, left))
    errors.push(
      invalidValue('spec.ttl', ttl, `must end no later than the calling key, in ${Math.max(1, left)} seconds`),
    );
  return errors;
}
