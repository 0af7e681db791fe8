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

const group = '[0-9a-fA-F]{1,4}';
const octet = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const v4 = `${octet}(\\.${octet}){3}`;
const last32 = `(${group}:${group}|${v4})`;
/** Each place where `::` may be, as RFC 3986 lists the places. */
const v6 = [
  `(${group}:){6}${last32}`,
  `::(${group}:){5}${last32}`,
  ...[0, 1, 2, 3, 4].map((most) => `((${group}:){0,${most}}${group})?::(${group}:){${4 - most}}${last32}`),
  `((${group}:){0,5}${group})?::${group}`,
  `((${group}:){0,6}${group})?::`,
].join('|');
/** Bits behind the prefix, and the IPv6 form of an IPv4 network, are beyond a pattern. */
const network = `^(${v4}/(3[0-2]|[12]?[0-9])|(${v6})/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$`;

const rulePatterns: Record<TextRule, string | undefined> = {
  any: undefined,
  name: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
  network,
  listen: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]\\s]+):[0-9]{1,5}$',
  host: '^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$',
  hostOrAddress: '^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)$',
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
      return { type: ['array', 'null'], items: filled(textSchema(shape.rule)) };
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

/** Not null. */
function filled({ type, ...others }: { type: readonly string[] }): JsonSchema {
  return { type: type.filter((one) => one !== 'null'), ...others };
}

function textSchema(rule: TextRule): { type: readonly string[]; pattern?: string } {
  const pattern = rulePatterns[rule];
  // No number and no truth value is a network, and a pattern judges texts alone.
  const type = rule === 'network' ? ['string', 'null'] : textTypes;
  return pattern === undefined ? { type } : { type, pattern };
}
