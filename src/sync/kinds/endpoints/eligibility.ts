// Whether a virtual Endpoints has a place on the host, judged by the virtual side alone. Pure; the address policy and the
// clash of names are judged elsewhere, because they need more than these two objects.
import type { ServiceItem } from '../../plan/kind.ts';
import { isControlledByOther } from '../../plan/ownership.ts';
import type { VirtualEndpoints } from './items.ts';

export type Eligibility = { kind: 'eligible' } | { kind: 'ineligible'; reason: IneligibleReason };

export type IneligibleReason =
  | 'ReservedKey'
  | 'NoEndpoints'
  | 'NoService'
  | 'ServiceHasSelector'
  | 'ControlledByOther'
  | 'NotMapped';

export const ineligibleSentences: Record<IneligibleReason, string> = {
  ReservedKey: 'default/kubernetes belongs to the virtual cluster itself and is never synced',
  NoEndpoints: 'there is no virtual Endpoints of this name',
  NoService: 'there is no virtual Service of the same name',
  ServiceHasSelector: 'the virtual Service has a selector, so the host cluster fills in its endpoints itself',
  ControlledByOther: 'vcluster.loft.sh/controlled-by on the virtual Endpoints names another controller',
  NotMapped: 'its namespace is not mapped to a usable host namespace, and sync.toHost.namespaces.mappingsOnly is true',
};

export const apiServerKey = 'default/kubernetes';

/** What vCluster calls its own syncer of Endpoints. */
export const syncerName = 'endpoints';

export function judgeEligibility(
  key: string,
  facts: { endpoints: VirtualEndpoints | undefined; service: ServiceItem | undefined; isPlaced: boolean },
): Eligibility {
  const { endpoints, service } = facts;
  if (key === apiServerKey) return ineligible('ReservedKey');
  if (endpoints === undefined) return ineligible('NoEndpoints');
  if (!facts.isPlaced) return ineligible('NotMapped');
  if (isControlledByOther(endpoints, syncerName)) return ineligible('ControlledByOther');
  if (service === undefined) return ineligible('NoService');
  if (service.hasSelector) return ineligible('ServiceHasSelector');
  return { kind: 'eligible' };
}

function ineligible(reason: IneligibleReason): Eligibility {
  return { kind: 'ineligible', reason };
}
