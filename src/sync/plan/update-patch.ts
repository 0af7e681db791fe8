// Plans the merge patches that make an existing host object and its virtual object agree: at most one for each side. Pure.
// Whether the host object may be written at all is decided before, in decide.ts.

import { areWithin, maxAnnotationBytes } from '../../object/meta/meta-validation.ts';
import type { OwnerReference } from '../../object/meta/object.ts';
import { baseOf, type Draft, fixedAnnotations, fixedLabels, managedAnnotations, type Translation } from './draft.ts';
import {
  type Agreement,
  type Base,
  type BaseEntry,
  formatBase,
  hashOf,
  isSameBase,
  parseBase,
  readBase,
} from './keys/base.ts';
import { mapOfKeys } from './keys/key-rules.ts';
import { excludedLeftovers, type KeyMerge, type KeyVerdict, mergeKeys } from './keys/merge-keys.ts';
import { baseKey, copiedAnnotations, isNeverBack, managedAnnotationsKey, objectKeys } from './keys/reserved-keys.ts';
import { type HostItem, isTakenByController, isWrittenByController, type OwnKey, type VirtualItem } from './kind.ts';
import { repairOwners } from './owner.ts';
import type { BackflowFailures, BackValues } from './step.ts';

export interface Update {
  /** Body of the merge patch for the virtual object; undefined when nothing flows back. */
  virtual: BackValues | undefined;
  /** Body of the merge patch for the host object without uid and resourceVersion; undefined when nothing changes. */
  host: HostChange | undefined;
  /** Keys that both sides changed to different values. */
  conflicts: number;
  /** The fields and keys in the host patch, for the log and for status. */
  touches: string[];
}

export interface HostChange {
  labels: Map<string, string | null>;
  annotations: Map<string, string | null>;
  ownerReferences: OwnerReference[] | undefined;
  payload: Record<string, unknown> | undefined;
}

export interface UpdateInput {
  virtual: VirtualItem;
  host: HostItem;
  draft: Draft;
  translation: Translation;
  owner: OwnerReference | undefined;
  /** A native object is taken over: written as on create, but its other labels and annotations stay. */
  isTakeOver: boolean;
  /** The host is known to reorder or regroup the payloads it stores. */
  ignoreOrder: boolean;
  reversed?: BackValues | undefined;
  backflowFailures?: BackflowFailures | undefined;
  agreed?: Agreement | undefined;
  /** Only the host is written in this pass; see KeyMergeInput. */
  holdsBack?: boolean;
  observe?: (map: 'labels' | 'annotations', virtualKey: string, verdict: KeyVerdict) => void;
}

export function planUpdate(input: UpdateInput): Update {
  const { host, virtual, draft, translation } = input;
  const merged = mergeBoth(input);
  const labels = new Map(merged.labels.host);
  const annotations = new Map(merged.annotations.host);
  setAll(labels, host.labels, fixedLabels(virtual, translation));
  setAll(annotations, host.annotations, fixedAnnotations(virtual, draft.place, translation));
  if (input.isTakeOver || isNewVirtualObject(host, virtual)) {
    const managed = managedAnnotations(draft, virtual);
    setOne(annotations, host.annotations, managedAnnotationsKey, managed);
  }
  if (input.isTakeOver && isTakenByController(host, translation.kind)) {
    const { key } = translation.kind.controllerLabel;
    // The label would be wrong from now on, and isWrittenByController() would block back-flow for good.
    if (!draft.labels.has(key)) labels.set(key, null);
  }
  const change: HostChange = {
    payload: translation.kind.payloadChange(draft.payload, translation.kind.payloadOf(host), {
      ignoreOrder: input.ignoreOrder,
    }),
    ownerReferences: repairOwners(host.ownerReferences, input.owner),
    labels,
    annotations,
  };
  const flowsBack = merged.labels.back.size + merged.annotations.back.size > 0;
  const base = { labels: merged.labels.base, annotations: merged.annotations.base, ...digest(translation) };
  if (merged.held === undefined || !isSameBase(merged.held, base)) setBase(change, host, base);
  return {
    virtual: flowsBack ? { labels: merged.labels.back, annotations: merged.annotations.back } : undefined,
    host: isEmptyChange(change) ? undefined : change,
    conflicts: merged.labels.conflicts + merged.annotations.conflicts,
    touches: touchesOf(change),
  };
}

/** The state both sides agree on once the back-flow is written, whether or not the following host write succeeds. */
export function agreementOf(
  back: BackValues,
  host: HostItem,
  { draft, translation }: Pick<UpdateInput, 'draft' | 'translation'>,
): Agreement {
  const entries = (values: BackValues['labels'], map: 'labels' | 'annotations'): Map<string, BaseEntry> => {
    const hostValues = mapOfKeys(host[map]);
    return new Map(
      [...values].map(([key, value]) => {
        const hostKey = translation[map].toHost(key) ?? '';
        const hostValue = hostValues.get(hostKey);
        return [
          key,
          {
            virtual: hashOf(value ?? undefined),
            host: hashOf(hostValue),
            patches: draft.patchesOf?.(map, hostKey) ?? '',
            isMade: false,
            isFromHost: hostValue !== undefined,
          },
        ];
      }),
    );
  };
  return {
    over: host.annotations?.[baseKey],
    labels: entries(back.labels, 'labels'),
    annotations: entries(back.annotations, 'annotations'),
  };
}

