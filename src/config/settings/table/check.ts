// Checks a tree against the settings table. In: the merged tree. Out: the plain value with all defaults, and every fault of
// types, choices, required and unknown keys with its position. Must never know the effect of a setting.

import { nearestKey } from '../../../object/meta/nearest-key.ts';
import { urlWithoutUser } from '../../../object/text/url-user.ts';
import { type Fault, fault, type Position, quoted, warning } from '../../fault.ts';
import { type SettingsPath, showPath } from '../../yaml/settings-path.ts';
import {
  type ListNode,
  type MapNode,
  type PlainObject,
  plainObject,
  type ScalarNode,
  type Span,
  type TreeNode,
} from '../../yaml/tree.ts';
import { scalarText } from '../../yaml/yaml-scalar.ts';
import { gluedDashFix, strangeSpaceFix } from '../../yaml/yaml-syntax.ts';
import { checkText, type TextRule } from '../text-rules.ts';
import { closedPaths, type Setting, type SettingShape, settingsTable } from './table.ts';

/** The settings table as a tree of keys; the key `[]` leads from a list to its items. */
export interface Slot {
  setting: Setting | undefined;
  closed: boolean;
  children: Map<string, Slot>;
}

export function slotTree(rows: readonly Setting[] = settingsTable): Slot {
  const root: Slot = { setting: undefined, closed: false, children: new Map() };
  for (const row of rows) {
    let slot = root;
    let path = '';
    for (const part of row.path.replaceAll('[]', '.[]').split('.')) {
      path = path === '' ? part : `${path}.${part}`;
      let next = slot.children.get(part);
      if (next === undefined) {
        const closed = slot.closed || closedPaths.includes(path);
        next = { setting: undefined, closed, children: new Map() };
        slot.children.set(part, next);
      }
      slot = next;
    }
    slot.setting = row;
  }
  return root;
}

export function positionOfNode(node: TreeNode): Position {
  return node.span.source.positionAt(node.span.start);
}

export class Checker {
  readonly faults: Fault[] = [];
  readonly warnings: Fault[] = [];

  /** The value at a slot with its defaults. A faulty value counts as absent, so that one mistake is one fault. */
  check(node: TreeNode | undefined, slot: Slot, path: SettingsPath): unknown {
    const given = node?.kind === 'scalar' && node.value === null ? undefined : node;
    const shape = slot.setting?.shape;
    if (shape === undefined || shape.kind === 'map') return this.#map(given, slot, path, shape?.kind === 'map');
    if (given === undefined) return slot.setting?.default;
    if (shape.kind === 'list') return this.#list(given, slot, path) ?? slot.setting?.default;
    return this.#value(given, shape, path) ?? slot.setting?.default;
  }

