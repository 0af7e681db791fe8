// The way back of one label or annotation (DESIGN 4.1 and 4.5): who owns the key, and what a host value becomes.

import type { History, MapName } from '../words/history.ts';
import { mapOf } from '../words/history.ts';
import { canonical, labelsOf } from '../words/json.ts';
import { generatedName } from '../words/names.ts';
import type { PatchEntry, Settings, SyncedKind } from '../words/settings.ts';
import type { Json, PlainKind } from '../words/types.ts';
import { type Answer, ask, isGone } from './expression.ts';
import { segmentsOf } from './patch-path.ts';
import { contextOf, type Surroundings } from './patches.ts';
import { isImport } from './reference.ts';
import { isLabelValue } from './valid.ts';

/** How an entry reaches a key: by its own name, by a wildcard, or as part of a whole map or object. */
export type Reach = 'literal' | 'wildcard' | 'map' | 'object';

export function reachOf(entry: PatchEntry, map: MapName, hostKey: string): Reach | undefined {
  const [top, second, third, ...more] = segmentsOf(entry.path);
  if (top === undefined) return 'object';
  if (!top.isWild && top.key !== 'metadata') return undefined;
  if (second === undefined) return 'object';
  if (!second.isWild && second.key !== map) return undefined;
  if (third === undefined) return 'map';
  if (more.length > 0) return undefined;
  if (third.isWild) return 'wildcard';
  return third.key === hostKey ? 'literal' : undefined;
}

/** `both` is also the way of a key that no patch touches. */
export type Way = 'both' | 'forward' | 'back';

export interface Ways {
  readonly way: Way;
  readonly isPatched: boolean;
  /** True: an entry that only goes forward names the key itself. */
  readonly isNamed: boolean;
  readonly reverses: readonly { readonly entry: PatchEntry; readonly reach: Reach }[];
}

/** The patches of a key, in words that are the same as long as they are. */
export const patchesOn = (settings: Settings, kind: SyncedKind, map: MapName, hostKey: string): string =>
  canonical(settings.patches[kind].filter((entry) => reachOf(entry, map, hostKey) !== undefined));

export function waysOf(settings: Settings, kind: SyncedKind, map: MapName, hostKey: string): Ways {
  const touching = settings.patches[kind].flatMap((entry) => {
    const reach = reachOf(entry, map, hostKey);
    return reach === undefined ? [] : [{ entry, reach }];
  });
  const forward = touching.filter(({ entry }) => entry.expression !== undefined || isObject(entry.labels));
  const reverses = touching.filter(
    ({ entry }) => entry.reverseExpression !== undefined || entry.reference !== undefined,
  );
  const hasReference = touching.some(({ entry }) => entry.reference !== undefined);
  const isNamed = forward.some(({ reach }) => reach === 'literal');
  const isPatched = touching.length > 0;
  if (forward.length > 0 && reverses.length === 0) return { way: 'forward', isPatched, isNamed, reverses };
  if (forward.length === 0 && reverses.length > 0 && !hasReference)
    return { way: 'back', isPatched, isNamed: false, reverses };
  return { way: 'both', isPatched, isNamed: false, reverses };
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/**
 * The virtual name behind a name that a reference wrote. Any other name is a failure, except that of an import, which is the same on
 * both sides: as the tenant's, the name would go to the host as another one, behind which nothing is.
 */
function nameBack(value: string, entry: PatchEntry, around: Surroundings, history: History): Answer {
  const kind = (entry.reference?.kind ?? 'Secret') as PlainKind;
  const { naming } = around.settings;
  const namespace = around.virtual.metadata.namespace;
  if (naming.isMapped && naming.place(namespace, value)?.name === value) return { ok: true, value };
  const names = history
    .keysOf('virtual')
    .filter((key) => key.startsWith(`${kind} ${namespace}/`))
    .map((key) => key.slice(kind.length + namespace.length + 2));
  const found = names.find(
    (name) =>
      generatedName(name, namespace, naming.virtualCluster) === value || naming.place(namespace, name)?.name === value,
  );
  if (found !== undefined) return { ok: true, value: found };
  const imported = isImport({ kind, namespace, name: value }, naming, history);
  return imported === 'no' ? { ok: false } : { ok: true, value, ...(imported === 'perhaps' && { isUnsure: true }) };
}

/** What a value that people wrote on the host becomes on the virtual side; not ok: it cannot go back. */
export function reversed(
  hostValue: string,
  map: MapName,
  hostKey: string,
  virtualKey: string,
  around: Surroundings,
  history: History,
): Answer {
  const kind = around.virtual.kind as SyncedKind;
  let value: Json = hostValue;
  let isUnsure = false;
  for (const { entry, reach } of waysOf(around.settings, kind, map, hostKey).reverses) {
    if (entry.reference !== undefined) {
      const answer = nameBack(String(value), entry, around, history);
      if (!answer.ok) return answer;
      value = answer.value ?? null;
      isUnsure ||= answer.isUnsure === true;
      continue;
    }
    const answer = reverseOnce(entry, reach, value, map, hostKey, virtualKey, around);
    if (!answer.ok) return answer;
    value = answer.value ?? null;
    if (isGone(value)) return { ok: true, value: undefined };
  }
  if (typeof value !== 'string') return { ok: false };
  if (map === 'labels' && !isLabelValue(value)) return { ok: false };
  return { ok: true, value, ...(isUnsure && { isUnsure }) };
}

function reverseOnce(
  entry: PatchEntry,
  reach: Reach,
  value: Json,
  map: MapName,
  hostKey: string,
  virtualKey: string,
  around: Surroundings,
): Answer {
  const expression = entry.reverseExpression ?? '';
  const { naming } = around.settings;
  const path = `metadata.${map}${reach === 'map' ? '' : `.${/[.[\]]/u.test(hostKey) ? `"${hostKey}"` : hostKey}`}`;
  const context = contextOf(around, reach === 'object' ? '' : path);
  if (reach === 'literal' || reach === 'wildcard')
    return ask(expression, { value, valueExists: true, context, naming });
  const candidate = { ...mapOf(around.virtual, map), [virtualKey]: value };
  const whole: Json =
    reach === 'map'
      ? candidate
      : {
          metadata: {
            labels: labelsOf(around.virtual),
            annotations: mapOf(around.virtual, 'annotations'),
            [map]: candidate,
          },
        };
  const answer = ask(expression, { value: whole, valueExists: true, context, naming });
  if (!answer.ok) return answer;
  const made =
    reach === 'map' ? answer.value : (answer.value as { metadata?: { [key: string]: Json } })?.metadata?.[map];
  if (isGone(made)) return { ok: true, value: undefined };
  if (typeof made !== 'object' || made === null || Array.isArray(made)) return { ok: false };
  return { ok: true, value: (made as { [key: string]: Json })[virtualKey] };
}