/** The virtual object was deleted and recreated under its name: the base of the old object no longer counts. */
export function isNewVirtualObject(host: HostItem, virtual: VirtualItem): boolean {
  const uid = host.annotations?.[objectKeys.uid];
  return uid !== undefined && uid !== '' && uid !== virtual.uid;
}

interface Merged {
  labels: KeyMerge;
  annotations: KeyMerge;
  /** The base annotation of the host; undefined when agreements made since then are missing in it. */
  held?: Base | undefined;
}

function mergeBoth(input: UpdateInput): Merged {
  const { host, virtual, draft, translation } = input;
  if (isNewVirtualObject(host, virtual)) {
    const base = baseOf(virtual, draft, translation);
    return {
      labels: renderOver('labels', input, base),
      annotations: renderOver('annotations', input, base),
    };
  }
  const base = input.isTakeOver ? undefined : readBase(host.annotations?.[baseKey], input.agreed);
  const copied = copiedAnnotations(host);
  const shared = {
    mayFlowBack: !isWrittenByController(host, draft.labels, translation.kind),
    isPatchSetNew: base !== undefined && base.patchDigest !== translation.patchDigest,
    holdsBack: input.holdsBack ?? false,
  };
  const { observe, reversed, backflowFailures } = input;
  const { patchesOf, ownerOf } = draft;
  const merge = (map: 'labels' | 'annotations', wasCopied: (hostKey: string) => boolean): KeyMerge =>
    mergeKeys({
      ...shared,
      virtual: mapOfKeys(virtual[map]),
      desired: draft[map],
      host: mapOfKeys(host[map]),
      base: base?.[map],
      rules: translation[map],
      wasCopied,
      reversed: reversed?.[map],
      held: backflowFailures?.[map],
      ...(patchesOf && { patchesOf: (hostKey: string) => patchesOf(map, hostKey) }),
      ...(ownerOf && { ownerOf: (hostKey: string) => ownerOf(map, hostKey) }),
      ...(observe && { observe: (key: string, verdict: KeyVerdict) => observe(map, key, verdict) }),
    });
  return {
    held: input.agreed === undefined ? base : undefined,
    labels: merge('labels', () => false),
    annotations: merge('annotations', (key) => copied.has(key)),
  };
}

/**
 * Makes the host hold the draft, as on create. Other keys stay only if they belong to the host itself: keys that never flow back, but for those
 * that the object before had given to the host.
 */
function renderOver(map: 'labels' | 'annotations', input: UpdateInput, base: Base): KeyMerge {
  const { kind, [map]: rules } = input.translation;
  const before = parseBase(input.host.annotations?.[baseKey])?.[map];
  const copied = map === 'annotations' ? copiedAnnotations(input.host) : undefined;
  const wasTenants = (key: string): boolean => {
    const entry = before?.get(key);
    return before === undefined
      ? copied?.has(key) === true
      : entry !== undefined && (entry.virtual !== '' || entry.isMade);
  };
  const desired = input.draft[map];
  const host = mapOfKeys(input.host[map]);
  const changes = new Map<string, string | null>();
  for (const [key, value] of desired) if (host.get(key) !== value) changes.set(key, value);
  for (const key of host.keys()) {
    const virtualKey = rules.toVirtual(key);
    if (virtualKey === undefined || desired.has(key)) continue;
    const isHosts = virtualKey === key && isNeverBack(key, kind) && !wasTenants(key);
    if (!isHosts) changes.set(key, null);
  }
  const virtual = mapOfKeys(input.virtual[map]);
  for (const key of excludedLeftovers({ virtual, desired, host, base: before, rules, wasCopied: () => false })) {
    changes.set(key, null);
  }
  return { host: changes, back: new Map(), base: new Map(base[map]), conflicts: 0, reverted: [] };
}

function digest(translation: Translation): { patchDigest: string } {
  return { patchDigest: translation.patchDigest };
}

/** Adds the base to a write that is needed anyway. The base causes a write of its own only when the old one is wrong. */
function setBase(change: HostChange, host: HostItem, base: Base): void {
  const before = host.annotations?.[baseKey];
  const text = formatBase(base);
  if (before === text || (before === undefined && isEmptyChange(change))) return;
  const former = isEmptyChange(change) ? parseBase(before) : undefined;
  if (former !== undefined && isSameBase(former, base)) return;
  const after = mapOfKeys(host.annotations);
  for (const [key, value] of change.annotations) {
    if (value === null) after.delete(key);
    else after.set(key, value);
  }
  after.set(baseKey, text);
  if (areWithin(after, maxAnnotationBytes)) change.annotations.set(baseKey, text);
  else if (before !== undefined) change.annotations.set(baseKey, null);
}

function setAll(changes: Map<string, string | null>, host: HostItem['labels'], wanted: readonly OwnKey[]): void {
  for (const [key, value] of wanted) setOne(changes, host, key, value);
}

function setOne(
  changes: Map<string, string | null>,
  host: HostItem['labels'],
  key: string,
  value: string | undefined,
): void {
  if (host?.[key] === value) changes.delete(key);
  else changes.set(key, value ?? null);
}

function isEmptyChange(change: HostChange): boolean {
  return (
    change.labels.size === 0 &&
    change.annotations.size === 0 &&
    change.ownerReferences === undefined &&
    change.payload === undefined
  );
}

function touchesOf(change: HostChange): string[] {
  return [
    ...Object.keys(change.payload ?? {}),
    ...[...change.labels.keys()].map((key) => `label ${key}`),
    ...[...change.annotations.keys()].map((key) => `annotation ${key}`),
    ...(change.ownerReferences ? ['ownerReferences'] : []),
  ];
}