  #refuse(code: string, node: TreeNode, path: SettingsPath, wanted: string, found: string, fix = ''): undefined {
    this.faults.push(fault({ code, at: positionOfNode(node), path: showPath(path), found, wanted, fix }));
  }

  #map(node: TreeNode | undefined, slot: Slot, path: SettingsPath, isOptional: boolean): unknown {
    if (node !== undefined && node.kind !== 'map') {
      this.#refuse('CONFIG_WRONG_TYPE', node, path, 'a map', describe(node), nestingFix(node, slot));
      return isOptional ? undefined : this.#map(undefined, slot, path, false);
    }
    if (node === undefined && isOptional) return undefined;
    const meant = node === undefined ? new Set() : this.#unknownKeys(node, slot, path);
    const object: PlainObject = plainObject();
    for (const [key, below] of slot.children) {
      const entry = node?.entries.get(key)?.node;
      const value = this.check(entry, below, [...path, key]);
      const isAbsent = entry === undefined || (entry.kind === 'scalar' && entry.value === null);
      if (isAbsent && below.setting?.required && node !== undefined && !meant.has(key)) {
        const parts = { code: 'CONFIG_MISSING_KEY', at: positionOfNode(node), path: showPath(path) };
        this.faults.push(fault({ ...parts, sentence: `the key "${key}" is missing` }));
      }
      if (value !== undefined) object[key] = value;
    }
    return object;
  }

  /** Returns the keys that were probably meant, so that they are not reported as missing too. */
  #unknownKeys(node: MapNode, slot: Slot, path: SettingsPath): ReadonlySet<string> {
    const meant = new Set<string>();
    for (const [key, entry] of node.entries) {
      if (slot.children.has(key)) continue;
      const former = formerNames.get(key);
      const isFormer = former !== undefined && slot.children.has(former);
      const near = isFormer ? former : nearestKey(entry.written, slot.children.keys());
      const isOnlyCase = near?.toLowerCase() === key.toLowerCase();
      // In open maps the keys of vCluster pass. No key of vCluster differs from one of ours by letter case alone.
      if (!slot.closed && !isOnlyCase) continue;
      if (near !== undefined) meant.add(near);
      const known = [...slot.children.keys()];
      const others = known.length === 0 ? 'there are no keys' : `the keys are ${known.join(', ')}`;
      this.faults.push(
        fault({
          code: 'CONFIG_UNKNOWN_KEY',
          at: entry.key.source.positionAt(entry.key.start),
          path: showPath([...path, entry.written]),
          sentence: `${quoted(entry.written)} is not a known key${near === undefined ? `: ${others}` : ''}`,
          fix: isFormer
            ? `this key is now called ${former}`
            : near === undefined
              ? placeFix(key, slot)
              : `did you mean ${near}?`,
        }),
      );
    }
    return meant;
  }

  #list(node: TreeNode, slot: Slot, path: SettingsPath): unknown {
    const items = this.#items(node, path, 'a list of maps');
    const item = slot.children.get('[]') as Slot;
    return items?.map((entry, index) => {
      if (entry.kind === 'map') return this.check(entry, item, [...path, index]);
      this.#refuse('CONFIG_WRONG_TYPE', entry, [...path, index], 'a map', describe(entry), nestingFix(entry, item));
      return undefined;
    });
  }

  #items(node: TreeNode, path: SettingsPath, wanted: string): ListNode['items'] | undefined {
    if (node.kind === 'list') return node.items;
    const fix =
      node.kind === 'map'
        ? 'begin each entry with "- "'
        : 'write each entry on a line of its own that begins with "- "';
    return this.#refuse('CONFIG_WRONG_TYPE', node, path, wanted, describe(node), fix);
  }

  #value(node: TreeNode, shape: Exclude<SettingShape, { kind: 'list' | 'map' }>, path: SettingsPath): unknown {
    switch (shape.kind) {
      case 'boolean':
        return this.#boolean(node, path);
      case 'text':
        return this.#text(node, shape.rule, path);
      case 'choice':
        return this.#choice(node, shape.of, path);
      case 'number':
        return this.#number(node, path, `a number above ${shape.above}`, (value) => value > shape.above);
      case 'integer': {
        const isFine = (value: number) => Number.isInteger(value) && value >= shape.from && value <= shape.to;
        return this.#number(node, path, `a whole number from ${shape.from} to ${shape.to}`, isFine);
      }
      case 'texts': {
        const items = this.#items(node, path, 'a list of texts');
        return items
          ?.map((item, index) => this.#text(item, shape.rule, [...path, index]))
          .filter((t) => t !== undefined);
      }
      case 'pairs':
        return this.#pairs(node, path);
      default:
        return shape satisfies never;
    }
  }

  #boolean(node: TreeNode, path: SettingsPath): boolean | undefined {
    if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
    const isQuoted =
      node.kind === 'scalar' && node.style !== 'plain' && /^(true|false|yes|no|on|off)$/i.test(node.text);
    const fix = isQuoted ? 'write it without quotes' : '';
    return this.#refuse('CONFIG_WRONG_TYPE', node, path, 'true or false', describe(node), fix);
  }

  #text(node: TreeNode, rule: TextRule, path: SettingsPath): string | undefined {
    if (node.kind !== 'scalar' || node.value === null)
      return this.#refuse('CONFIG_WRONG_TYPE', node, path, 'a text', describe(node), textFix(node));
    const text = scalarText(node.value);
    const problem = checkText(text, rule);
    if (problem === undefined) {
      if (text !== node.text) this.#readOtherwise(node.span, path, { written: node.text, text });
      return text;
    }
    // The caller may have meant to put a password there.
    const found = quoted(rule === 'url' ? urlWithoutUser(text) : text);
    return this.#refuse('CONFIG_WRONG_VALUE', node, path, problem.wanted, found, problem.fix);
  }

  /** YAML 1.1 reads some plain texts as numbers or as true and false, and two names may become one. */
  #readOtherwise(span: Span, path: SettingsPath, { written, text }: { written: string; text: string }): void {
    const at = span.source.positionAt(span.start);
    const sentence = `${written} is read as ${quoted(text)}, as YAML 1.1 has it`;
    const fix = `if you mean these characters, write them in quotes: ${quoted(written)}`;
    this.warnings.push(warning({ code: 'CONFIG_READ_OTHERWISE', at, path: showPath(path), sentence, fix }));
  }

  #choice(node: TreeNode, of: readonly string[], path: SettingsPath): string | undefined {
    const wanted = `one of ${of.join(', ')}`;
    if (node.kind !== 'scalar') return this.#refuse('CONFIG_WRONG_TYPE', node, path, wanted, describe(node));
    if (typeof node.value === 'string' && of.includes(node.value)) return node.value;
    const near = nearestKey(node.text, of);
    return this.#refuse('CONFIG_WRONG_VALUE', node, path, wanted, describe(node), near ? `did you mean ${near}?` : '');
  }

  #number(node: TreeNode, path: SettingsPath, wanted: string, isFine: (value: number) => boolean): number | undefined {
    const value = node.kind === 'scalar' && typeof node.value === 'number' ? node.value : undefined;
    if (value !== undefined && Number.isFinite(value) && isFine(value)) return value;
    const isQuoted = node.kind === 'scalar' && node.style !== 'plain' && /^[0-9.]+$/.test(node.text);
    const code = value === undefined ? 'CONFIG_WRONG_TYPE' : 'CONFIG_WRONG_VALUE';
    return this.#refuse(code, node, path, wanted, describe(node), isQuoted ? 'write it without quotes' : '');
  }

  #pairs(node: TreeNode, path: SettingsPath): Record<string, string> | undefined {
    if (node.kind !== 'map') {
      const fix = node.kind === 'list' ? withoutDashes : 'write each pair below it as "key: text"';
      return this.#refuse('CONFIG_WRONG_TYPE', node, path, 'a map of texts', describe(node), fix);
    }
    const pairs = plainObject() as Record<string, string>;
    for (const [key, entry] of node.entries) {
      if (entry.node.kind === 'scalar' && entry.node.value === null) continue;
      if (key !== entry.written) this.#readOtherwise(entry.key, [...path, key], { written: entry.written, text: key });
      const value = this.#text(entry.node, 'any', [...path, key]);
      if (value !== undefined) pairs[key] = value;
    }
    return pairs;
  }
}

