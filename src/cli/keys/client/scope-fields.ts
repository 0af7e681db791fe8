// Reads the file of a scope as a configuration is read: says where it is no YAML, and finds the fields that no scope has, which the server
// would refuse without a line. In: the text of the file. Out: sentences with position and what was meant.
import type { Schema } from '../../../apiserver/kinds/schema.ts';
import { formatFault } from '../../../config/fault.ts';
import { runAtOnce } from '../../../config/steps.ts';
import { parseYaml } from '../../../config/yaml/parse-yaml.ts';
import { decode } from '../../../config/yaml/source-text.ts';
import type { TreeNode } from '../../../config/yaml/tree.ts';
import { scopeSchema } from '../../../management/keys/schema/scope-schema.ts';
import { nearestKey } from '../../../object/meta/nearest-key.ts';

export function unknownFields(file: string, text: string): string[] {
  const decoded = decode({ name: file, text });
  if (decoded.kind === 'fault') return [];
  const { root } = runAtOnce(parseYaml(decoded.source));
  return root === undefined ? [] : [...unknownIn(root, scopeSchema, 'scope')];
}

/** In the words of `hostward check`, which say what to write instead; undefined = it is YAML there. */
export function syntaxFault(file: string, text: string): string | undefined {
  const decoded = decode({ name: file, text });
  if (decoded.kind === 'fault') return formatFault(decoded.fault);
  const parsed = runAtOnce(parseYaml(decoded.source));
  const [first] = parsed.kind === 'faults' ? parsed.faults : [];
  return first && formatFault(first);
}

function* unknownIn(node: TreeNode, { properties, items }: Schema, path: string): Generator<string> {
  if (node.kind === 'list' && items !== undefined)
    for (const [at, item] of node.items.entries()) yield* unknownIn(item, items, `${path}[${at}]`);
  if (node.kind !== 'map' || properties === undefined) return;
  for (const [key, { key: span, node: below }] of node.entries) {
    const known = properties[key];
    if (known !== undefined) {
      yield* unknownIn(below, known, `${path}.${key}`);
      continue;
    }
    const { file, line, column } = span.source.positionAt(span.start);
    const near = nearestKey(key, Object.keys(properties));
    const fix = near === undefined ? `the fields are ${Object.keys(properties).join(', ')}` : `did you mean ${near}?`;
    yield `${file}:${line}:${column}: ${path} has no field "${key}"; ${fix}`;
  }
}
