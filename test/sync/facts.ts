// The facts about one virtual object and its host copy, for tests of the pure files: in sync until a case changes one value.

import type { KubeObject } from '../../src/object/meta/object.ts';
import { endpointsKind } from '../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { projectHostEndpoints, projectVirtualEndpoints } from '../../src/sync/kinds/endpoints/items.ts';
import { createRules } from '../../src/sync/loop/pass/rules.ts';
import { type Draft, draftHost, renderCreate } from '../../src/sync/plan/draft.ts';
import type { HostItem, VirtualItem } from '../../src/sync/plan/kind.ts';
import { ownerReference } from '../../src/sync/plan/owner.ts';
import type { HostPlace } from '../../src/sync/plan/placement.ts';
import type { Facts, Outcome, PlanStep } from '../../src/sync/plan/step.ts';
import { defaultSettings, endpoints } from './fake-sync.ts';

export const key = 'default/web';
export const rules = createRules(endpointsKind, defaultSettings);
export const { translation } = rules;
export const place: HostPlace = { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' };
const owner = { kind: 'present', name: 'vc', uid: 'owner-1' } as const;

export type Change = (object: KubeObject) => void;

export function virtualWith(change: Change = () => {}): VirtualItem {
  const metadata = { uid: 'v-1', resourceVersion: '10', labels: { team: 'a' }, annotations: { note: 'n' } };
  const object = endpoints('web', '10.0.0.1', metadata);
  change(object);
  return projectVirtualEndpoints(object);
}

export function draftOf(virtual: VirtualItem): Draft {
  return draftHost(virtual, place, translation);
}

/** The host copy after a create, with its base. */
export function copyWith(change: Change = () => {}, virtual = virtualWith()): HostItem {
  const object = renderCreate(virtual, draftOf(virtual), { translation, owner: ownerReference(owner, false) });
  Object.assign(object.metadata, { uid: 'h-1', resourceVersion: '20' });
  change(object);
  return projectHostEndpoints(structuredClone(object));
}

export const asLabel =
  (label: string, value: string | undefined): Change =>
  ({ metadata }) => {
    const labels: Record<string, string> = { ...metadata.labels };
    if (value === undefined) delete labels[label];
    else labels[label] = value;
    metadata.labels = labels;
  };

export const asAnnotation =
  (annotation: string, value: string | undefined): Change =>
  ({ metadata }) => {
    const annotations: Record<string, string> = { ...metadata.annotations };
    if (value === undefined) delete annotations[annotation];
    else annotations[annotation] = value;
    metadata.annotations = annotations;
  };

export const asAddress =
  (...ips: string[]): Change =>
  (object) => {
    const [subset] = endpoints('web')['subsets'] as object[];
    object['subsets'] = [{ ...subset, addresses: ips.map((ip) => ({ ip })) }];
  };

export function factsWith(over: Partial<Facts> = {}): Facts {
  const virtual = 'virtual' in over ? over.virtual : virtualWith();
  return {
    key,
    virtual,
    service: { namespace: 'default', name: 'web', uid: 's-1', resourceVersion: '1' },
    serviceKey: key,
    servicePlace: place,
    place,
    verdict: { kind: 'eligible' },
    host: copyWith(),
    strays: [],
    winner: undefined,
    owner,
    refusals: [],
    draft: virtual && draftOf(virtual),
    patchFailure: undefined,
    reversed: undefined,
    isDeleteWithheld: false,
    ignoreOrder: false,
    mayRemoveLabelsBack: true,
    backFlowWaitMs: 0,
    ...over,
  };
}

/** Describes a step in a few words, for tables. */
export function stepText(step: PlanStep): string {
  return step.kind === 'done' ? outcomeText(step.outcome) : `${step.request.side} ${step.request.verb}`;
}

export function outcomeText(outcome: Outcome): string {
  return 'reason' in outcome ? `${outcome.kind} ${outcome.reason}` : outcome.kind;
}
