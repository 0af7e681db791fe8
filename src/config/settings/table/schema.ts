// Generates the JSON Schema of the configuration from the settings table, for editors and other programs.

import type { TextRule } from '../text-rules.ts';
import { type Slot, slotTree } from './check.ts';
import { retiredSettings } from './retired-settings.ts';
import type { Setting } from './table.ts';

export type JsonSchema = { [key: string]: unknown };

export function configurationSchema(): JsonSchema {
  const slots = slotTree();
  const schema = schemaOf(slots) as { properties: JsonSchema };
  const own = schema.properties['hostward'] as { properties: JsonSchema };
  // Editors mark a deprecated key, but refuse an unknown one.
  for (const [key, reason] of retiredSettings)
    own.properties[key] = { description: `Retired: ${reason}.`, deprecated: true };
  schema.properties['global'] = { type: ['object', 'null'], properties: { hostward: own } };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of Hostward',
    description:
      "Any vcluster.yaml; Hostward's own settings are under hostward in a file of their own, or under global.hostward.",
    ...schema,
  };
}

/** YAML texts may be written as numbers and booleans, as vCluster reads them too; null means "not set". */
const textTypes = ['string', 'number', 'boolean', 'null'];

const rulePatterns: Record<TextRule, string | undefined> = {
  any: undefined,
  name: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
  network: '^[0-9a-fA-F:.]+/[0-9]{1,3}$',
  listen: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]\\s]+):[0-9]{1,5}$',
  host: '^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$',
  pattern: '^[A-Za-z0-9*]([A-Za-z0-9._/*-]*[A-Za-z0-9*])?$',
  file: '\\S',
  folder: '\\S',
  identity: '^(?!(system|kubeadm|hostward):)[!-+\\--~]([ -+\\--~]{0,251}[!-+\\--~])?$',
  interval: '^(0|[1-9][0-9]{0,4}[smh])$',
  url: '^[hH][tT][tT][pP][sS]://[^\\s@?#\\\\]+$',
};

function schemaOf(slot: Slot): JsonSchema {
  const { setting } = slot;
  const described = setting === undefined ? {} : { description: setting.about };
  if (setting === undefined || setting.shape.kind === 'map') return { ...described, ...mapSchema(slot) };
  const fallback = setting.default === undefined ? {} : { default: setting.default };
  return { ...described, ...fallback, ...shapeSchema(setting, slot) };
}

function mapSchema(slot: Slot): JsonSchema {
  const properties: JsonSchema = {};
  const required: string[] = [];
  for (const [key, below] of slot.children) {
    properties[key] = schemaOf(below);
    if (below.setting?.required) required.push(key);
  }
  return {
    type: ['object', 'null'],
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(slot.closed ? { additionalProperties: false } : {}),
  };
}

function shapeSchema({ shape }: Setting, slot: Slot): JsonSchema {
  switch (shape.kind) {
    case 'boolean':
      return { type: ['boolean', 'null'] };
    case 'text':
      return textSchema(shape.rule);
    case 'choice':
      return { enum: [...shape.of, null] };
    case 'number':
      return { type: ['number', 'null'], exclusiveMinimum: shape.above };
    case 'integer':
      return { type: ['integer', 'null'], minimum: shape.from, maximum: shape.to };
    case 'texts':
      return { type: ['array', 'null'], items: { ...textSchema(shape.rule), type: textTypes.slice(0, 3) } };
    case 'pairs':
      return { type: ['object', 'null'], additionalProperties: { type: textTypes } };
    case 'list': {
      const item = slot.children.get('[]');
      return { type: ['array', 'null'], items: item === undefined ? {} : { ...mapSchema(item), type: 'object' } };
    }
    case 'map':
      return mapSchema(slot);
    default:
      return shape satisfies never;
  }
}

function textSchema(rule: TextRule): JsonSchema {
  const pattern = rulePatterns[rule];
  return pattern === undefined ? { type: textTypes } : { type: textTypes, pattern };
}
