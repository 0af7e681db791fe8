// Metrics and status of references. Metrics are at zero from the start and hold counts only: names of Secrets must not appear there.

import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../../metrics.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { contentKinds } from '../../kinds/content/content-kind.ts';
import type { ContentOutcome } from '../../kinds/content/content-step.ts';
import { importableLabel } from '../../plan/keys/reserved-keys.ts';
import { isPossible, whyNothing } from '../../references/impossible-name.ts';
import type { CountedReference, Referrer } from '../../references/registry.ts';
import { type LedgerPage, labelOf } from '../../world/ledger.ts';
import { dryRunDifferences } from '../pass/metrics.ts';

type ContentLedger = Pick<LedgerPage<ContentOutcome>, 'entries'>;

/** Entries that status lists of content in trouble; its counts are complete. */
const listLimit = 100;

export interface ReferenceMetrics {
  request(kind: string, request: string): void;
  /** `none` on a standby, whose leader counts them. */
  objects(kind: string, known: { ledger: ContentLedger; unresolved: Iterable<unknown> } | 'none'): void;
  differences(kind: string, count: number): void;
}

const noObjects = { ledger: { entries: () => new Map<Key, never>().entries() }, unresolved: [] };
const requests = ['host create', 'host patch', 'host remove', 'virtual create', 'virtual patch', 'virtual remove'];
const contentStates = ['exported', 'imported', 'refused', 'waiting', 'retry'];

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
    help: 'Objects behind references by state, and as unresolved the references with nothing behind them',
    labelNames: ['kind', 'state'],
    registers,
  });
  for (const { kind } of contentKinds) {
    dryRunDifferences(registry, kind).set(0);
    for (const request of requests) asked.inc({ kind, request }, 0);
    for (const state of [...contentStates, 'unresolved']) objects.set({ kind, state }, 0);
  }
  return {
    request: (kind, request) => asked.inc({ kind, request }),
    differences: (kind, count) => dryRunDifferences(registry, kind).set(count),
    objects: (kind, known) => {
      const { ledger, unresolved } = known === 'none' ? noObjects : known;
      for (const [state, count] of [...countsOf(ledger), ['unresolved', [...unresolved].length] as const])
        objects.set({ kind, state }, count);
    },
  };
}

/** `unresolved` are the references to objects that neither cluster has. */
export function contentStatus(
  ledger: ContentLedger,
  unresolved: Iterable<{ reference: CountedReference; referrer: Referrer }>,
): object {
  const trouble: { object: Key; state: string; message: string }[] = [];
  const byState = new Map<string, number>();
  const note = (object: Key, state: string, message: string): void => {
    byState.set(state, (byState.get(state) ?? 0) + 1);
    if (trouble.length < listLimit) trouble.push({ object, state, message });
  };
  for (const [object, { outcome }] of ledger.entries())
    if ('message' in outcome) note(object, labelOf(outcome), outcome.message);
  let count = 0;
  for (const { reference, referrer } of unresolved) {
    count++;
    const object = keyOf(reference.namespace, reference.name);
    const why = isPossible(reference)
      ? `${whyNothing(reference)}; create it, or give a host object of this name the label ${importableLabel}=true`
      : whyNothing(reference);
    note(object, 'unresolved', `${referrer.key} refers to it and ${why}`);
  }
  return {
    ...Object.fromEntries(countsOf(ledger)),
    unresolved: count,
    ...(byState.size > 0 && { troubleByState: Object.fromEntries(byState) }),
    trouble,
  };
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
