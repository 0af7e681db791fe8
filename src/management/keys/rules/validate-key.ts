// Validates an OwnedAccessKey by itself, independent of its writer: reports every fault with its field, all at once, and the
// warnings for its writer. The kit has checked the metadata and the types of all values.
import { identityProblem } from '../../../config/settings/text-rules.ts';
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import { cidrsAnnotation, networkFaults } from '../../scope/patterns/source-networks.ts';
import { longestTTL } from '../life/expiry.ts';
import { administratorTypes, commonTypes, type KeySpec, keySpec } from './key-spec.ts';

const maxDisplayName = 256;
const maxDescription = 4096;

/** Every request computes what these groups may do. */
const maxGroups = 100;

export interface Validated {
  errors: FieldError[];
  warnings: string[];
}

/** The defaults have been filled in. */
export function validateKey(object: KubeObject): Validated {
  const spec = keySpec(object);
  const scope = parseScope(spec.scope);
  const errors = [
    ...textFaults(spec),
    ...subjectFaults(spec),
    ...groupFaults(spec.groups),
    ...ttlFaults(object),
    ...typeFaults(spec.type),
    ...scope.errors,
    ...annotationFaults(object),
  ];
  return { errors, warnings: [...scope.warnings, ...keyWarnings(object, spec)] };
}

function textFaults({ displayName, description }: KeySpec): FieldError[] {
  const tooLong = (path: string, most: number): FieldError => {
    return { type: 'FieldValueTooLong', path, message: `Too long: may not be more than ${most} characters` };
  };
  const errors: FieldError[] = [];
  // Counts characters, not UTF-16 units: an emoji is one.
  if ([...displayName].length > maxDisplayName) errors.push(tooLong('spec.displayName', maxDisplayName));
  if ([...description].length > maxDescription) errors.push(tooLong('spec.description', maxDescription));
  return errors;
}

function subjectFaults({ user, team, subject }: KeySpec): FieldError[] {
  const given = Object.entries({ user, team, subject }).filter(([, name]) => name !== '');
  const errors = given.flatMap(([field, name]) => {
    const problem = identityProblem(name);
    return problem === undefined ? [] : [invalidValue(`spec.${field}`, name, `must be ${problem.wanted}`)];
  });
  if (given.length === 0) return [requiredValue('spec.user', 'one of user, team and subject')];
  for (const [field, name] of given.slice(1))
    errors.push(
      invalidValue(`spec.${field}`, name, `only one of user, team and subject may be set; ${given[0]?.[0]} is`),
    );
  return errors;
}

/**
 * About groups that `old` does not have. Nothing else would show that a name is misspelt: the key is made, and no member of anything has
 * such a group. Only an administrator, who alone grants any group, may hear which ones there are.
 */
export function groupWarnings(object: KubeObject, old: KubeObject | undefined, known: ReadonlySet<string>): string[] {
  const before = old === undefined ? [] : keySpec(old).groups;
  return keySpec(object).groups.flatMap((group, index) =>
    known.has(group) || before.includes(group)
      ? []
      : `spec.groups[${index}]: the configuration has no group ${JSON.stringify(group)}, so it gives no rights and no cluster hears of it`,
  );
}

function groupFaults(groups: readonly string[]): FieldError[] {
  if (groups.length > maxGroups)
    return [invalidValue('spec.groups', groups.length, `at most ${maxGroups} groups are allowed`)];
  return groups.flatMap((group, index) => {
    const path = `spec.groups[${index}]`;
    const problem = identityProblem(group);
    if (problem !== undefined) return [invalidValue(path, group, `must be ${problem.wanted}`)];
    return groups.indexOf(group) < index ? [duplicateValue(path, group)] : [];
  });
}

function ttlFaults(object: KubeObject): FieldError[] {
  const ttl = isRecord(object['spec']) ? object['spec']['ttl'] : undefined;
  if (ttl === undefined || ttl === null) return [];
  if (Number.isInteger(ttl) && (ttl as number) >= 0 && (ttl as number) <= longestTTL) return [];
  return [invalidValue('spec.ttl', ttl, `must be a whole number of seconds from 0 to ${longestTTL}; 0 is no end`)];
}

function typeFaults(type: string): FieldError[] {
  const known = [...commonTypes, ...administratorTypes];
  return known.includes(type) ? [] : [unsupportedValue('spec.type', type, known)];
}

function annotationFaults(object: KubeObject): FieldError[] {
  const cidrs = object.metadata.annotations?.[cidrsAnnotation];
  return cidrs === undefined ? [] : networkFaults(cidrs, `metadata.annotations[${cidrsAnnotation}]`);
}

function keyWarnings(object: KubeObject, { ttl, ttlAfterLastActivity }: KeySpec): string[] {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  const warnings: string[] = [];
  if (ttlAfterLastActivity && ttl === 0)
    warnings.push('spec.ttlAfterLastActivity: has no effect without spec.ttl; this key does not expire');
  if (spec['parent'] !== undefined && spec['parent'] !== '')
    warnings.push('spec.parent: deprecated; use identity instead');
  if (spec['oidcLogin'] !== undefined && spec['oidcLogin'] !== null)
    warnings.push('spec.oidcLogin: deprecated; use identity instead');
  return warnings;
}
