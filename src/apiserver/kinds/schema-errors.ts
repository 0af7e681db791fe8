// Checks the rules of a schema beyond types: required fields, enums, ranges, patterns and lengths. In: an object whose types
// are correct already. Out: every fault, with the path of its field.
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../../object/meta/field-error.ts';
import { isRecord } from '../../object/text/json.ts';
import type { Limits, Node } from './schema.ts';

/** Bounds the answer: a hostile body could otherwise cause millions of faults. */
const maxErrors = 100;

export function schemaErrors(object: unknown, node: Node): FieldError[] {
  const errors: FieldError[] = [];
  if (hasLimits(node)) walk(object, node, '', errors);
  return errors.slice(0, maxErrors);
}

/** Most kinds have no limits, and their objects need no walk. */
const known = new WeakMap<Node, boolean>();

function hasLimits(node: Node): boolean {
  let answer = known.get(node);
  if (answer === undefined) {
    known.set(node, false);
    answer = membersOf(node).some(hasLimits) || hasOwnLimits(node);
    known.set(node, answer);
  }
  return answer;
}

function hasOwnLimits(node: Node): boolean {
  return (node.type === 'scalar' && node.limits !== undefined) || (node.type === 'object' && node.required.length > 0);
}

function membersOf(node: Node): Node[] {
  switch (node.type) {
    case 'object':
      return [...node.fields.values()];
    case 'map':
      return [node.values];
    case 'list':
      return [node.items];
    case 'scalar':
    case 'any':
      return [];
    default:
      return node satisfies never;
  }
}

function walk(value: unknown, node: Node, path: string, errors: FieldError[]): void {
  if (value === undefined || value === null || errors.length >= maxErrors || !hasLimits(node)) return;
  switch (node.type) {
    case 'object':
      if (!isRecord(value)) return;
      for (const name of node.required) if (value[name] === undefined) errors.push(requiredValue(below(path, name)));
      for (const [name, field] of node.fields) walk(value[name], field, below(path, name), errors);
      return;
    case 'map':
      if (isRecord(value))
        for (const name of Object.keys(value)) walk(value[name], node.values, below(path, name), errors);
      return;
    case 'list':
      if (!Array.isArray(value)) return;
      for (const [index, item] of value.entries()) walk(item, node.items, `${path}[${index}]`, errors);
      return;
    case 'scalar':
      if (node.limits !== undefined) errors.push(...limitErrors(value, node.limits, path));
      return;
    case 'any':
      return;
    default:
      node satisfies never;
  }
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function limitErrors(value: unknown, limits: Limits, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { minimum, maximum, maxLength, pattern } = limits;
  const quoted = limits.isHidden === true ? '<hidden>' : value;
  if (limits.enum !== undefined && !limits.enum.includes(value as string)) {
    errors.push(unsupportedValue(path, quoted, limits.enum.map(String)));
  }
  if (typeof value === 'number') {
    if (minimum !== undefined && value < minimum) {
      errors.push(invalidValue(path, quoted, `should be greater than or equal to ${minimum}`));
    }
    if (maximum !== undefined && value > maximum) {
      errors.push(invalidValue(path, quoted, `should be less than or equal to ${maximum}`));
    }
  }
  if (typeof value !== 'string') return errors;
  if (maxLength !== undefined && value.length > maxLength && [...value].length > maxLength) {
    errors.push({ type: 'FieldValueTooLong', path, message: `Too long: may not be more than ${maxLength} characters` });
  } else if (pattern !== undefined && !pattern.test(value)) {
    errors.push(invalidValue(path, quoted, `should match '${pattern.source}'`));
  }
  return errors;
}
