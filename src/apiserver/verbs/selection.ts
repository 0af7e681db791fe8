// Parses the label and field selectors of a list, watch or deletecollection, and combines them with the caller's visibility.
// Refuses field selectors that the kind does not support.
import type { KubeObject } from '../../object/meta/object.ts';
import {
  exactValue,
  type FieldSelector,
  matchesFields,
  parseFieldSelector,
} from '../../object/select/field-selector.ts';
import { type LabelSelector, matchesLabels, parseLabelSelector } from '../../object/select/label-selector.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import type { Dialect } from '../request/dialect.ts';
import { badRequest } from '../request/status-fault.ts';
import type { Target } from '../request/target.ts';

export interface Selection {
  /** Every object matches, so that stored texts need no parsing. */
  takesAll: boolean;
  /** The only name that can match, if the field selector requires one. */
  onlyName: string | undefined;
  /** An index and the values that every matching object has in it. */
  index: { field: string; values: readonly string[] } | undefined;
  /** Receives the object without its hidden fields, so that selectors cannot probe them. */
  matches(object: KubeObject): boolean;
}

const everything: Selection = { takesAll: true, onlyName: undefined, index: undefined, matches: () => true };

type Selecting = Pick<Call, 'target' | 'kind' | 'visibility'> & { kit?: { dialect: Dialect } };

export function selectionOf({ target, kind, visibility, kit }: Selecting): Selection {
  const fromQuery = querySelection(target, kind, kit?.dialect ?? 'kubernetes');
  const sees = visibility?.sees;
  if (sees === undefined) return fromQuery;
  return {
    takesAll: false,
    onlyName: fromQuery.onlyName,
    // Either index is correct; the caller's own usually holds fewer objects.
    index: visibility?.index ?? fromQuery.index,
    matches: (object) => sees(object) && fromQuery.matches(object),
  };
}

function querySelection(target: Target, kind: Kind, dialect: Dialect): Selection {
  const labelText = target.query.get('labelSelector') ?? '';
  const fieldText = target.query.get('fieldSelector') ?? '';
  if (labelText === '' && fieldText === '') return everything;
  const labels = labelsOf(labelText);
  const fields = fieldsOf(fieldText, kind, dialect);
  return {
    takesAll: false,
    onlyName: exactValue(fields, 'metadata.name'),
    index: indexOf(fields, kind),
    matches: (object) =>
      matchesLabels(labels, object.metadata.labels) &&
      matchesFields(fields, (field) => selectableField(kind, object, field) ?? ''),
  };
}

function indexOf(fields: FieldSelector, kind: Kind): Selection['index'] {
  for (const field of Object.keys(kind.indexes ?? {})) {
    const value = exactValue(fields, field);
    if (value !== undefined) return { field, values: [value] };
  }
  return undefined;
}

function labelsOf(text: string): LabelSelector {
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) throw badRequest(parsed.message);
  return parsed.selector;
}

function fieldsOf(text: string, kind: Kind, dialect: Dialect): FieldSelector {
  const parsed = parseFieldSelector(text);
  if (!parsed.ok) throw badRequest(parsed.message);
  for (const { field } of parsed.selector.requirements) {
    if (field === 'metadata.name' || (field === 'metadata.namespace' && kind.namespaced)) continue;
    if (!Object.hasOwn(kind.selectableFields ?? {}, field)) {
      throw badRequest(unknownField(kind, field, dialect));
    }
  }
  return parsed.selector;
}

function unknownField(kind: Kind, field: string, dialect: Dialect): string {
  if (kind.selectableFields !== undefined) {
    const refusal = `field label not supported: ${field}`;
    if (dialect === 'kubernetes') return refusal;
    const known = [
      'metadata.name',
      ...(kind.namespaced ? ['metadata.namespace'] : []),
      ...Object.keys(kind.selectableFields),
    ];
    return `${refusal}; want one of ${known.join(', ')}`;
  }
  return `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

function selectableField(kind: Kind, object: KubeObject, field: string): string | undefined {
  if (field === 'metadata.name') return object.metadata.name;
  if (field === 'metadata.namespace') return object.metadata.namespace;
  return kind.selectableFields?.[field]?.(object);
}