export function describe(node: TreeNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'map') return 'a map';
  return describeScalar(node);
}

function describeScalar(node: ScalarNode): string {
  const { value, text } = node;
  if (value === null) return 'nothing';
  if (typeof value === 'string') return node.style === 'plain' ? quoted(value) : `the text ${quoted(value)}`;
  return String(value) === text ? text : `${text}, which YAML reads as ${String(value)}`;
}

/** Names that vCluster used before patches were released. */
const formerNames: ReadonlyMap<string, string> = new Map([['translate', 'patches']]);

/** Keys that entries of other patch formats have. */
const strangeKeys: ReadonlyMap<string, string> = new Map([
  ['op', 'remove the key: an expression returns the new value, and null removes the field'],
  ['value', `write the value as an expression; a text needs its own quotes: expression: '"text"'`],
]);

/** `labels` of a patch is the only map without keys. */
const noContentFix =
  'write labels: {}, which rewrites the keys of a selector; to set a label, write path: metadata.labels["key"] and an expression';

/** The fix for an unknown key that is probably in the wrong place. */
function placeFix(key: string, slot: Slot): string {
  const strange = slot.children.has('expression') ? strangeKeys.get(key) : undefined;
  if (strange !== undefined) return strange;
  if (slot.children.size === 0) return noContentFix;
  if (key.startsWith('-')) return gluedDashFix;
  if (key === 'patches') return 'patches belong in sync.toHost.endpoints';
  const parents = [...slot.children].filter(([, below]) => below.children.has(key));
  return parents.length === 1 ? `indent it below ${parents[0]?.[0]}` : '';
}

/** Before the release, an entry had one map for both directions. */
function textFix(node: TreeNode): string {
  const isOfBoth = node.kind === 'map' && (node.entries.has('toHost') || node.entries.has('fromHost'));
  if (isOfBoth)
    return 'write the text of toHost as expression and that of fromHost as reverseExpression, without the map';
  // YAML reads the brackets and braces of a JavaScript expression as its own.
  return node.kind === 'scalar' ? '' : 'put the text in quotes';
}

/** YAML reads `enabled:true` as one word, not as a map. */
function nestingFix(node: TreeNode, slot: Slot): string {
  if (slot.children.size === 0) return 'write {}';
  const isKind = slot.children.has('kind') && node.kind === 'scalar' && /^[A-Z]\w+$/.test(node.text);
  if (isKind) return `write {apiVersion: v1, kind: ${node.text}}`;
  const behind = node.kind === 'scalar' ? /^\w+:([^ \t])/.exec(node.text)?.[1] : undefined;
  if (behind?.trim() === '') return strangeSpaceFix;
  if (behind !== undefined) return 'put a space after the colon';
  if (node.kind === 'scalar' && typeof node.value === 'boolean' && slot.children.has('enabled'))
    return `write {enabled: ${node.text}}`;
  const keys = [...slot.children.keys()];
  const known = keys.length > mostKeys ? `${keys.slice(0, mostKeys).join(', ')} and others` : keys.join(', ');
  return `${node.kind === 'list' ? `${withoutDashes}; ` : ''}the keys are ${known}`;
}

/** More would bury the sentence. */
const mostKeys = 8;
const withoutDashes = 'write the entries without "- "';
