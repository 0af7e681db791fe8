// Metrics and status of references. Metrics are at zero from the start and hold counts only: names of Secrets must not appear there.

import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../../metrics.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { contentKinds } from '../../kinds/content/content-kind.ts';
import type { ContentOutcome } from '../../kinds/content/content-step.ts';
import { isPossible, type NothingBehind } from '../../references/nothing-behind.ts';
import { type LedgerPage, labelOf } from '../../world/ledger.ts';
import { dryRunDifferences } from '../pass/metrics.ts';
import type { UnmetReference } from './reference-troubles.ts';

type ContentLedger = Pick<LedgerPage<ContentOutcome>, 'entries'>;

/** Entries that status lists of content in trouble; its counts are complete. */
const listLimit = 100;

export interface ReferenceMetrics {
  request(kind: string, request: string): void;
  /** `none` on a standby, whose leader counts them. */
  objects(kind: string, known: { ledger: ContentLedger; nothings: readonly NothingBehind[] } | 'none'): void;
  differences(kind: string, count: number): void;
}

const noObjects = { ledger: { entries: () => new Map<Key, never>().entries() }, nothings: [] };
const requests = ['host create', 'host patch', 'host remove', 'virtual create', 'virtual patch', 'virtual remove'];
const contentStates = ['exported', 'imported', 'refused', 'waiting', 'retry'];
const nothingStates = ['unresolved', 'unread'] as const;

export function createReferenceMetrics(registry: Metrics): ReferenceMetrics {
  const registers = [registry];
  const asked = new Counter({
    name: 'hostward_reference_requests_total',
    help: 'Writes of content behind references',
    labelNames: ['kind', 'request'],
    registers,
  });
  const objects = new Gauge({
    name: 'hostward_reference_objects',
    help: 'Objects behind references by state, as unresolved the references with nothing behind them, and as unread those of which nobody knows',
    labelNames: ['kind', 'state'],
    registers,
  });
  for (const { kind } of contentKinds) {
    dryRunDifferences(registry, kind).set(0);
    for (const request of requests) asked.inc({ kind, request }, 0);
    for (const state of [...contentStates, ...nothingStates]) objects.set({ kind, state }, 0);
  }
  return {
    request: (kind, request) => asked.inc({ kind, request }),
    differences: (kind, count) => dryRunDifferences(registry, kind).set(count),
    objects: (kind, known) => {
      const { ledger, nothings } = known === 'none' ? noObjects : known;
      for (const [state, count] of [...countsOf(ledger), ...nothingCounts(nothings)])
        objects.set({ kind, state }, count);
    },
  };
}

export function contentStatus(ledger: ContentLedger, nothings: readonly UnmetReference[]): object {
  const trouble: { object: Key; state: string; message: string }[] = [];
  const byState = new Map<string, number>();
  const note = (object: Key, state: string, message: string): void => {
    byState.set(state, (byState.get(state) ?? 0) + 1);
    if (trouble.length < listLimit) trouble.push({ object, state, message });
  };
  for (const [object, { outcome }] of ledger.entries())
    if ('message' in outcome) note(object, labelOf(outcome), outcome.message);
  for (const { reference, referrer, standing, why } of nothings) {
    const object = keyOf(reference.namespace, reference.name);
    const isAbsent = standing === 'unresolved' && isPossible(reference);
    const fix = isAbsent ? '; create it, or give that label to an object of the host' : '';
    note(object, standing, `${referrer.key} refers to it and ${why}${fix}`);
  }
  const { unresolved, unread } = Object.fromEntries(nothingCounts(nothings));
  return {
    ...Object.fromEntries(countsOf(ledger)),
    unresolved,
    ...(unread !== 0 && { unread }),
    ...(byState.size > 0 && { troubleByState: Object.fromEntries(byState) }),
    trouble,
  };
}

function nothingCounts(nothings: readonly NothingBehind[]): [string, number][] {
  return nothingStates.map((state) => [state, nothings.filter(({ standing }) => standing === state).length]);
}

function countsOf(ledger: ContentLedger): Map<string, number> {
  const counts = new Map(contentStates.map((state) => [state, 0]));
  for (const [, { outcome }] of ledger.entries()) {
    const state = stateOf(outcome);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

function stateOf(outcome: ContentOutcome): string {
  return outcome.kind === 'settled' ? outcome.as : outcome.kind;
}
