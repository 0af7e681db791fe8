// Labels patches: the value at the path selects by labels, so its keys must be spelled as on the host, and a
// plain map must select this tenant's objects only. Pure.

import { parseLabelSelector, withLabelKeys } from '../../../object/select/label-selector.ts';
import { isRecord, shapeOf } from '../../../object/text/json.ts';
import { shownPlace } from '../../plan/excerpt.ts';
import type { KeyRules } from '../../plan/keys/key-rules.ts';
import { markerLabel, namespaceLabel } from '../../plan/keys/reserved-keys.ts';

export type LabelsResult = { kind: 'ok'; value: unknown } | { kind: 'wrong'; message: string };

export interface LabelsPatchOptions {
  rules: KeyRules;
  virtualCluster: string;
  virtualNamespace: string;
}

export function translateLabels(value: unknown, options: LabelsPatchOptions): LabelsResult {
  // Without a selector there is nothing to translate, so `onMissing: create` creates nothing.
  if (value === null || value === undefined) return { kind: 'ok', value: null };
  if (typeof value === 'string') return translateText(value, options);
  if (!isRecord(value))
    return {
      kind: 'wrong',
      message: `wanted a label map, a LabelSelector or a selector string, found ${shapeOf(value)}`,
    };
  if ('matchLabels' in value || 'matchExpressions' in value)
    return { kind: 'ok', value: translateSelector(value, options) };
  const map: Record<string, unknown> = {};
  for (const [key, text] of Object.entries(value)) map[hostKey(key, options)] = text;
  // Without these two a tenant's selector would reach the objects of its neighbours.
  return {
    kind: 'ok',
    value: { ...map, [markerLabel]: options.virtualCluster, [namespaceLabel]: options.virtualNamespace },
  };
}

function translateSelector(selector: Record<string, unknown>, options: LabelsPatchOptions): Record<string, unknown> {
  const { matchLabels, matchExpressions } = selector;
  return {
    ...selector,
    ...(isRecord(matchLabels) && {
      matchLabels: Object.fromEntries(Object.entries(matchLabels).map(([key, text]) => [hostKey(key, options), text])),
    }),
    ...(Array.isArray(matchExpressions) && {
      matchExpressions: matchExpressions.map((one) =>
        isRecord(one) && typeof one['key'] === 'string' ? { ...one, key: hostKey(one['key'], options) } : one,
      ),
    }),
  };
}

function translateText(text: string, options: LabelsPatchOptions): LabelsResult {
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) return { kind: 'wrong', message: `not a label selector: ${withoutQuotes(parsed.message)}` };
  return { kind: 'ok', value: withLabelKeys(text, (key) => hostKey(key, options)) };
}

function hostKey(key: string, { rules }: LabelsPatchOptions): string {
  return rules.toHost(key) ?? key;
}

/** The parser quotes the text that it fails on, and that text belongs to the tenant. */
function withoutQuotes(message: string): string {
  return shownPlace(message.replace(/"(?:[^"\\]|\\.)*"/g, '"…"').replace(/'[^']*'/g, "'…'"));
}
