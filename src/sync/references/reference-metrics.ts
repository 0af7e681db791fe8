// Metrics of references, at zero from the start. Only counts: names of Secrets must not appear in metrics.
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../metrics.ts';
import { contentKinds } from './content-kind.ts';
import type { ContentOutcome } from './content-step.ts';

export interface ReferenceMetrics {
  request(kind: string, request: string): void;
  objects(kind: string, state: string, count: number): void;
}

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
    help: 'Objects behind references by state',
    labelNames: ['kind', 'state'],
    registers,
  });
  for (const { kind } of contentKinds) {
    for (const request of requests) asked.inc({ kind, request }, 0);
    for (const state of contentStates) objects.set({ kind, state }, 0);
  }
  return {
    request: (kind, request) => asked.inc({ kind, request }),
    objects: (kind, state, count) => objects.set({ kind, state }, count),
  };
}

export function countsOf(outcomes: Iterable<ContentOutcome>): Map<string, number> {
  const counts = new Map(contentStates.map((state) => [state, 0]));
  for (const outcome of outcomes) {
    const state = stateOf(outcome);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

export function stateOf(outcome: ContentOutcome): string {
  return outcome.kind === 'settled' ? outcome.as : outcome.kind;
}
